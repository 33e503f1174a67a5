//! Hold-up: how many lines a power failure loses on a machine, by the energy that is stored for it.
//!
//! The power fails at instants spread over a run. At each, what buffers, queues and caches inside the persistence domain still hold
//! has to be brought to the media, a line at a time, each for so much energy (`memory.drain_line_nj`), and then what devices save by
//! the page, each for what its device takes for one; what the energy does not reach is lost, although programs were told that it
//! was durable, or could rely on it.

use machine::{CrashEvery, Description, Fidelity, RunError, RunOptions, WorkloadDescription};
use machine::{events_to_cut, power_failures, run_with_crashes};
use protocol::{Drained, LINE_BYTES, PAGE_BYTES};
use serde_json::{Value, json};
use units::Time;

/// Power failures of a run, at most.
const FAILURES: u64 = 200;
/// Steps of energy, from none to as much as every failure asks for.
const STEPS: u64 = 20;
/// What runs on one host unless something else is asked for, and what on several.
const WORKLOAD: &str = "hashmap";
const SHARED: &str = "shared-log";

/// What is lost with so much energy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Stored energy.
    pub microjoules: f64,
    /// Lines lost at the worst instant.
    pub lines_lost: u64,
    /// Lines lost, a mean over instants.
    pub lines_lost_mean: f64,
}

impl Step {
    /// For JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "microjoules": self.microjoules,
            "lines_lost": self.lines_lost,
            "lines_lost_mean": self.lines_lost_mean,
        })
    }
}

/// What each of some power failures of a run leaves to be drained.
///
/// # Errors
/// When nothing of the machine's memory is left by a power failure, or the run fails.
pub fn drained(
    machine: &Description,
    workload: &WorkloadDescription,
    seed: u64,
) -> Result<Vec<Drained>, RunError> {
    if machine.power().is_some() {
        return drained_in_its_own_terms(machine, workload);
    }
    let options = RunOptions { seed, ..RunOptions::default() };
    let events = events_to_cut(machine, workload, &options, &[])?;
    let mut found = Vec::new();
    let every = CrashEvery::Among { events, most: FAILURES };
    run_with_crashes(machine, workload, &options, every, &mut |point| {
        found.push(point.drained);
        true
    })?;
    Ok(found)
}

/// The same where power failures are the simulator's own.
fn drained_in_its_own_terms(
    machine: &Description,
    workload: &WorkloadDescription,
) -> Result<Vec<Drained>, RunError> {
    let whole = power_failures(machine, workload, CrashEvery::At(Time::ZERO), &mut |_| false)?;
    let mut found = Vec::new();
    let every = CrashEvery::Among { events: whole.accesses, most: FAILURES };
    power_failures(machine, workload, every, &mut |failure| {
        found.push(Drained { lines: failure.lines, ..Drained::default() });
        true
    })?;
    Ok(found)
}

/// Things that are saved one by one.
struct Part {
    /// How many.
    count: u64,
    /// Energy of one, in nanojoules.
    nanojoules: u64,
    /// Lines of one.
    lines: u64,
}

/// What is to be drained, in the order in which energy goes: what caches and queues hold is in a device before that saves its pages.
fn parts(drained: &Drained, line_nj: u64) -> impl Iterator<Item = Part> + '_ {
    let lines = Part { count: drained.lines, nanojoules: line_nj, lines: 1 };
    let page = |(nanojoules, count): (&u64, &u64)| Part {
        count: *count,
        nanojoules: *nanojoules,
        lines: PAGE_BYTES / LINE_BYTES,
    };
    std::iter::once(lines).chain(drained.pages.iter().map(page))
}

/// The energy that saves the first so many, in nanojoules.
fn energy_of(drained: &Drained, line_nj: u64, first: u64) -> u64 {
    let mut left = first;
    let energy = |part: Part| {
        let saved = part.count.min(left);
        left -= saved;
        saved * part.nanojoules
    };
    parts(drained, line_nj).map(energy).sum()
}

/// Lines that are lost with so many nanojoules. Energy for a part of a line or page saves nothing of it.
fn lost(drained: &Drained, line_nj: u64, nanojoules: u64) -> u64 {
    let mut left = nanojoules;
    let lines = |part: Part| {
        let saved = part.count.min(left / part.nanojoules);
        left = if saved < part.count { 0 } else { left - saved * part.nanojoules };
        (part.count - saved) * part.lines
    };
    parts(drained, line_nj).map(lines).sum()
}

/// What is lost by stored energy, when this is to be drained, each line for so many nanojoules.
pub fn steps(drained: &[Drained], line_nj: u64) -> Vec<Step> {
    let worst = drained.iter().max_by_key(|drained| energy_of(drained, line_nj, u64::MAX));
    let step = |n: u64| {
        let nanojoules = worst.map_or(0, |worst| {
            let count: u64 = parts(worst, line_nj).map(|part| part.count).sum();
            energy_of(worst, line_nj, (count * n).div_ceil(STEPS))
        });
        let lost = || drained.iter().map(|drained| lost(drained, line_nj, nanojoules));
        Step {
            microjoules: nanojoules as f64 / 1e3,
            lines_lost: lost().max().unwrap_or(0),
            lines_lost_mean: lost().sum::<u64>() as f64 / drained.len().max(1) as f64,
        }
    };
    let mut all: Vec<Step> = (0..=STEPS).map(step).collect();
    // Of few lines several steps save as many.
    all.dedup();
    all
}

/// What is lost on `machine` by stored energy.
///
/// # Errors
/// As [`drained`].
pub fn holdup(
    machine: &Description,
    workload: &WorkloadDescription,
    seed: u64,
) -> Result<Vec<Step>, RunError> {
    let found = drained(machine, workload, seed)?;
    Ok(steps(&found, machine.drain_line_nj()))
}

/// The workload that runs on `machine` unless something else is asked for.
pub fn workload(machine: &Description) -> &'static str {
    match machine.fidelity() {
        Fidelity::Hosts => SHARED,
        Fidelity::Line | Fidelity::Page => WORKLOAD,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Lost;

    fn lines(lines: u64) -> Drained {
        Drained { lines, ..Drained::default() }
    }

    #[test]
    fn what_is_lost_falls_by_a_line_for_its_energy_and_ends_at_nothing() {
        let steps = steps(&[10, 40, 20].map(lines), 500);
        assert_eq!(steps.first().map(|s| (s.microjoules, s.lines_lost)), Some((0.0, 40)));
        assert!((steps[0].lines_lost_mean - 70.0 / 3.0).abs() < 1e-9);
        assert_eq!(steps.last(), Some(&Step { microjoules: 20.0, lines_lost: 0, lines_lost_mean: 0.0 }));
        for pair in steps.windows(2) {
            let lines = (pair[1].microjoules - pair[0].microjoules) * 1e3 / 500.0;
            assert_eq!(pair[0].lines_lost - pair[1].lines_lost, lines as u64);
        }
        assert_eq!(
            super::steps(&[0, 0].map(lines), 757),
            [Step { microjoules: 0.0, lines_lost: 0, lines_lost_mean: 0.0 }]
        );
    }

    #[test]
    fn lines_go_before_pages_and_pages_are_saved_whole() {
        let drained = Drained { lines: 3, pages: [(4000, 2)].into() };
        assert_eq!(energy_of(&drained, 500, u64::MAX), 3 * 500 + 2 * 4000);
        let lost = [0, 1499, 1500, 5499, 5500, 9499, 9500].map(|energy| lost(&drained, 500, energy));
        assert_eq!(lost, [131, 129, 128, 128, 64, 64, 0]);
        // The worst instant is not the same with every energy.
        let steps = steps(&[drained, lines(200)], 500);
        assert_eq!(steps[0].lines_lost, 200);
        assert_eq!(steps.last().map(|step| (step.microjoules, step.lines_lost)), Some((100.0, 0)));
    }

    /// Pages that the battery of a device leaves unsaved at the same instants, at the worst of them.
    fn lost_with(machine: &Description, battery: (&str, u64), workload: &WorkloadDescription) -> usize {
        let mut machine = machine.clone();
        machine.set(battery.0, &battery.1.to_string()).unwrap();
        let options = RunOptions::default();
        let events = events_to_cut(&machine, workload, &options, &[]).unwrap();
        let every = CrashEvery::Among { events, most: FAILURES };
        let mut most = 0;
        run_with_crashes(&machine, workload, &options, every, &mut |point| {
            most = most.max(point.lost.iter().filter(|lost| matches!(lost, Lost::Page(_))).count());
            true
        })
        .unwrap();
        most
    }

    #[test]
    fn energy_that_saves_all_is_enough_for_the_device_that_saves_pages_and_that_of_one_page_less_is_not() {
        for (name, battery) in [("cmmh", "cmmh.battery_uj"), ("nvdimmc-poc", "nvdimm.battery_uj")] {
            let machine = Description::preset(name).unwrap();
            let mut workload = WorkloadDescription::named(WORKLOAD).unwrap();
            workload.set("workload.operations", "100").unwrap();
            let steps = holdup(&machine, &workload, RunOptions::default().seed).unwrap();
            let (all, page) = (steps.last().unwrap().microjoules as u64, 100);
            assert!(all > page && all % page == 0 && steps.last().unwrap().lines_lost == 0, "{steps:?}");
            assert_eq!(steps[0].lines_lost, all / page * 64);
            let unsaved = |energy| lost_with(&machine, (battery, energy), &workload);
            assert_eq!([all, all - 1, all - page].map(unsaved), [0, 1, 1], "{name}");
        }
    }

    #[test]
    fn what_near_data_devices_save_of_their_own_is_drained_too() {
        let mut workload = WorkloadDescription::named("tpcc").unwrap();
        for (key, value) in [("threads", "8"), ("think_cycles", "0"), ("operations", "40")] {
            workload.set(&format!("workload.{key}"), value).unwrap();
        }
        let lost = |fifo: &str| {
            let mut machine = Description::preset("nearpm-md").unwrap();
            machine.set("neardata.fifo", fifo).unwrap();
            holdup(&machine, &workload, 1).unwrap()[0].lines_lost
        };
        assert!(lost("32") > lost("1") + 16, "{} and {}", lost("32"), lost("1"));
    }

    #[test]
    fn what_waits_behind_write_pending_queues_is_drained_too() {
        let lost = |name: &str, key: &str, value: &str| {
            let (mut machine, mut workload) =
                (Description::preset(name).unwrap(), WorkloadDescription::named(WORKLOAD).unwrap());
            machine.set(key, value).unwrap();
            workload.set("workload.operations", "40").unwrap();
            holdup(&machine, &workload, 1).unwrap()[0].lines_lost
        };
        assert!(lost("intel", "memory.pm.media", "ddr4") > 0);
        let blocks = ["0", "16"].map(|blocks| lost("intel", "memory.pm.buffer_blocks", blocks));
        assert!(blocks[1] > blocks[0] + 16, "{blocks:?}");
        assert!(
            lost("optane", "memory.optane.buffer_blocks", "64")
                > lost("optane", "memory.optane.buffer_blocks", "1")
        );
    }
}
