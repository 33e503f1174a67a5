//! The exact images that one machine leaves in one run, and recovery on each.

use super::images::Check;
use engine::Mode;
use machine::{
    CrashEvery, CrashPoint, Description, RunError, RunOptions, WorkloadDescription, run_with_crashes,
};
use protocol::{Block, Line, Lost, PM_BASE, line_of, offset_of};
use units::Time;
use workloads::Persistent;

/// A power failure that recovery does not cope with.
#[derive(Clone, Debug)]
pub struct TimedFailure {
    /// When.
    pub at: Time,
    /// Operations that each thread had ended.
    pub ended: Vec<u64>,
    /// What recovery said.
    pub message: String,
    /// Pages that the machine's dump did not save, by first address.
    pub lost: Vec<u64>,
}

/// What the crash points of one run gave.
#[derive(Clone, Debug, Default)]
pub struct Timed {
    /// Crash points tried.
    pub points: usize,
    /// Those that recovery does not cope with.
    pub failures: Vec<TimedFailure>,
    /// The bound on crash points ended the search.
    pub bounded: bool,
}

/// Recovers after a power failure at each of many instants of a run, at most `most`.
///
/// # Errors
/// As [`machine::run`].
pub fn timed(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
    every: CrashEvery,
    most: usize,
    check: &mut Check<'_>,
) -> Result<Timed, RunError> {
    let mut found = Timed::default();
    // Where caches or buffers persist, a hart that runs ahead would leave what it has not stored yet.
    let exact = matches!(machine.settings.text("ordering.model"), "bbb" | "eadr");
    let mode = if exact { Mode::Reference } else { options.mode };
    let options = RunOptions { mode, ..*options };
    run_with_crashes(machine, workload, &options, every, &mut |point| {
        found.points += 1;
        if let Err(message) = check(&mut Left { point: &point, at: None }, &point.ended) {
            let lost = lost_pages(&point);
            found.failures.push(TimedFailure { at: point.at, ended: point.ended.clone(), message, lost });
        }
        found.bounded = found.points >= most;
        !found.bounded && found.failures.len() < 8
    })?;
    Ok(found)
}

fn lost_pages(point: &CrashPoint) -> Vec<u64> {
    let page = |lost: &Lost| match lost {
        Lost::Page(address) => Some(*address),
        Lost::Line(_) => None,
    };
    point.lost.iter().filter_map(page).collect()
}

/// What a power failure left, with the line looked at last.
struct Left<'a> {
    point: &'a CrashPoint,
    at: Option<(Line, Block)>,
}

impl Persistent for Left<'_> {
    fn word(&mut self, address: u64) -> u64 {
        // A wild pointer leads nowhere.
        if address < PM_BASE {
            return 0;
        }
        let line = line_of(address);
        let block = match self.at {
            Some((at, block)) if at == line => block,
            _ => self.point.read(line),
        };
        self.at = Some((line, block));
        let at = offset_of(address);
        let mut word = [0; 8];
        word.copy_from_slice(&block[at..at + 8]);
        u64::from_le_bytes(word)
    }

    fn may_be_older(&self, address: u64) -> bool {
        self.point.lost.contains(&Lost::Line(line_of(address).address()))
    }
}
