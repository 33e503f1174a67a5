//! Every image that recovery could be given at every point of a log, as far as recovery looks.

use super::candidate::{Candidate, Outcome, Verdict};
use super::classes::Classes;
use super::log::Log;
use super::pending::{Tracker, Unit};
use super::why::{Explanation, explain};
use protocol::Persistency;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use units::watch;
use workloads::Persistent;

/// How far a search goes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Crash points, spread evenly over the log.
    pub points: usize,
    /// Images at each point.
    pub images: usize,
    /// Different failures.
    pub failures: usize,
    /// Crash points that were tried before, and are left out.
    pub skip: usize,
}

/// Told what was found after each crash point.
pub type Progress<'p> = dyn FnMut(&Search) + 'p;

/// What recovery does with an image: the memory, and the operations that each thread had ended.
pub type Check<'c> = dyn FnMut(&mut dyn Persistent, &[u64]) -> Result<(), String> + 'c;

/// A failing image, made small, and what it hangs on.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The crash point: events of the log that had happened.
    pub point: usize,
    /// What recovery said.
    pub message: String,
    /// Which stores, and why they could be lost.
    pub why: Explanation,
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Crash points tried.
    pub points: usize,
    /// Crash points of the log.
    pub points_in_log: usize,
    /// Images that the model allows at the points tried.
    pub possible: f64,
    /// `possible` is exact; otherwise there are at least so many.
    pub counted: bool,
    /// The check ended the search.
    pub stopped: bool,
    /// Images tried.
    pub images: usize,
    /// Points at which the bound on images left some out.
    pub bounded_points: usize,
    /// Different failures, the first image of each.
    pub failures: Vec<Failure>,
    /// Failing points, each counted once.
    pub failing_points: usize,
}

/// Tries recovery on every image that `model` allows at the crash points of `log`. A crash point is just before
/// something pending becomes sure: between two such points images only become more.
pub fn search(
    log: &Log,
    model: Persistency,
    bounds: Bounds,
    check: &mut Check<'_>,
    progress: &mut Progress<'_>,
) -> Search {
    over_points(log, model, bounds, progress, |tracker| {
        let (images, bounded, failing) = explore(tracker, bounds.images, check);
        let failing = failing.map(|(choice, _)| {
            smaller(tracker, choice, &mut |choice| fixed(tracker, choice, check).err()).unwrap_or_default()
        });
        (images, bounded, failing)
    })
}

/// As [`search`], for recovery that is a program of its own and takes a whole image. `check` is called from several
/// threads. `go_on` is asked while a failing image is made small: once it says no, the image is taken as it is.
pub fn search_whole(
    log: &Log,
    model: Persistency,
    bounds: Bounds,
    check: &(dyn Fn(&Candidate<'_>) -> Outcome + Sync),
    go_on: &(dyn Fn() -> bool + Sync),
    progress: &mut Progress<'_>,
) -> Search {
    let mut known: Known = FxHashMap::default();
    let (mut possible, mut counted, stopped) = (0.0, true, AtomicBool::new(false));
    let mut found = over_points(log, model, bounds, progress, |tracker| {
        let mut classes = Classes::new(tracker);
        let at_point = whole_images(tracker, &mut classes, bounds.images, check, &mut known, &stopped);
        let (n, exact) = classes.possible();
        possible += n;
        counted &= exact;
        let mut fails = |choice: &BTreeMap<Unit, usize>| match check(&tracker.candidate(choice)).verdict {
            Verdict::Fails(message) if go_on() => Some(message),
            _ => None,
        };
        let failing = at_point.failing.map(|(choice, message)| {
            if go_on() { made_small(tracker, choice, message, &mut fails) } else { (choice, message) }
        });
        (at_point.images, at_point.left_out, failing)
    });
    (found.possible, found.counted) = (possible, counted);
    found.stopped = stopped.into_inner();
    found
}

/// What a check said of an image, and which lines it read, as far as that is known.
type Known = FxHashMap<(u128, u64), (Option<String>, Option<Vec<u64>>)>;

/// Images of one point that were tried.
struct Tried {
    images: usize,
    left_out: bool,
    failing: Failing,
}

/// Images tried at once: a constant, so that what is tried does not hang on the host.
const BATCH: usize = 16;

/// Choices made for each image tried, at the most: most of them are images that were tried before.
const MOST_MADE: usize = 64;

/// Tries the classes of one point: at most `most` images, each only once in all the search.
fn whole_images(
    tracker: &Tracker<'_>,
    classes: &mut Classes<'_, '_>,
    most: usize,
    check: &(dyn Fn(&Candidate<'_>) -> Outcome + Sync),
    known: &mut Known,
    stopped: &AtomicBool,
) -> Tried {
    let mut tried = Tried { images: 0, left_out: false, failing: None };
    let mut made = 0;
    let own = watch::entered();
    loop {
        let mut batch = Vec::new();
        let mut keys = FxHashSet::default();
        // The first two tell what the check looks at; what follows hangs on that.
        let width = if made == 0 { 2 } else { BATCH };
        while batch.len() < width {
            if tried.images + batch.len() >= most || made >= most.saturating_mul(MOST_MADE) {
                tried.left_out = classes.next().is_some();
                break;
            }
            let Some(kept) = classes.next() else { break };
            made += 1;
            let key = classes.key(&kept);
            match known.get(&key) {
                Some((None, read)) => classes.looks_at(read.as_deref()),
                Some((Some(message), _)) => {
                    tried.failing = Some((classes.choice(&kept), message.clone()));
                    return tried;
                }
                None if keys.insert(key) => batch.push((kept, key)),
                None => {}
            }
        }
        if batch.is_empty() {
            return tried;
        }
        watch::check();
        let outcomes: Vec<Outcome> = batch
            .par_iter()
            .map(|(kept, _)| watch::shared(own.as_ref(), || check(&tracker.candidate(&classes.choice(kept)))))
            .collect();
        for ((kept, key), outcome) in batch.into_iter().zip(outcomes) {
            tried.images += 1;
            classes.looks_at(outcome.read.as_deref());
            let message = match outcome.verdict {
                Verdict::Stop => {
                    stopped.store(true, Ordering::Relaxed);
                    return tried;
                }
                Verdict::Holds => None,
                Verdict::Fails(message) => Some(message),
            };
            if let (None, Some(message)) = (&tried.failing, &message) {
                tried.failing = Some((classes.choice(&kept), message.clone()));
            }
            known.insert(key, (message, outcome.read));
        }
        if tried.failing.is_some() {
            return tried;
        }
    }
}

/// What one point gave: images, whether some were left out, and a failing one made small.
type AtPoint = (usize, bool, Option<(BTreeMap<Unit, usize>, String)>);

fn over_points(
    log: &Log,
    model: Persistency,
    bounds: Bounds,
    progress: &mut Progress<'_>,
    mut try_point: impl FnMut(&Tracker<'_>) -> AtPoint,
) -> Search {
    let points = crash_points(log, model);
    let mut found = Search { points_in_log: points.len(), ..Search::default() };
    let mut tracker = Tracker::new(log, model);
    for point in spread(&points, bounds.points).into_iter().skip(bounds.skip) {
        watch::check();
        progress(&found);
        while tracker.at() < point && tracker.step() {}
        found.points += 1;
        let (images, bounded, failing) = try_point(&tracker);
        found.images += images;
        found.bounded_points += usize::from(bounded);
        let Some((choice, message)) = failing else { continue };
        found.failing_points += 1;
        let why = explain(log, &tracker, model, &choice);
        if found.failures.iter().all(|f| f.why.key() != why.key()) {
            found.failures.push(Failure { point, message, why });
            if found.failures.len() >= bounds.failures {
                break;
            }
        }
    }
    found
}

fn crash_points(log: &Log, model: Persistency) -> Vec<usize> {
    let (begins, mut tracker, mut points) = (log.begins(), Tracker::new(log, model), Vec::new());
    loop {
        if tracker.at() >= begins && (tracker.settles_next() || tracker.closes_next()) {
            points.push(tracker.at());
        }
        if !tracker.step() {
            break;
        }
    }
    if tracker.at() >= begins {
        points.push(tracker.at());
    }
    points
}

/// At most `most` of `points`, the last one among them.
fn spread(points: &[usize], most: usize) -> Vec<usize> {
    let (n, most) = (points.len(), most.max(1));
    if n <= most {
        return points.to_vec();
    }
    (1..=most).map(|i| points[i * n / most - 1]).collect()
}

/// One image's decision: a unit, what it may keep, and which of these is tried.
struct Decision {
    unit: Unit,
    options: Vec<usize>,
    tried: usize,
}

/// Memory whose pending units are decided when recovery first looks at them.
struct Lazy<'a, 'b> {
    tracker: &'a Tracker<'b>,
    decisions: &'a mut Vec<Decision>,
    choice: BTreeMap<Unit, usize>,
}

impl Persistent for Lazy<'_, '_> {
    fn word(&mut self, address: u64) -> u64 {
        let unit = self.tracker.unit(address);
        let Some(stores) = self.tracker.pending.get(&unit) else { return self.tracker.word(address, 0) };
        if let Some(kept) = self.choice.get(&unit) {
            return self.tracker.word(address, *kept);
        }
        let index = self.choice.len();
        if index == self.decisions.len() {
            let options = self.options(unit, stores.len());
            self.decisions.push(Decision { unit, options, tried: 0 });
        }
        let decision = &self.decisions[index];
        debug_assert_eq!(decision.unit, unit, "recovery looks at the same lines when it sees the same bytes");
        let kept = decision.options[decision.tried];
        self.choice.insert(unit, kept);
        self.tracker.word(address, kept)
    }
}

impl Lazy<'_, '_> {
    /// All, none, and what is between; as far as the model allows it beside what is decided.
    fn options(&self, unit: Unit, count: usize) -> Vec<usize> {
        let mut choice = self.choice.clone();
        let mut allowed = |kept: &usize| {
            choice.insert(unit, *kept);
            self.tracker.allows(&choice)
        };
        let order = [count, 0].into_iter().chain(1..count);
        let mut options: Vec<usize> = order.filter(&mut allowed).collect();
        if options.is_empty() {
            options.push(count);
        }
        options
    }
}

type Failing = Option<(BTreeMap<Unit, usize>, String)>;

/// Every image at one point, up to a bound: how many, whether some were left out, and the first that fails.
fn explore(tracker: &Tracker<'_>, most: usize, check: &mut Check<'_>) -> (usize, bool, Failing) {
    let mut decisions: Vec<Decision> = Vec::new();
    let mut images = 0;
    loop {
        let mut memory = Lazy { tracker, decisions: &mut decisions, choice: BTreeMap::new() };
        let result = check(&mut memory, &tracker.ended);
        let choice = memory.choice;
        images += 1;
        if let Err(message) = result {
            return (images, false, Some((choice, message)));
        }
        decisions.truncate(choice.len());
        while decisions.last().is_some_and(|d| d.tried + 1 == d.options.len()) {
            decisions.pop();
        }
        match decisions.last_mut() {
            None => return (images, false, None),
            Some(_) if images >= most => return (images, true, None),
            Some(last) => last.tried += 1,
        }
    }
}

/// Memory under a fixed choice; a unit that it does not name keeps as much as the model allows.
struct Fixed<'a, 'b> {
    tracker: &'a Tracker<'b>,
    choice: BTreeMap<Unit, usize>,
}

impl Persistent for Fixed<'_, '_> {
    fn word(&mut self, address: u64) -> u64 {
        let unit = self.tracker.unit(address);
        let Some(stores) = self.tracker.pending.get(&unit) else { return self.tracker.word(address, 0) };
        if !self.choice.contains_key(&unit) {
            for kept in (0..=stores.len()).rev() {
                self.choice.insert(unit, kept);
                if self.tracker.allows(&self.choice) {
                    break;
                }
            }
        }
        self.tracker.word(address, self.choice[&unit])
    }
}

/// Recovery on one image.
pub(super) fn fixed(
    tracker: &Tracker<'_>,
    choice: &BTreeMap<Unit, usize>,
    check: &mut Check<'_>,
) -> Result<(), String> {
    check(&mut Fixed { tracker, choice: choice.clone() }, &tracker.ended)
}

/// A failing choice that loses as little, and keeps as little, as still fails; none when it fails no more.
fn smaller(
    tracker: &Tracker<'_>,
    choice: BTreeMap<Unit, usize>,
    fails: &mut dyn FnMut(&BTreeMap<Unit, usize>) -> Option<String>,
) -> Failing {
    let message = fails(&choice)?;
    Some(made_small(tracker, choice, message, fails))
}

/// The same for a choice that is known to fail, with `message`.
fn made_small(
    tracker: &Tracker<'_>,
    mut choice: BTreeMap<Unit, usize>,
    mut message: String,
    fails: &mut dyn FnMut(&BTreeMap<Unit, usize>) -> Option<String>,
) -> (BTreeMap<Unit, usize>, String) {
    let count = |unit: &Unit| tracker.count(*unit);
    let mut still_fails = |choice: &BTreeMap<Unit, usize>, unit: Unit, kept: usize| {
        let mut other = choice.clone();
        other.insert(unit, kept);
        if tracker.allows(&other) { fails(&other) } else { None }
    };
    let all: Vec<Unit> = choice.keys().copied().collect();
    for unit in &all {
        // First all of its stores, then all but the last, ...: what is lost is then as late as can be.
        for kept in (choice[unit] + 1..=count(unit)).rev() {
            if let Some(m) = still_fails(&choice, *unit, kept) {
                message = m;
                choice.insert(*unit, kept);
                break;
            }
        }
    }
    for unit in &all {
        // What decides nothing, there or not, does not belong to the explanation.
        if choice[unit] == count(unit)
            && let Some(m) = still_fails(&choice, *unit, 0)
        {
            message = m;
            choice.remove(unit);
        }
    }
    (choice, message)
}
