//! How fast Optane's host is simulated with the programs that its measurements are of: cores, caches and DIMMs together.

use crate::Failure;
use crate::bench_real::timed;
use crate::lines::say;
use machine::{Description, WorkloadDescription};
use serde_json::{Value, json};

/// The machine that is measured.
pub(crate) const MACHINE: &str = "optane";
/// Million requests a processor second.
const GOAL: f64 = 1.0;
/// The most of the .0003 to .0013 that VANS came to with memory alone, running traces of lines on another host.
const VANS: f64 = 0.0013;
/// Lines that each program goes over in a short run and in a longer one: what building, and filling caches, take falls out.
const LINES: [u64; 2] = [50_000, 250_000];

/// An operation of LATTester's, and the threads that do it.
const PROGRAMS: [(&str, u64); 5] =
    [("load", 1), ("load", 8), ("store", 4), ("store+clwb", 1), ("ntstore", 8)];

/// How many programs there are.
pub(crate) const PARTS: usize = PROGRAMS.len();

/// Each program, with million requests a processor second; `done` is called after each. A request is a line that memory is read
/// or written.
pub(crate) fn rates(done: impl Fn()) -> Result<Vec<Value>, Failure> {
    let one = |(operation, threads): &(&str, u64)| {
        let rate = rate(operation, *threads)?;
        done();
        Ok(json!({
            "operation": operation,
            "threads": threads,
            "million_requests_per_processor_second": rate,
            "goal": GOAL,
            "times_vans": rate / VANS,
        }))
    };
    PROGRAMS.iter().map(one).collect()
}

fn rate(operation: &str, threads: u64) -> Result<f64, Failure> {
    let [short, long] = LINES.map(|lines| requests(operation, threads, lines));
    let (short, long) = (short?, long?);
    Ok((long.0 - short.0) / (long.1 - short.1).max(1e-6) / 1e6)
}

/// Requests of a run, and the processor seconds of the faster of two.
fn requests(operation: &str, threads: u64, lines: u64) -> Result<(f64, f64), Failure> {
    let machine = Description::preset(MACHINE)?;
    let mut workload = WorkloadDescription::named("lattester")?;
    workload.set("workload.operation", operation)?;
    // Longer than any run takes: the lines end it.
    for (key, value) in [("threads", threads), ("operations", lines), ("time_ns", 1_000_000_000)] {
        workload.set(&format!("workload.{key}"), &value.to_string())?;
    }
    let (first, other) = (timed(&machine, &workload)?, timed(&machine, &workload)?);
    let asked = ["memory.reads", "memory.writes"].map(|name| first.0.get(name).unwrap_or(0.0));
    Ok((asked.iter().sum(), first.1.min(other.1)))
}

/// Prints what [`rates`] gave.
pub(crate) fn print(rates: &[Value]) {
    say!(
        "million lines of Optane read or written a processor second, cores and caches included (goal {GOAL}; VANS, with memory alone and on another host, {VANS})"
    );
    for rate in rates {
        let threads = rate["threads"].as_u64().unwrap_or(1);
        say!(
            "  {}, {threads} thread{}: {:.2}, {:.0} times VANS",
            rate["operation"].as_str().unwrap_or(""),
            if threads == 1 { "" } else { "s" },
            rate["million_requests_per_processor_second"].as_f64().unwrap_or(0.0),
            rate["times_vans"].as_f64().unwrap_or(0.0),
        );
    }
}
