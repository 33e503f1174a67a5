//! Every image that recovery could be given at every point of a log, as far as recovery looks.

use super::fixed::{Check, Failing, fixed};
use super::in_flight::Tracker;
use super::log::Log;
use super::small::{MadeSmall, smaller};
use super::unit::Unit;
use super::why::{Explanation, explain};
use protocol::Persistency;
use std::collections::BTreeMap;
use units::watch;
use workloads::Persistent;

/// How far a search goes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Crash points, spread over the log.
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

/// A failing image, made small, and what it hangs on.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The crash point: events of the log that had happened.
    pub point: usize,
    /// The number of the last mark before it.
    pub acknowledged: Option<u64>,
    /// What recovery said.
    pub message: String,
    /// Which stores, and why they could be lost.
    pub why: Explanation,
    /// Crash points at which the same places of the program are lost, which is taken for the same mistake, this one included.
    pub points: usize,
    /// What else recovery said at these, the first few.
    pub others: Vec<String>,
}

/// Other words of recovery that are kept of a failure.
const MOST_OTHERS: usize = 4;

/// What recovery says, but for numbers: from one record of a loop to the next these differ.
fn words(message: &str) -> String {
    message.replace(|c: char| c.is_ascii_digit(), "")
}

/// Whether recovery says the same, but for numbers.
pub fn says_the_same(one: &str, other: &str) -> bool {
    words(one) == words(other)
}

impl Failure {
    /// Fails at one more point, where recovery says this.
    pub(super) fn fails_again(&mut self, message: &str) {
        self.points += 1;
        self.hears(message);
    }

    /// Whether recovery says the same, but for numbers.
    pub(super) fn says(&self, message: &str) -> bool {
        says_the_same(&self.message, message)
    }

    /// Whether it hangs on some of the same addresses as another one.
    pub(super) fn meets(&self, other: &Failure) -> bool {
        let of =
            |f: &Failure| f.why.missing.iter().chain(&f.why.present).map(|n| n.address).collect::<Vec<_>>();
        let others = of(other);
        of(self).iter().any(|address| others.contains(address))
    }

    /// What recovery says elsewhere is kept where it differs by more than numbers.
    fn hears(&mut self, message: &str) {
        let mut known = std::iter::once(&self.message).chain(&self.others);
        if self.others.len() < MOST_OTHERS && known.all(|other| !says_the_same(other, message)) {
            self.others.push(message.into());
        }
    }

    /// What is known of it from a later point goes along.
    pub(super) fn instead_of(mut self, later: &Failure) -> Failure {
        self.points = later.points;
        self.hears(&later.message);
        later.others.iter().for_each(|other| self.hears(other));
        self
    }
}

/// What is known of the lines that a check reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// Nothing: all lines count as read.
    #[default]
    Unknown,
    /// The check tells, at least for some images.
    Reported,
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
    /// Images that the model allows at the points tried. Never infinite: from [`f64::MAX`] on nobody counts.
    pub possible: f64,
    /// `possible` is exact; otherwise there are at least so many.
    pub counted: bool,
    /// The check ended the search.
    pub stopped: bool,
    /// It ended with as many different failures as were asked for.
    pub full: bool,
    /// What is known of the lines that the check reads.
    pub reads: Reads,
    /// Images tried.
    pub images: usize,
    /// Points at which the bound on images left some out.
    pub bounded_points: usize,
    /// Points at which stores to a line that stays in flight were taken in groups: not every image was tried, nor counted.
    pub grouped_points: usize,
    /// Different failures, the first image of each.
    pub failures: Vec<Failure>,
    /// Failing points, each counted once.
    pub failing_points: usize,
}

/// Tries recovery on every image that `model` allows at the crash points of `log`. A crash point is just before
/// something in flight becomes persisted: between two such points images only become more.
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
type AtPoint = (usize, bool, Option<MadeSmall>);

fn over_points(
    log: &Log,
    model: Persistency,
    bounds: Bounds,
    progress: &mut Progress<'_>,
    mut try_point: impl FnMut(&Tracker<'_>) -> AtPoint,
) -> Search {
    let in_log = Points::new(log, model).count();
    let mut found = Search { points_in_log: in_log, ..Search::default() };
    let mut chosen = numbers(in_log, bounds.points).skip(bounds.skip).peekable();
    let mut points = Points::new(log, model);
    let mut number = 0;
    while let Some(point) = points.next() {
        let Some(wanted) = chosen.peek() else { break };
        number += 1;
        if number - 1 < *wanted {
            continue;
        }
        chosen.next();
        watch::check();
        progress(&found);
        found.points += 1;
        let tracker = &points.tracker;
        let (images, bounded, failing) = try_point(tracker);
        found.images += images;
        found.bounded_points += usize::from(bounded);
        found.grouped_points += usize::from(tracker.is_grouped());
        let Some(small) = failing else { continue };
        found.failing_points += 1;
        let mut why = explain(log, tracker, model, &small);
        if let Some(known) = found.failures.iter_mut().find(|f| f.why.key() == why.key()) {
            known.fails_again(&small.message);
        } else {
            why.tell(log, tracker, model);
            let (message, acknowledged) = (small.message, tracker.last_mark());
            found.failures.push(Failure { point, acknowledged, message, why, points: 1, others: Vec::new() });
            if found.failures.len() >= bounds.failures {
                found.full = true;
                break;
            }
        }
    }
    found
}

/// The crash points of a log, each by the number of events before it: where the tracker stands.
struct Points<'a> {
    tracker: Tracker<'a>,
    begins: usize,
    /// The tracker was where it stands, or has ended.
    done: bool,
    ended: bool,
}

impl<'a> Points<'a> {
    fn new(log: &'a Log, model: Persistency) -> Points<'a> {
        Points { tracker: Tracker::new(log, model), begins: log.begins(), done: false, ended: false }
    }
}

impl Iterator for Points<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while !self.ended {
            if self.done && !self.tracker.step() {
                self.ended = true;
                break;
            }
            self.done = true;
            let tracker = &self.tracker;
            if tracker.at() >= self.begins
                && (tracker.is_at_end() || tracker.settles_next() || tracker.closes_next())
            {
                return Some(tracker.at());
            }
        }
        None
    }
}

/// How many crash points a log has, and at most `most` of them, by the number of events before each.
pub(super) fn crash_points(log: &Log, model: Persistency, most: usize) -> (usize, Vec<usize>) {
    let in_log = Points::new(log, model).count();
    let mut chosen = numbers(in_log, most).peekable();
    let points = Points::new(log, model).enumerate();
    let points = points.filter(|(n, _)| chosen.next_if_eq(n).is_some());
    (in_log, points.take(most.clamp(1, in_log.max(1))).map(|(_, at)| at).collect())
}

/// At most `most` of `points`, the last one among them.
pub(super) fn spread(points: &[usize], most: usize) -> Vec<usize> {
    numbers(points.len(), most).map(|n| points[n]).collect()
}

/// At most `most` of `n` crash points by number, the last one among them.
fn numbers(n: usize, most: usize) -> impl Iterator<Item = usize> {
    units::spread(n as u64, most as u64).map(|n| n as usize)
}

/// One image's decision: a unit, what it may keep, and which of these is tried.
struct Decision {
    unit: Unit,
    options: Vec<usize>,
    tried: usize,
}

/// Memory whose units in flight are decided when recovery first looks at them.
struct Lazy<'a, 'b> {
    tracker: &'a Tracker<'b>,
    decisions: &'a mut Vec<Decision>,
    choice: BTreeMap<Unit, usize>,
}

impl Persistent for Lazy<'_, '_> {
    fn word(&mut self, address: u64) -> u64 {
        let unit = self.tracker.unit(address);
        let Some(stores) = self.tracker.in_flight.get(&unit) else {
            return self.tracker.persisted.word(address);
        };
        if let Some(kept) = self.choice.get(&unit) {
            return self.tracker.word(address, &stores[..*kept]);
        }
        let index = self.choice.len();
        if index == self.decisions.len() {
            let options = self.options(unit, stores.len());
            self.decisions.push(Decision { unit, options, tried: 0 });
        }
        let decision = &self.decisions[index];
        assert_eq!(decision.unit, unit, "recovery looks at the same lines when it sees the same bytes");
        let kept = decision.options[decision.tried];
        self.choice.insert(unit, kept);
        self.tracker.word(address, &stores[..kept])
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
        let options: Vec<usize> = order.filter(&mut allowed).collect();
        assert!(!options.is_empty(), "what is decided is of an image that the model allows");
        options
    }
}

/// Every image at one point, up to a bound: how many, whether some were left out, and the first that fails.
pub(super) fn explore(tracker: &Tracker<'_>, most: usize, check: &mut Check<'_>) -> (usize, bool, Failing) {
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
