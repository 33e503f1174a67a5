//! The exact images that one machine leaves in one run, and recovery on each.

use super::fixed::Check;
use engine::Mode;
use machine::{
    CrashEvery, CrashPoint, Cuts, Description, RunError, RunOptions, WorkloadDescription, events_to_cut,
    run_with_crashes,
};
use protocol::Lost;
use rayon::prelude::*;
use units::Time;

/// Instants that are held to be checked side by side may hold so many bytes beside what they share.
const MOST_BYTES: u64 = 16 << 20;

/// Different failures that are kept.
const FAILURES: usize = 8;

/// A power failure that recovery does not cope with.
#[derive(Clone, Debug)]
pub struct TimedFailure {
    /// When.
    pub at: Time,
    /// Operations that each thread had ended.
    pub ended: Vec<u64>,
    /// Of a recording: records that each thread had passed.
    pub passed: Vec<u64>,
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
    pub failing: usize,
    /// The first of them, as far as they differ.
    pub failures: Vec<TimedFailure>,
    /// The bound on crash points ended the search.
    pub bounded: bool,
    /// When the run had ended, where the power was to fail later.
    pub after_end: Option<Time>,
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
    let options = exact(machine, options);
    run_with_crashes(machine, workload, &options, every, &mut |point| {
        found.points += 1;
        found.after_end = point.after_end;
        if let Err(message) = check(&mut point.words(), &point.ended) {
            found.failing += 1;
            found.failures.push(failure(&point, message));
        }
        found.bounded = found.points >= most;
        !found.bounded && found.failures.len() < FAILURES
    })?;
    Ok(found)
}

/// Where caches or buffers persist, a core that runs ahead would leave what it has not stored yet.
fn exact(machine: &Description, options: &RunOptions) -> RunOptions {
    let exact = !machine.ordering().capabilities().fences;
    RunOptions { mode: if exact { Mode::Reference } else { options.mode }, ..*options }
}

/// Instants spread over the events of a run, at most `most`, of those after `after` (see [`Cuts`]). Costs a run.
///
/// # Errors
/// As [`machine::run`].
pub fn spread(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
    most: usize,
    after: Vec<(usize, u64)>,
) -> Result<Cuts, RunError> {
    let events = events_to_cut(machine, workload, &exact(machine, options), &after)?;
    Ok(Cuts { every: CrashEvery::Among { events, most: most as u64 }, after })
}

/// What recovery that is a program of its own does with what is left. Called from several threads.
pub type WholeCheck<'c> = dyn Fn(&CrashPoint) -> Result<(), String> + Sync + 'c;

/// Such recovery, and what it is told.
pub struct Whole<'c> {
    /// Recovery.
    pub check: &'c WholeCheck<'c>,
    /// Whether it is told the same of two instants, by what their threads have passed.
    pub same: &'c (dyn Fn(&[u64], &[u64]) -> bool + Sync),
}

/// As [`timed`], for such recovery. An instant that leaves the bytes of the one before it, and of which it is told the
/// same, is not checked again. `progress` is told how many were tried.
///
/// # Errors
/// As [`machine::run`].
pub fn timed_whole(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
    cuts: Cuts,
    most: usize,
    whole: &Whole<'_>,
    progress: &mut dyn FnMut(usize),
) -> Result<Timed, RunError> {
    let at_once = 4 * rayon::current_num_threads();
    let mut batch = Batch { found: Timed::default(), points: Vec::new(), bytes: 0, last: None, whole };
    run_with_crashes(machine, workload, &exact(machine, options), cuts, &mut |point| {
        batch.add(point);
        let tried = batch.found.points + batch.points.len();
        batch.found.bounded = tried >= most;
        if batch.points.len() >= at_once || batch.bytes > MOST_BYTES || batch.found.bounded {
            batch.try_all();
            progress(tried);
        }
        !batch.found.bounded
    })?;
    batch.try_all();
    Ok(batch.found)
}

/// Instants whose checks run side by side.
struct Batch<'c> {
    found: Timed,
    points: Vec<CrashPoint>,
    /// What they hold that neither the next nor the machine does.
    bytes: u64,
    /// The last instant of the batch before, and what the check said.
    last: Option<(CrashPoint, Option<String>)>,
    whole: &'c Whole<'c>,
}

impl Batch<'_> {
    fn add(&mut self, point: CrashPoint) {
        let before = self.points.last().or(self.last.as_ref().map(|(point, _)| point));
        self.bytes += before.map_or(0, |before| before.bytes_apart(&point));
        self.points.push(point);
    }

    fn try_all(&mut self) {
        let points = std::mem::take(&mut self.points);
        self.bytes = 0;
        let before = |i: usize| match i {
            0 => self.last.as_ref().map(|(point, _)| point),
            _ => Some(&points[i - 1]),
        };
        let said: Vec<Option<Option<String>>> = (0..points.len())
            .into_par_iter()
            .map(|i| {
                let point = &points[i];
                let is_old =
                    |b: &CrashPoint| point.leaves_as(b) && (self.whole.same)(&point.passed, &b.passed);
                let is_new = !before(i).is_some_and(is_old);
                is_new.then(|| (self.whole.check)(&points[i]).err())
            })
            .collect();
        for (point, said) in points.into_iter().zip(said) {
            let said = said.unwrap_or_else(|| self.last.as_ref().and_then(|(_, said)| said.clone()));
            self.found.points += 1;
            self.found.after_end = point.after_end;
            if let Some(message) = &said {
                let kept = &mut self.found.failures;
                self.found.failing += 1;
                if kept.len() < FAILURES && kept.iter().all(|f| f.message != *message) {
                    kept.push(failure(&point, message.clone()));
                }
            }
            self.last = Some((point, said));
        }
    }
}

fn failure(point: &CrashPoint, message: String) -> TimedFailure {
    let (ended, passed, lost) = (point.ended.clone(), point.passed.clone(), lost_pages(point));
    TimedFailure { at: point.at, ended, passed, message, lost }
}

fn lost_pages(point: &CrashPoint) -> Vec<u64> {
    let page = |lost: &Lost| match lost {
        Lost::Page(address) => Some(*address),
        Lost::Line(_) => None,
    };
    point.lost.iter().filter_map(page).collect()
}
