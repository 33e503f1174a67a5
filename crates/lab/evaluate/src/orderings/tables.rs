//! Speedups of every workload, and what each design costs and needs.

use super::{MACHINES, THREADS, WORKLOADS, mean_speedup};
use crate::designs::{Design, needs, state};
use crate::figure::{Cell, Grid};
use crate::runs::{Key, Runs};

/// Threads of the machine whose hardware is counted.
const CORES: u64 = 4;

pub(super) fn tables(runs: &Runs) -> Vec<Grid> {
    let designs: Vec<Design> = MACHINES.iter().filter_map(|m| design(runs, m, CORES as usize)).collect();
    let hardware = [state(&designs), needs(&designs)];
    let speedups = THREADS.iter().map(|threads| speedups(runs, *threads));
    let stalls = THREADS.iter().map(|threads| stalls(runs, *threads));
    std::iter::once(overview(runs)).chain(hardware).chain(speedups).chain(stalls).collect()
}

/// A machine's design with so many cores; what has no bound is as large as any workload with as many threads as [`CORES`]
/// needed.
pub(super) fn design<'a>(runs: &'a Runs, machine: &'static str, cores: usize) -> Option<Design<'a>> {
    let key = |workload: &str| Key::new(machine, workload, CORES);
    let (description, ..) = runs.declared(&key(WORKLOADS[0]))?;
    let most = |name: &str| {
        let all = WORKLOADS.iter().map(|w| runs.get(machine, w, CORES, name));
        Some(all.fold(0.0, f64::max))
    };
    Design::of(machine, description, cores, most)
}

/// A row a machine: means over workloads.
fn overview(runs: &Runs) -> Grid {
    let average = |m: &str, name: &str| {
        if !runs.counts(&Key::new(m, WORKLOADS[0], CORES), name) {
            return Cell::Text("-".into());
        }
        let sum: f64 = WORKLOADS.iter().map(|w| runs.get(m, w, CORES, name)).sum();
        Cell::Number(100.0 * sum / WORKLOADS.len() as f64)
    };
    let row = |machine: &&'static str| {
        let speed = THREADS.map(|threads| Cell::Number(mean_speedup(runs, machine, threads)));
        let writes = |m: &str| WORKLOADS.iter().map(|w| runs.get(m, w, CORES, "memory.writes")).sum::<f64>();
        let stalls = [average(machine, "ordering.stall_share"), average(machine, "ordering.blocked_share")];
        let written = Cell::Number(writes(machine) / writes("intel").max(1.0));
        let name = std::iter::once(Cell::Text((*machine).into()));
        name.chain(speed).chain(stalls).chain([written]).collect()
    };
    Grid {
        title: "All in one row".into(),
        caption: format!(
            "Mean speedup over intel of fifteen workloads; with {CORES} threads the mean share of the cores' time in which a fence or a full buffer holds them up, the mean share in which order holds up what waits in a buffer, and all writes that reach the media over intel's."
        ),
        head: ["machine", "1 thread", "4 threads", "8 threads", "stalled %", "blocked %", "writes"]
            .map(String::from)
            .to_vec(),
        rows: MACHINES.iter().map(row).collect(),
    }
}

/// What each machine has with so many threads.
fn speedups(runs: &Runs, threads: u64) -> Grid {
    let over = |machine: &str, w: &str| runs.time("intel", w, threads) / runs.time(machine, w, threads);
    let words = with(threads);
    let caption = format!("The time of intel over each machine's, {words}.");
    by_workload(format!("Speedup with {words}"), caption, over)
}

/// Where order holds cores up with so many threads.
fn stalls(runs: &Runs, threads: u64) -> Grid {
    let share = |machine: &str, w: &str| 100.0 * runs.get(machine, w, threads, "ordering.stall_share");
    let words = with(threads);
    let caption =
        format!("The share of the cores' time in which a fence or a full buffer holds them up, {words}, %.");
    by_workload(format!("Time lost to order with {words}"), caption, share)
}

fn with(threads: u64) -> String {
    if threads == 1 { "1 thread".into() } else { format!("{threads} threads") }
}

/// A row a machine, a column a workload.
fn by_workload(title: String, caption: String, value: impl Fn(&str, &str) -> f64) -> Grid {
    let row = |machine: &&str| {
        let cells = WORKLOADS.iter().map(|w| Cell::Number(value(machine, w)));
        std::iter::once(Cell::Text((*machine).into())).chain(cells).collect()
    };
    let head = std::iter::once("machine").chain(WORKLOADS).map(String::from).collect();
    Grid { title, caption, head, rows: MACHINES.iter().map(row).collect() }
}
