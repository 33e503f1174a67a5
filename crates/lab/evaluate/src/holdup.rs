//! Hold-up: how many lines a power failure loses on a machine, by the energy that is stored for it.
//!
//! The power fails at instants spread over a run. At each, what buffers, queues and caches inside the persistence domain still hold
//! has to be brought to the media, a line at a time, each for so much energy (`memory.drain_line_nj`); what the energy does not
//! reach is lost, although programs were told that it was durable, or could rely on it.

use machine::{ConfigError, CrashEvery, Description, RunError, RunOptions, WorkloadDescription};
use machine::{events_to_cut, power_failures, run_with_crashes};
use serde_json::{Value, json};
use units::Time;

/// Power failures of a run, at most.
const FAILURES: u64 = 200;
/// Steps of energy, from none to as much as every failure asks for.
const STEPS: u64 = 20;
/// What runs unless something else is asked for.
pub const WORKLOAD: &str = "hashmap";

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

/// The lines that each of some power failures of a run leaves to be drained.
///
/// # Errors
/// When nothing of the machine's memory is left by a power failure, or the run fails.
pub fn drained(
    machine: &Description,
    workload: &WorkloadDescription,
    seed: u64,
) -> Result<Vec<u64>, RunError> {
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
) -> Result<Vec<u64>, RunError> {
    let whole = power_failures(machine, workload, CrashEvery::At(Time::ZERO), &mut |_| false)?;
    let mut found = Vec::new();
    let every = CrashEvery::Among { events: whole.accesses, most: FAILURES };
    power_failures(machine, workload, every, &mut |failure| {
        found.push(failure.lines);
        true
    })?;
    Ok(found)
}

/// What is lost by stored energy, when these are the lines to be drained, each for so many nanojoules.
pub fn steps(drained: &[u64], line_nj: u64) -> Vec<Step> {
    let most = drained.iter().copied().max().unwrap_or(0);
    let step = |n: u64| {
        // Whole lines: energy for a part of one saves nothing of it.
        let saved = (most * n).div_ceil(STEPS);
        let lost = |lines: &u64| lines.saturating_sub(saved);
        let sum: u64 = drained.iter().map(lost).sum();
        Step {
            microjoules: (saved * line_nj) as f64 / 1e3,
            lines_lost: most - saved.min(most),
            lines_lost_mean: sum as f64 / drained.len().max(1) as f64,
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

/// The workload that runs unless something else is asked for.
///
/// # Errors
/// Never: it is one that comes with the project.
pub fn workload() -> Result<WorkloadDescription, ConfigError> {
    WorkloadDescription::named(WORKLOAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_falls_by_a_line_for_its_energy_and_ends_at_nothing() {
        let steps = steps(&[10, 40, 20], 500);
        assert_eq!(steps.first().map(|s| (s.microjoules, s.lines_lost)), Some((0.0, 40)));
        assert!((steps[0].lines_lost_mean - 70.0 / 3.0).abs() < 1e-9);
        assert_eq!(steps.last(), Some(&Step { microjoules: 20.0, lines_lost: 0, lines_lost_mean: 0.0 }));
        for pair in steps.windows(2) {
            let lines = (pair[1].microjoules - pair[0].microjoules) * 1e3 / 500.0;
            assert_eq!(pair[0].lines_lost - pair[1].lines_lost, lines as u64);
        }
        assert_eq!(
            super::steps(&[0, 0], 757),
            [Step { microjoules: 0.0, lines_lost: 0, lines_lost_mean: 0.0 }]
        );
    }
}
