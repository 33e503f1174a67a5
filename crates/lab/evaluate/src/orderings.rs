//! Every way to order persists on one bench: the same programs, memory and caches, and what authors expect of each other.
//!
//! Averages over workloads are geometric means. A tenth of ASAP's artifact's operations: means are the same within 2 %.

mod findings;
mod tables;

use crate::asap::{WORKLOADS as STRUCTURES, sized};
use crate::figure::{Figure, Lines, Row, row};
use crate::runs::{Changes, Key, Runs, mean};
use crate::{Effort, Paper};
use machine::{ConfigError, WorkloadDescription};
use std::sync::LazyLock;

/// How it is evaluated.
pub const PAPER: Paper = Paper {
    name: "orderings",
    is_collection: true,
    about: |seed| {
        format!(
            "every ordering of the family with 1, 4 and 8 threads, 2 controllers, seed {seed}; averages are geometric means"
        )
    },
    declare,
    finding: |runs, claim, _| findings::finding(runs, claim),
    figures,
    tables: tables::tables,
    runs: 10,
    live: None,
};

/// The programs of ASAP's evaluation, and one that does nothing but write.
pub const WORKLOADS: [&str; STRUCTURES.len() + 1] = {
    let (mut all, mut at) = (["bandwidth"; STRUCTURES.len() + 1], 0);
    while at < STRUCTURES.len() {
        all[at] = STRUCTURES[at];
        at += 1;
    }
    all
};
/// Every machine that differs from `intel` in its ordering alone, in the order of the presets.
static MACHINES: LazyLock<Vec<&str>> = LazyLock::new(machine::family);
const THREADS: [u64; 3] = [1, 4, 8];

/// Machines with something changed: a name, a preset, the change.
const CHANGED: [(&str, &str, Changes); 9] = [
    ("lb", "lb++", &[("ordering.proactive_flush", "false"), ("ordering.track_dependences", "false")]),
    ("asap-rp, one controller", "asap-rp", &[("memory.controllers", "1")]),
    ("asap-rp, four controllers", "asap-rp", &[("memory.controllers", "4")]),
    ("pmem-spec, one controller", "pmem-spec", &[("memory.controllers", "1")]),
    ("intel, one controller", "intel", &[("memory.controllers", "1")]),
    ("hops-ep, one controller", "hops-ep", &[("memory.controllers", "1")]),
    ("hops-ep, four controllers", "hops-ep", &[("memory.controllers", "4")]),
    ("vorpal, four controllers", "vorpal", &[("memory.controllers", "4")]),
    ("pmem-spec, four controllers", "pmem-spec", &[("memory.controllers", "4")]),
];

fn declare(effort: Effort) -> Result<Runs, ConfigError> {
    let mut runs = Runs::default();
    for workload in WORKLOADS {
        let all = WorkloadDescription::named(workload)?.settings.number("workload.operations");
        let parts = if effort == Effort::Whole { 10 } else { 40 };
        let operations = (all / parts).max(1).to_string();
        let sized = |more| sized(workload, &operations, more);
        for machine in MACHINES.iter().copied() {
            for threads in THREADS {
                runs.add(Key::new(machine, workload, threads), machine, &sized(&[]))?;
            }
        }
        for (name, preset, changes) in CHANGED {
            runs.add(Key::new(name, workload, 4), preset, &sized(changes))?;
        }
    }
    Ok(runs)
}

/// How much faster one machine is than another, on average over `workloads`.
fn over(runs: &Runs, machine: &str, other: &str, workloads: &[&str]) -> f64 {
    mean(workloads.iter().map(|w| runs.time(other, w, 4) / runs.time(machine, w, 4)))
}

/// The same over all workloads, over `intel` with as many threads.
fn mean_speedup(runs: &Runs, machine: &str, threads: u64) -> f64 {
    mean(WORKLOADS.map(|w| runs.time("intel", w, threads) / runs.time(machine, w, threads)))
}

fn figures(runs: &Runs) -> Vec<Figure> {
    let stalls = |m: &str, w: &str| runs.get(m, w, 4, "ordering.stall_share");
    let writes = |m: &str, w: &str| {
        runs.get(m, w, 4, "memory.writes") / runs.get("intel", w, 4, "memory.writes").max(1.0)
    };
    let of = |name, title, caption, axis| Lines { name, title, caption, axis, x: "", order: &MACHINES };
    vec![
        scaling(runs),
        of(
            "speedups",
            "Speedup over waiting for flushes",
            "4 threads, 2 controllers: the time of intel over each machine's.",
            "speedup over intel",
        )
        .figure("grouped", bars(|m, w| runs.time("intel", w, 4) / runs.time(m, w, 4))),
        of(
            "stalls",
            "Time lost to order",
            "4 threads: the share of the cores' time in which a fence or a full buffer holds them up.",
            "share of time",
        )
        .figure("grouped", bars(stalls)),
        of(
            "writes",
            "Writes to persistent memory",
            "4 threads: what reaches the media, over what intel writes. Where caches persist, what is in them at the end is never written.",
            "writes over intel's",
        )
        .figure("grouped", bars(writes)),
    ]
}

/// A bar for each machine and structure. Bandwidth alone has nothing but writes: where caches persist, it makes none.
fn bars(value: impl Fn(&str, &str) -> f64) -> Vec<Row> {
    let pairs = WORKLOADS.iter().flat_map(|w| MACHINES.iter().map(move |m| (*m, *w)));
    pairs.map(|(m, w)| row(w, m, None, value(m, w))).collect()
}

fn scaling(runs: &Runs) -> Figure {
    let pairs = MACHINES.iter().flat_map(|m| THREADS.iter().map(move |t| (*m, *t)));
    let rows = pairs.map(|(m, t)| row("", m, Some(t as f64), mean_speedup(runs, m, t))).collect();
    Lines {
        name: "threads",
        title: "Orderings with more and more threads",
        caption: "The mean over fifteen workloads of the time of intel over each machine's, with as many threads.",
        axis: "speedup over intel",
        x: "threads",
        order: &MACHINES,
    }
    .figure("lines", rows)
}
