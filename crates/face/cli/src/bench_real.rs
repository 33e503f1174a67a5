//! How fast programs of the papers' evaluations are simulated, in processor time.

use crate::Failure;
use crate::lines::{paragraph, say};
use crate::output::Table;
use machine::{Description, Report, RunOptions, WorkloadDescription};
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};

/// A machine, and programs of the evaluation that it is for.
pub(crate) struct Family {
    programs: &'static str,
    pub(crate) machine: &'static str,
    pub(crate) workloads: &'static [&'static str],
    /// Million references a processor second, as the geometric mean over the programs.
    goal: f64,
}

const fn family(
    programs: &'static str,
    machine: &'static str,
    workloads: &'static [&'static str],
    goal: f64,
) -> Family {
    Family { programs, machine, workloads, goal }
}

/// Programs with remote memory, and those of a DIMM that caches flash.
const REMOTE: [&str; 4] = ["redis-random", "redis-seq", "linreg", "histogram"];
const DIMM: [&str; 3] = ["fio", "tpch", "stream"];

const FAMILIES: [Family; 6] = [
    family("persist ordering", "asap-rp", &evaluate::orderings::WORKLOADS, 10.0),
    family("persist ordering", "intel", &evaluate::orderings::WORKLOADS, 12.0),
    family("persist ordering", "eadr", &evaluate::orderings::WORKLOADS, 12.0),
    family("near data", "nearpm-md", &evaluate::nearpm::WORKLOADS, 10.0),
    family("DRAM before flash", "nvdimmc-poc", &DIMM, 5.0),
    family("remote memory", "pberry", &REMOTE, 5.0),
];

/// What other simulators make of programs like these, in million references a processor second: with their fullest cores and
/// caches, with simple ones, and with caches that flush. Measured on another host, which had other work too, on 2026-11-22.
const PEERS: [(&str, f64); 3] = [
    ("gem5, O3 core and Ruby", 0.03),
    ("gem5, TimingSimple core", 0.06),
    ("gem5, classic caches with flushes", 0.036),
];

/// The families of one machine, or all.
///
/// # Errors
/// When no family is for that machine.
pub(crate) fn chosen(on: Option<&str>) -> Result<Vec<&'static Family>, Failure> {
    let found: Vec<_> =
        FAMILIES.iter().filter(|family| on.is_none_or(|name| name == family.machine)).collect();
    if found.is_empty() {
        let known: Vec<&str> = FAMILIES.iter().map(|family| family.machine).collect();
        let text = format!(
            "--on {}: real programs are measured on {}; requests, without --against, on {}",
            on.unwrap_or_default(),
            known.join(", "),
            crate::bench_requests::MACHINE
        );
        return Err(Failure::BadInput(text));
    }
    Ok(found)
}

/// Simulates every program of a family, and gives what each came to; `done` is called after each.
pub(crate) fn rates(family: &Family, done: impl Fn()) -> Result<Value, Failure> {
    let each = |workload: &&str| {
        let row = one(family.machine, workload)?;
        done();
        Ok(row)
    };
    let rows: Vec<(f64, f64)> = family.workloads.iter().map(each).collect::<Result<_, Failure>>()?;
    let named = family.workloads.iter().zip(&rows);
    let mean = rows.iter().map(|(rate, _)| rate.ln()).sum::<f64>() / rows.len() as f64;
    Ok(json!({
        "programs": family.programs,
        "machine": family.machine,
        "million_references_per_processor_second": mean.exp(),
        "goal": family.goal,
        "workloads": named.map(|(name, (rate, events))| json!({
            "workload": name, "million_references_per_processor_second": rate, "events_per_reference": events,
        })).collect::<Vec<_>>(),
    }))
}

/// Million references a processor second, and events a reference; the faster of two runs.
fn one(machine: &str, workload: &str) -> Result<(f64, f64), Failure> {
    let (machine, workload) = (Description::preset(machine)?, WorkloadDescription::named(workload)?);
    let (first, other) = (timed(&machine, &workload)?, timed(&machine, &workload)?);
    let references = first.0.references as f64;
    Ok((references / first.1.min(other.1) / 1e6, first.0.events as f64 / references))
}

/// A run, and the processor seconds that it took.
pub(crate) fn timed(machine: &Description, workload: &WorkloadDescription) -> Result<(Report, f64), Failure> {
    let options = RunOptions { seed: 1, without_images: true, ..RunOptions::default() };
    let before = processor_seconds(UsageWho::RUSAGE_THREAD)?;
    let report = machine::run(machine, workload, &options).map_err(crate::output::failed)?;
    Ok((report, processor_seconds(UsageWho::RUSAGE_THREAD)? - before))
}

/// The processor time of someone so far, in user mode and in the kernel.
pub(crate) fn processor_seconds(whose: UsageWho) -> Result<f64, Failure> {
    let usage = getrusage(whose).map_err(std::io::Error::from)?;
    let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Prints the families, and what others come to.
pub(crate) fn print(families: &[Value]) {
    say!("million references a processor second, real programs with their warm-up; geometric means\n");
    let mut table =
        Table::new(["programs", "machine", "Mref/s", "goal", "of goal", "slowest", "fastest"]).left(2);
    for family in families {
        let rate = |v: &Value| v["million_references_per_processor_second"].as_f64().unwrap_or(0.0);
        let rows = || family["workloads"].as_array().into_iter().flatten();
        let named = |row: Option<&Value>| {
            row.map_or_else(String::new, |row| {
                format!("{} {:.1}", row["workload"].as_str().unwrap_or(""), rate(row))
            })
        };
        let (mean, goal) = (rate(family), family["goal"].as_f64().unwrap_or(0.0));
        table.row([
            family["programs"].as_str().unwrap_or("").to_string(),
            family["machine"].as_str().unwrap_or("").to_string(),
            format!("{mean:.1}"),
            format!("{goal:.0}"),
            format!("{:.2}", mean / goal),
            named(rows().min_by(|a, b| rate(a).total_cmp(&rate(b)))),
            named(rows().max_by(|a, b| rate(a).total_cmp(&rate(b)))),
        ]);
    }
    table.print();
    println!();
    let peers: Vec<String> = PEERS.iter().map(|(name, rate)| format!("{name} {rate}")).collect();
    paragraph(&format!(
        "Others, measured on another host that had other work too (2026-11-22): {}.",
        peers.join(", ")
    ));
}

/// The same for programs.
pub(crate) fn peers() -> Value {
    PEERS
        .iter()
        .map(|(name, rate)| json!({"name": name, "million_references_per_processor_second": rate}))
        .collect()
}
