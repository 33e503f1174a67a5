//! The search with recovery that is a program of its own and takes a whole image.
//!
//! A few crash points that are spread over the log come first: what is never persisted is in flight at all that follow,
//! and is found there. Then come all others in their order. Once a failure is known, a crash point that leaves the same
//! stores to be lost is tried with these lost, and its other images with these kept: one mistake does not hide another.

use super::candidate::{Candidate, Outcome, Verdict};
use super::classes::{Classes, Kept};
use super::fixed::Failing;
use super::images::{Bounds, Failure, Progress, Reads, Search, crash_points, spread};
use super::in_flight::Tracker;
use super::known::{Known, Said};
use super::log::{Log, SiteId};
use super::small::{Tried, made_small};
use super::torn::with_whole_sectors;
use super::unit::Unit;
use super::why::explain;
use protocol::Persistency;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use units::watch;

/// A check that takes a whole image. It is called from several threads.
type WholeCheck<'c> = dyn Fn(&Candidate<'_>) -> Outcome + Sync + 'c;

type Choice = BTreeMap<Unit, usize>;

/// So many failures are told that lose the same places of the program, and so many sets of places are tried of one failure.
const MOST_ALIKE: usize = 4;

/// The failures that one point has, by index, and what recovery said of each there.
type Told = BTreeMap<usize, String>;

/// Crash points that come first.
const FIRST: usize = 16;

/// Images tried at once: a constant, so that what is tried does not hang on the host.
const BATCH: usize = 16;

/// Choices made for each image tried, at the most: most of them are images that were tried before.
const MOST_MADE: usize = 64;

/// Of a point that is known to fail, one of so many images is tried for another mistake.
const PART: usize = 4;

/// As [`super::search`], for recovery that is a program of its own and takes a whole image. `check` is called from
/// several threads. `go_on` is asked before each check that makes a failing image small: once it says no, the image is taken as it is.
pub fn search_whole(
    log: &Log,
    model: Persistency,
    bounds: Bounds,
    check: &(dyn Fn(&Candidate<'_>) -> Outcome + Sync),
    go_on: &(dyn Fn() -> bool + Sync),
    progress: &mut Progress<'_>,
) -> Search {
    let (in_log, points) = crash_points(log, model, bounds.points);
    let found = Search { points_in_log: in_log, counted: true, ..Search::default() };
    let mut search =
        Searcher { log, model, bounds, check, go_on, known: Known::default(), found, causes: Vec::new() };
    let passes = passes(&points);
    if !search.over(&passes, progress) {
        // What was left out before looked the same to what the check said that it read.
        search.begin_again();
        search.over(&passes, progress);
    }
    search.end()
}

/// The points that come first, and all others.
fn passes(points: &[usize]) -> [Vec<usize>; 2] {
    let first = spread(points, FIRST);
    let others = points.iter().copied().filter(|p| first.binary_search(p).is_err());
    [first.clone(), others.collect()]
}

/// A failure that is known: where the stores that it loses stand in the program.
struct Cause {
    lost: BTreeSet<SiteId>,
    /// Whether it loses changes of files, too.
    changes: bool,
    /// Its index among the failures.
    failure: usize,
}

/// How the images of one point were left.
enum End {
    /// None fails of all, or of those that the bound allows.
    Tried {
        /// None was left out.
        all: bool,
    },
    /// One fails.
    Fails(Choice, String),
    /// The check could not be done.
    Stopped,
}

struct Searcher<'s> {
    log: &'s Log,
    model: Persistency,
    bounds: Bounds,
    check: &'s WholeCheck<'s>,
    go_on: &'s (dyn Fn() -> bool + Sync),
    known: Known,
    found: Search,
    causes: Vec<Cause>,
}

impl Searcher<'_> {
    /// Tries the points; false as soon as the check is not believed any more.
    fn over(&mut self, passes: &[Vec<usize>], progress: &mut Progress<'_>) -> bool {
        let mut skip = self.bounds.skip;
        let reads = self.found.reads;
        for pass in passes {
            let mut tracker = Tracker::new(self.log, self.model);
            let skipped = skip.min(pass.len());
            skip -= skipped;
            for point in &pass[skipped..] {
                watch::check();
                progress(&self.found);
                while tracker.at() < *point && tracker.step() {}
                self.at_point(&tracker);
                if self.is_over() {
                    return true;
                }
                if self.found.reads == Reads::Distrusted && reads != Reads::Distrusted {
                    return false;
                }
            }
        }
        true
    }

    /// Forgets what was counted, and keeps what images and failures are known.
    fn begin_again(&mut self) {
        let before = std::mem::take(&mut self.found);
        self.found = Search {
            points_in_log: before.points_in_log,
            images: before.images,
            failures: before.failures.into_iter().map(|f| Failure { points: 0, ..f }).collect(),
            reads: before.reads,
            counted: true,
            ..Search::default()
        };
    }

    fn is_over(&self) -> bool {
        self.found.stopped || self.is_full()
    }

    fn is_full(&self) -> bool {
        self.found.failures.len() >= self.bounds.failures
    }

    fn end(mut self) -> Search {
        self.found.full = !self.found.stopped && self.is_full();
        self.found.failures.sort_by_key(|f| (f.point, f.why.missing.first().map(|note| note.event)));
        self.found
    }

    fn at_point(&mut self, tracker: &Tracker<'_>) {
        self.found.points += 1;
        self.found.grouped_points += usize::from(tracker.is_grouped());
        let before = self.found.images;
        let (mut held, mut left_out) = (BTreeSet::new(), false);
        let mut told = BTreeMap::new();
        let mut fails = self.known_causes(tracker, &mut held, &mut told);
        let mut possible = (!held.is_empty()).then(|| Classes::new(tracker, &BTreeSet::new()).possible());
        while !self.is_over() {
            let mut classes = Classes::new(tracker, &held);
            let most = if fails { self.bounds.images.div_ceil(PART) } else { self.bounds.images };
            let most = most.saturating_sub(self.found.images - before);
            let end = self.images(tracker, &mut classes, most);
            possible.get_or_insert_with(|| classes.possible());
            match end {
                End::Tried { all } => {
                    left_out = !all;
                    break;
                }
                End::Stopped => self.found.stopped = true,
                End::Fails(choice, message) => {
                    fails = true;
                    let known = held.len();
                    held.extend(self.failed(tracker, choice, message, &mut told));
                    // Nothing new is lost: that it fails says nothing of other stores.
                    if held.len() == known {
                        break;
                    }
                }
            }
        }
        for (failure, message) in told {
            self.found.failures[failure].fails_again(&message);
        }
        let (possible, exact) = possible.unwrap_or((0.0, true));
        let all = self.found.possible + possible;
        (self.found.possible, self.found.counted) =
            (all.min(f64::MAX), self.found.counted && exact && all.is_finite());
        self.found.bounded_points += usize::from(left_out);
        self.found.failing_points += usize::from(fails);
    }

    /// Tries what is known to fail elsewhere; whether it does here. What is lost then is held from then on.
    fn known_causes(&mut self, tracker: &Tracker<'_>, held: &mut BTreeSet<SiteId>, told: &mut Told) -> bool {
        let mut fails = false;
        for index in 0..self.causes.len() {
            let classes = Classes::new(tracker, &BTreeSet::new());
            let Cause { lost, changes, .. } = &self.causes[index];
            let Some(kept) = classes.losing(lost, *changes) else { continue };
            let choice = classes.choice(&kept);
            let message = match self.try_one(tracker, classes.key(&kept), &choice) {
                Verdict::Stop => {
                    self.found.stopped = true;
                    return fails;
                }
                Verdict::Holds => continue,
                Verdict::Fails(message) => message,
            };
            fails = true;
            held.extend(&self.causes[index].lost);
            let at = self.causes[index].failure;
            told.entry(at).or_insert_with(|| message.clone());
            if tracker.at() < self.found.failures[at].point {
                // The earliest point says most clearly what is there in spite of what is lost.
                let (failure, lost) = self.explained(tracker, choice, message);
                self.causes[index].changes |= failure.why.loses_changes(tracker);
                self.causes[index].lost.extend(lost);
                let failure = self.told(tracker, failure);
                self.found.failures[at] = failure.instead_of(&self.found.failures[at]);
            }
        }
        fails
    }

    /// One image, unless it was tried before.
    fn try_one(&mut self, tracker: &Tracker<'_>, key: (u128, u64), choice: &Choice) -> Verdict {
        if let Some(said) = self.known.get(&key) {
            return said.message.clone().map_or(Verdict::Holds, Verdict::Fails);
        }
        self.found.images += 1;
        let outcome = (self.check)(&tracker.candidate(choice));
        self.hears(&outcome);
        let message = match &outcome.verdict {
            Verdict::Stop => return Verdict::Stop,
            Verdict::Holds => None,
            Verdict::Fails(message) => Some(message.clone()),
        };
        self.known.note(key, message, outcome.read);
        outcome.verdict
    }

    /// A failing image made small and explained, but for words, and where what it loses stands in the program.
    fn explained(
        &self,
        tracker: &Tracker<'_>,
        choice: Choice,
        message: String,
    ) -> (Failure, BTreeSet<SiteId>) {
        let mut tries = |choice: &Choice| {
            if !(self.go_on)() {
                return Tried::NoTime;
            }
            match (self.check)(&tracker.candidate(choice)).verdict {
                Verdict::Fails(message) => Tried::Fails(message),
                Verdict::Holds | Verdict::Stop => Tried::Holds,
            }
        };
        let small = made_small(tracker, choice, message, &mut tries);
        let why = explain(self.log, tracker, self.model, &small);
        let lost = why.missing.iter().map(|note| note.place).collect();
        let (point, acknowledged) = (tracker.at(), tracker.last_mark());
        let failure =
            Failure { point, acknowledged, message: small.message, why, points: 0, others: Vec::new() };
        (failure, lost)
    }

    /// A failure that is kept, with its words. Whether it is torn is tried whatever time is left: one check for each.
    fn told(&self, tracker: &Tracker<'_>, mut failure: Failure) -> Failure {
        let whole = with_whole_sectors(tracker, failure.why.choice()).filter(|whole| tracker.allows(whole));
        let verdict = whole.map(|whole| (self.check)(&tracker.candidate(&whole)).verdict);
        failure.why.is_torn = match verdict {
            Some(Verdict::Stop) => None,
            Some(Verdict::Holds) => Some(true),
            Some(Verdict::Fails(_)) | None => Some(false),
        };
        failure.why.tell(self.log, tracker, self.model);
        failure
    }

    /// The failure that one is taken for, of those that lose the same places of the program, as all do where one function writes for all
    /// others. It is another mistake, up to a few, where recovery says something else and it hangs on other addresses.
    fn taken_for(&self, failure: &Failure, lost: &BTreeSet<SiteId>, first: usize) -> Option<usize> {
        let loses =
            |f: &Failure| lost.iter().all(|site| f.why.missing.iter().any(|note| note.place == *site));
        let alike = || self.found.failures.iter().enumerate().filter(|(_, f)| loses(f));
        let says = alike().find(|(_, f)| f.says(&failure.message)).map(|(index, _)| index);
        let meets = || alike().find(|(_, f)| f.meets(failure)).map(|(index, _)| index);
        let or_first = (alike().count() >= MOST_ALIKE).then_some(first);
        says.or_else(meets).or(or_first)
    }

    /// Notes a failure that is not known; where what it loses stands in the program.
    fn failed(
        &mut self,
        tracker: &Tracker<'_>,
        choice: Choice,
        message: String,
        told: &mut Told,
    ) -> BTreeSet<SiteId> {
        let (failure, lost) = self.explained(tracker, choice, message);
        // More is lost than has to be: another form of the same mistake.
        let cause = self.causes.iter().find(|c| c.lost.is_subset(&lost));
        let mut is_another = false;
        if let Some(Cause { lost, failure: first, .. }) = cause {
            if let Some(same) = self.taken_for(&failure, lost, *first) {
                told.entry(same).or_insert(failure.message);
                return lost.clone();
            }
            is_another = true;
        }
        let known = self.found.failures.iter().position(|f| f.why.key() == failure.why.key());
        let known = known.filter(|_| !is_another);
        if let Some(index) = known {
            told.entry(index).or_insert(failure.message);
            return lost;
        }
        let failure = self.told(tracker, failure);
        // Without time to make it small, one mistake loses other places of the program each time. To its reader it is one.
        let same = self.found.failures.iter().position(|f| f.why.text == failure.why.text);
        let index = same.unwrap_or(self.found.failures.len());
        told.entry(index).or_insert_with(|| failure.message.clone());
        let causes = self.causes.iter().filter(|c| c.failure == index).count();
        if !lost.is_empty() && !is_another && causes < MOST_ALIKE {
            let changes = failure.why.loses_changes(tracker);
            self.causes.push(Cause { lost: lost.clone(), changes, failure: index });
        }
        if same.is_none() {
            self.found.failures.push(failure);
        }
        lost
    }

    /// Tries the classes of one point: at most `most` images, each only once in all the search.
    fn images(&mut self, tracker: &Tracker<'_>, classes: &mut Classes<'_, '_>, most: usize) -> End {
        let (mut tried, mut made) = (0, 0);
        let own = watch::entered();
        let check = self.check;
        loop {
            let mut batch = Vec::new();
            let mut keys = FxHashSet::default();
            let mut all = true;
            // The first two tell what the check looks at; what follows hangs on that.
            let first = made == 0;
            let width = if first { 2 } else { BATCH };
            while batch.len() < width {
                if tried + batch.len() >= most || made >= most.saturating_mul(MOST_MADE) {
                    all = classes.next().is_none();
                    break;
                }
                let Some(kept) = classes.next() else { break };
                made += 1;
                let key = classes.key(&kept);
                match self.known.get(&key) {
                    Some(Said { message: None, read }) => classes.looks_at(self.believed(read.as_deref())),
                    Some(Said { message: Some(message), .. }) => {
                        return End::Fails(classes.choice(&kept), message.clone());
                    }
                    None if keys.insert(key) => batch.push((kept, key)),
                    None => {}
                }
            }
            if batch.is_empty() {
                return End::Tried { all };
            }
            watch::check();
            let outcomes: Vec<Outcome> = batch
                .par_iter()
                .map(|(kept, _)| {
                    watch::shared(own.as_ref(), || check(&tracker.candidate(&classes.choice(kept))))
                })
                .collect();
            tried += batch.len();
            if let Some(end) = self.note(classes, batch, outcomes) {
                return end;
            }
            if first && let Some(end) = self.probe(tracker, classes) {
                return end;
            }
        }
    }

    fn hears(&mut self, outcome: &Outcome) {
        if outcome.more {
            self.found.reads = Reads::Distrusted;
        } else if outcome.read.is_some() && self.found.reads == Reads::Unknown {
            self.found.reads = Reads::Reported;
        }
    }

    /// The lines that a check said that it read, as long as it is believed.
    fn believed<'r>(&self, read: Option<&'r [Range<u64>]>) -> Option<&'r [Range<u64>]> {
        read.filter(|_| self.found.reads != Reads::Distrusted)
    }

    /// A check that says what it reads has to say the same without all else that is in flight.
    fn probe(&mut self, tracker: &Tracker<'_>, classes: &mut Classes<'_, '_>) -> Option<End> {
        let all = self.known.get(&classes.key(classes.everything()))?.read.clone();
        let (Some(all), Some(kept)) = (self.believed(all.as_deref()), classes.unread()) else { return None };
        let (key, choice) = (classes.key(&kept), classes.choice(&kept));
        let verdict = self.try_one(tracker, key, &choice);
        let read = self.known.get(&key).and_then(|said| said.read.as_deref());
        if verdict == Verdict::Holds && read == Some(all) {
            return None;
        }
        match verdict {
            Verdict::Stop => Some(End::Stopped),
            verdict @ (Verdict::Holds | Verdict::Fails(_)) => {
                self.found.reads = Reads::Distrusted;
                classes.looks_at(None);
                if let Verdict::Fails(message) = verdict { Some(End::Fails(choice, message)) } else { None }
            }
        }
    }

    /// What a batch of checks said: how it ends the point, if it does.
    fn note(
        &mut self,
        classes: &mut Classes<'_, '_>,
        batch: Vec<(Kept, (u128, u64))>,
        outcomes: Vec<Outcome>,
    ) -> Option<End> {
        let mut failing: Failing = None;
        for ((kept, key), outcome) in batch.into_iter().zip(outcomes) {
            self.found.images += 1;
            self.hears(&outcome);
            classes.looks_at(self.believed(outcome.read.as_deref()));
            let message = match outcome.verdict {
                Verdict::Stop => return Some(End::Stopped),
                Verdict::Holds => None,
                Verdict::Fails(message) => Some(message),
            };
            if let (None, Some(message)) = (&failing, &message) {
                failing = Some((classes.choice(&kept), message.clone()));
            }
            self.known.note(key, message, outcome.read);
        }
        failing.map(|(choice, message)| End::Fails(choice, message))
    }
}
