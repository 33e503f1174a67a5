//! Bandwidth-latency curves of a machine's memory, as Mess draws them: traffic at a load that rises, and beside it a chain of
//! dependent loads whose mean time is the latency. The whole machine is simulated: cores, caches, controllers, media.
//!
//! Two rounds of runs. The first has no traffic, and traffic without a pause, for each share of reads; the second puts
//! pauses between accesses, so that loads lie between. Caches are cut to as little as still holds what is on its way:
//! nothing is ever found in them, and what they send back begins after as many accesses as they have lines.

mod asked;

use crate::bands::study::{self, Fnv, described};
use crate::runs::{Kept, in_parallel, quiet};
use machine::{ConfigError, Description, Report, RunError, WorkloadDescription};
use protocol::PAGE_BYTES;
use serde_json::{Value, json};

/// Shares of reads that are drawn unless others are asked for.
pub const READS: [u64; 3] = [100, 75, 50];
/// Loads between none and all, in per cent of the highest bandwidth.
const LOADS: [u64; 8] = [15, 30, 45, 60, 70, 80, 88, 95];
/// What caches of a core, and for each core of the last level, are cut to.
const L2_BYTES: u64 = 64 << 10;
const LLC_BYTES_A_CORE: u64 = 128 << 10;
/// A few loads tell whether one takes so long that pages are fetched for it. Runs are then shorter, but for loads that are asked for: each
/// load is a fault.
const LOOK: [(&str, u64); 2] = [("workload.operations", 20), ("workload.warm", 1)];
const SLOW_NS: f64 = 2000.0;
/// The same where one core's pages fit a cache in front of the memory, and those of all do not.
const SLOW_UNDER_LOAD_NS: f64 = 10_000.0;
const SHORTER: [(&str, u64); 2] = [("workload.operations", 40), ("workload.warm", 500)];
const WORKLOAD: &str = "bandwidth-latency";

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The share of reads that was asked for, in per cent of what memory is asked.
    pub read_percent: u64,
    /// What memory read and wrote.
    pub gb_per_s: f64,
    /// Mean time of a dependent load.
    pub load_to_use_ns: f64,
}

impl Point {
    /// For JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "read_percent": self.read_percent,
            "gb_per_s": self.gb_per_s,
            "load_to_use_ns": self.load_to_use_ns,
        })
    }

    fn from_json(kept: &Value) -> Option<Point> {
        let number = |name: &str| kept.get(name)?.as_f64();
        let (gb_per_s, load_to_use_ns) = (number("gb_per_s")?, number("load_to_use_ns")?);
        Some(Point { read_percent: kept.get("read_percent")?.as_u64()?, gb_per_s, load_to_use_ns })
    }
}

/// How many runs the curves for so many shares of reads take.
pub fn runs(shares: usize) -> usize {
    1 + shares * (1 + LOADS.len())
}

/// The curves of `machine`, one for each share of reads of `reads`, by share and then by load. `workload` is that of [`workload`],
/// with what is asked of it; `step` is called after each run. Points that are kept of an earlier call are not run again.
///
/// # Errors
/// When a share is none that stores through caches can have, a key is one that curves set, a region or a run is too small to
/// measure, the machine is one at page fidelity, or a run fails.
pub fn curves(
    machine: &Description,
    workload: &WorkloadDescription,
    reads: &[u64],
    seed: u64,
    kept: Kept<'_>,
    step: impl Fn() + Sync,
) -> Result<Vec<Point>, RunError> {
    asked::check(machine, workload, reads)?;
    let traffic = cores(machine) - 1;
    let one = |share: u64, gap: Option<f64>, shorter: &[(&str, u64)]| {
        let (mut cut, mut own) = (machine.clone(), workload.clone());
        for (key, value) in keys(machine, share, gap) {
            if key.starts_with("workload.") { own.set(key, &value)? } else { cut.set(key, &value)? }
        }
        for (key, most) in shorter {
            own.set(key, &own.settings.number(key).min(*most).to_string())?;
        }
        kept_or(kept, &format!("curve {share}, seed {seed}"), &cut, &own, || {
            let report = quiet(&cut, &own, seed)?;
            Ok(point(share, &report, own.settings.text("workload.memory")))
        })
    };
    let looks_slow = |gap, most| Ok::<_, RunError>(one(100, gap, &LOOK)?.load_to_use_ns > most);
    let is_slow = looks_slow(None, SLOW_NS)?
        || leaves_cache(machine, workload)? && looks_slow(Some(0.0), SLOW_UNDER_LOAD_NS)?;
    let shorter: Vec<_> = SHORTER.into_iter().filter(|(key, _)| is_slow && !workload.is_given(key)).collect();
    let run = |&(share, gap): &(u64, Option<f64>)| {
        let found = one(share, gap, &shorter)?;
        step();
        Ok(found)
    };
    let first: Vec<_> = std::iter::once((100, None)).chain(reads.iter().map(|r| (*r, Some(0.0)))).collect();
    let found = in_parallel(&first, run)?;
    let (unloaded, most) = (found[0], &found[1..]);
    let loads = |top: &Point| LOADS.map(|load| (top.read_percent, Some(pause(top, load, traffic))));
    let paused: Vec<_> = most.iter().flat_map(loads).collect();
    let between = in_parallel(&paused, run)?;
    let of = |top: &Point| {
        let own = between.iter().filter(|p| p.read_percent == top.read_percent).copied();
        let none = Point { read_percent: top.read_percent, ..unloaded };
        std::iter::once(none).chain(own).chain([*top]).collect::<Vec<_>>()
    };
    Ok(most.iter().flat_map(of).collect())
}

/// Whether a cache in front of the memory has no room for what all cores visit.
fn leaves_cache(machine: &Description, workload: &WorkloadDescription) -> Result<bool, ConfigError> {
    if workload.settings.text("workload.memory") == "dram" {
        return Ok(false);
    }
    let visited = cores(machine) * workload.settings.number("workload.pages") * PAGE_BYTES;
    Ok(machine::cached_bytes(machine)?.is_some_and(|cached| visited > cached))
}

/// The point that was kept of such a run, or else what `run` gives, which is kept.
fn kept_or(
    kept: Kept<'_>,
    name: &str,
    machine: &Description,
    workload: &WorkloadDescription,
    run: impl Fn() -> Result<Point, RunError>,
) -> Result<Point, RunError> {
    let Some((keep, build)) = kept else { return run() };
    let mut hash = Fnv::default();
    hash.add(build);
    hash.add(&described(name, machine, workload));
    let name = hash.name();
    let before = keep.read(&name).and_then(|text| serde_json::from_str(&text).ok());
    if let Some(point) = before.as_ref().and_then(Point::from_json) {
        return Ok(point);
    }
    let point = run()?;
    study::kept(keep, &name, &format!("{:#}\n", point.to_json()))?;
    Ok(point)
}

/// The time between two accesses of a traffic core with which all of them ask for `load` per cent of the bandwidth at `top`.
pub(crate) fn pause(top: &Point, load: u64, traffic: u64) -> f64 {
    // Of 100 lines of traffic so many are accesses: the rest is sent back.
    let accesses = top.gb_per_s / 64.0 * top.read_percent as f64 / 100.0;
    if accesses > 0.0 { traffic as f64 / accesses * 100.0 / load as f64 } else { 0.0 }
}

/// One core measures, so that another loads the memory: a machine of one gets a second.
pub(crate) fn cores(machine: &Description) -> u64 {
    machine.settings.number("cpu.cores").max(2)
}

/// What caches are cut to.
fn sizes(machine: &Description) -> [(&'static str, u64); 2] {
    let shared = (LLC_BYTES_A_CORE * cores(machine)).next_power_of_two();
    [("l2.size_bytes", L2_BYTES), ("llc.size_bytes", shared)]
}

/// What one run sets of machine and workload: caches that are soon full, and traffic on every core but one, or none at all.
pub(crate) fn keys(machine: &Description, share: u64, gap: Option<f64>) -> Vec<(&'static str, String)> {
    let cores = cores(machine);
    let sizes = sizes(machine).map(|(key, most)| (key, machine.settings.number(key).min(most)));
    let lines = (cores * sizes[0].1 + sizes[1].1) / 64;
    // Of memory's traffic `share` is read, so that for each line read so much is written.
    let stores = (100 - share) * 1000 / share;
    let traffic = [
        ("workload.threads", if gap.is_some() { cores } else { 1 }.to_string()),
        ("workload.stores", stores.to_string()),
        ("workload.gap_ns", format!("{:.3}", gap.unwrap_or(0.0))),
        ("workload.warm", (lines * 3 / 2).to_string()),
    ];
    sizes.map(|(key, bytes)| (key, bytes.to_string())).into_iter().chain(traffic).collect()
}

/// The workload that draws curves.
///
/// # Errors
/// Never: it is one that comes with the project.
pub fn workload() -> Result<WorkloadDescription, ConfigError> {
    WorkloadDescription::named(WORKLOAD)
}

/// What a run says of a memory that moved so many lines in its time.
pub(crate) fn point_of(read_percent: u64, time_ns: f64, loads: f64, lines: f64) -> Point {
    Point { read_percent, gb_per_s: lines * 64.0 / time_ns, load_to_use_ns: time_ns / loads }
}

/// What a run says.
fn point(read_percent: u64, report: &Report, memory: &str) -> Point {
    let of = if memory == "dram" { "memory.dram" } else { "memory" };
    let count = |what: &str| report.get(&format!("{of}.{what}")).unwrap_or(0.0);
    let loads = report.get("cpu.operations").unwrap_or(0.0);
    // Of memory at another host it is what crosses its link.
    let remote =
        ["remote.bytes_received", "remote.bytes_sent"].map(|name| report.get(name).unwrap_or(0.0) / 64.0);
    // What the other socket keeps with its lines is nothing that anybody asked for.
    let own = count("reads") + count("writes") - count("directory_bytes_written") / 64.0;
    let lines = if own > 0.0 { own } else { remote.iter().sum() };
    point_of(read_percent, report.time.as_ns(), loads, lines)
}
