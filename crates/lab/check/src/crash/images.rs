//! Every image that recovery could be given at every point of a log, as far as recovery looks.

use super::log::Log;
use super::pending::{Tracker, Unit};
use super::small::smaller;
use super::why::{Explanation, explain};
use protocol::Persistency;
use std::collections::BTreeMap;
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

/// What is known of the lines that a check reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// Nothing: all lines count as read.
    #[default]
    Unknown,
    /// The check tells, at least for some images.
    Told,
    /// The check told, but its answer hangs on other lines too: all lines count as read.
    Distrusted,
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
    /// What is known of the lines that the check reads.
    pub reads: Reads,
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

pub(super) fn crash_points(log: &Log, model: Persistency) -> Vec<usize> {
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
pub(super) fn spread(points: &[usize], most: usize) -> Vec<usize> {
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

pub(super) type Failing = Option<(BTreeMap<Unit, usize>, String)>;

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
