//! How fast Optane's host is simulated with the programs that its measurements are of: cores, caches and DIMMs together.

use crate::Failure;
use crate::bench_real::timed;
use crate::lines::say;
use machine::{Description, WorkloadDescription};
use serde_json::{Value, json};

/// The machine that is measured.
pub(crate) const MACHINE: &str = "optane";
/// Million requests a processor second.
pub(crate) const GOAL: f64 = 1.0;
/// The most that VANS came to, with memory alone and on another host.
const VANS: f64 = 0.0013;
/// Lines that each program goes over; far more than caches hold.
const LINES: &str = "200000";

/// An operation of LATTester's, and the threads that do it.
const PROGRAMS: [(&str, &str); PARTS] =
    [("load", "1"), ("load", "8"), ("store", "4"), ("store+clwb", "1"), ("ntstore", "8")];

/// How many programs there are.
pub(crate) const PARTS: usize = 5;

/// Each program, with million requests a processor second; `done` is called after each. A request is a line that a memory controller is asked to
/// read or write.
pub(crate) fn rates(done: impl Fn()) -> Result<Vec<Value>, Failure> {
    let one = |(operation, threads): &(&str, &str)| {
        let rate = rate(operation, threads)?;
        done();
        Ok(json!({
            "operation": operation,
            "threads": threads.parse::<u64>().ok(),
            "million_requests_per_processor_second": rate,
            "goal": GOAL,
            "times_vans": rate / VANS,
        }))
    };
    PROGRAMS.iter().map(one).collect()
}

/// The faster of two runs.
fn rate(operation: &str, threads: &str) -> Result<f64, Failure> {
    let machine = Description::preset(MACHINE)?;
    let mut workload = WorkloadDescription::named("lattester")?;
    let sets = [
        ("operation", operation),
        ("threads", threads),
        ("operations", LINES),
        ("clwb_size", "64"),
        ("time_ns", "1000000000"),
    ];
    for (key, value) in sets {
        workload.set(&format!("workload.{key}"), value)?;
    }
    let (first, other) = (timed(&machine, &workload)?, timed(&machine, &workload)?);
    let counted = |name| first.0.get(name).unwrap_or(0.0);
    Ok((counted("memory.reads") + counted("memory.writes")) / first.1.min(other.1) / 1e6)
}

/// Prints what [`rates`] gave.
pub(crate) fn print(rates: &[Value]) {
    say!(
        "million lines asked of Optane's memory controllers a processor second, cores and caches included (goal {GOAL})"
    );
    for rate in rates {
        let number = |key: &str| rate[key].as_f64().unwrap_or(0.0);
        let threads = rate["threads"].as_u64().unwrap_or(1);
        say!(
            "  {}, {threads} thread{}: {:.2}, {:.0} times VANS, which was memory alone on another host",
            rate["operation"].as_str().unwrap_or(""),
            if threads == 1 { "" } else { "s" },
            number("million_requests_per_processor_second"),
            number("times_vans"),
        );
    }
}
