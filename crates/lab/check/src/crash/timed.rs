//! The exact images that one machine leaves in one run, and recovery on each.

use super::fixed::Check;
use engine::Mode;
use machine::{
    CrashEvery, CrashPoint, Cuts, Description, RunError, RunOptions, WorkloadDescription, events_to_cut,
    run_with_crashes, to_cut,
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

/// What the first instants of a run gave: as much as is needed to go on after them.
#[derive(Clone, Debug, Default)]
pub struct SoFar {
    /// What was found at them.
    pub found: Timed,
    /// What recovery said of the last of them, where it did not cope.
    pub said: Option<String>,
}

/// Instants that were tried before, and who is told what was found since.
pub struct Resumed<'c> {
    /// What was found before an interruption. Those instants are passed, and nothing is recovered there.
    pub before: SoFar,
    /// Told with what was found before, now and then.
    pub keep: &'c mut dyn FnMut(&SoFar),
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
    let nobody = Resumed { before: SoFar::default(), keep: &mut |_| () };
    timed_on(machine, workload, options, (every, most), check, nobody)
}

/// The same from where it was interrupted; `cuts` are when power fails, and the most that are tried.
///
/// # Errors
/// As [`machine::run`].
pub fn timed_on(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
    cuts: (CrashEvery, usize),
    check: &mut Check<'_>,
    resumed: Resumed<'_>,
) -> Result<Timed, RunError> {
    let (every, most) = cuts;
    let Resumed { before, keep } = resumed;
    let (mut passed, mut so_far) = (0, before);
    run_with_crashes(machine, workload, &exact(machine, options), every, &mut |point| {
        so_far.found.after_end = point.after_end;
        if passed == so_far.found.points {
            so_far.said = check(&mut point.words(), &point.ended).err();
            so_far.found.points += 1;
            if let Some(message) = so_far.said.clone() {
                so_far.found.failing += 1;
                so_far.found.failures.push(failure(&point, message));
            }
            keep(&so_far);
        }
        passed += 1;
        let found = &mut so_far.found;
        found.bounded = passed >= most;
        !found.bounded && (passed < found.points || found.failures.len() < FAILURES)
    })?;
    Ok(so_far.found)
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

/// So many writes apart that a run is cut some `most` times; where a device does not count them, instants spread over its events. Costs
/// a run.
///
/// # Errors
/// As [`machine::run`].
pub fn by_writes(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
    most: usize,
) -> Result<CrashEvery, RunError> {
    let most = most as u64;
    Ok(match to_cut(machine, workload, &exact(machine, options), &[])? {
        (events, 0) => CrashEvery::Among { events, most },
        (_, writes) => CrashEvery::Persists(writes.div_ceil(most)),
    })
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
/// same, is not checked again.
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
    resumed: Resumed<'_>,
) -> Result<Timed, RunError> {
    let at_once = 4 * rayon::current_num_threads();
    let Resumed { before: SoFar { found, said }, keep } = resumed;
    let (mut left, mut said) = (found.points, said);
    let mut batch = Batch { found, points: Vec::new(), bytes: 0, last: None, whole };
    run_with_crashes(machine, workload, &exact(machine, options), cuts, &mut |point| {
        if left > 0 {
            left -= 1;
            batch.found.after_end = point.after_end;
            batch.last = Some((point, if left == 0 { said.take() } else { None }));
        } else {
            batch.add(point);
        }
        let tried = batch.found.points - left + batch.points.len();
        batch.found.bounded = tried >= most;
        if batch.points.len() >= at_once || batch.bytes > MOST_BYTES || batch.found.bounded {
            batch.try_all();
            keep(&batch.so_far());
        }
        !batch.found.bounded
    })?;
    batch.try_all();
    keep(&batch.so_far());
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
    fn so_far(&self) -> SoFar {
        let said = self.last.as_ref().and_then(|(_, said)| said.clone());
        SoFar { found: self.found.clone(), said }
    }

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
