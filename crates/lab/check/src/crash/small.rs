//! A failing image made small: as little is lost as still fails, and what decides nothing is left out.
//!
//! Units are tried in halves, so that one that matters among many is found in few checks.

use super::in_flight::Tracker;
use super::unit::{METADATA, Unit};
use std::collections::BTreeMap;

type Choice = BTreeMap<Unit, usize>;

/// So many units are tried one by one.
const FEW: usize = 32;

/// What trying a choice gave.
pub(super) enum Tried {
    /// It fails, in words.
    Fails(String),
    /// It does not.
    Holds,
    /// There was no time for it, and is none for others.
    NoTime,
}

/// A failing choice that loses as little as still fails.
#[derive(Clone, Debug, Default)]
pub(super) struct MadeSmall {
    /// So many stores, or changes of files, each unit keeps that decides something.
    pub(super) choice: Choice,
    /// Of units that have to keep something: so many are enough to fail, the last of them decides.
    pub(super) there: Choice,
    /// Units whose stores are lost from some on, and with all of them lost nothing fails: so many they keep, which decides.
    pub(super) halves: Choice,
    /// There was no time for all of this.
    pub(super) is_cut_short: bool,
    /// What recovery says.
    pub(super) message: String,
}

/// A failing choice made small; none when it fails no more.
pub(super) fn smaller(
    tracker: &Tracker<'_>,
    choice: Choice,
    fails: &mut dyn FnMut(&Choice) -> Option<String>,
) -> Option<MadeSmall> {
    let message = fails(&choice)?;
    let mut tries = |choice: &Choice| fails(choice).map_or(Tried::Holds, Tried::Fails);
    Some(made_small(tracker, choice, message, &mut tries))
}

/// The same for a choice that is known to fail, with `message`; as far as there is time.
pub(super) fn made_small(
    tracker: &Tracker<'_>,
    choice: Choice,
    message: String,
    tries: &mut dyn FnMut(&Choice) -> Tried,
) -> MadeSmall {
    let mut small = Small { tracker, choice, message, tries, is_over: false };
    let lost = |(unit, kept): (&Unit, &usize)| (*kept < tracker.count(*unit)).then_some(*unit);
    let units: Vec<Unit> = small.choice.iter().filter_map(lost).collect();
    small.keep_more(&units);
    let whole = |(unit, kept): (&Unit, &usize)| (*kept == tracker.count(*unit)).then_some(*unit);
    let units: Vec<Unit> = small.choice.iter().filter_map(whole).collect();
    small.leave_out(&units);
    let (there, halves) = (small.there(), small.halves());
    MadeSmall { choice: small.choice, there, halves, is_cut_short: small.is_over, message: small.message }
}

struct Small<'s, 't> {
    tracker: &'s Tracker<'t>,
    choice: Choice,
    message: String,
    tries: &'s mut dyn FnMut(&Choice) -> Tried,
    /// There is no time to try more.
    is_over: bool,
}

impl Small<'_, '_> {
    fn message_of(&mut self, choice: &Choice) -> Option<String> {
        if self.is_over || !self.tracker.allows(choice) {
            return None;
        }
        match (self.tries)(choice) {
            Tried::Fails(message) => Some(message),
            Tried::Holds => None,
            Tried::NoTime => {
                self.is_over = true;
                None
            }
        }
    }

    /// Takes a choice that still fails.
    fn take(&mut self, choice: Choice) -> bool {
        let Some(message) = self.message_of(&choice) else { return false };
        (self.choice, self.message) = (choice, message);
        true
    }

    /// Units keep all their stores where that still fails; what is lost of the others is as late as can be.
    fn keep_more(&mut self, units: &[Unit]) {
        if units.is_empty() || self.is_over {
            return;
        }
        let mut other = self.choice.clone();
        other.extend(units.iter().map(|unit| (*unit, self.tracker.count(*unit))));
        if self.take(other) {
            return;
        }
        match units {
            [unit] => self.keep_part(*unit),
            _ => {
                let (left, right) = units.split_at(units.len() / 2);
                self.keep_more(left);
                self.keep_more(right);
            }
        }
    }

    /// A unit of which something has to be lost: with one store more than it keeps in the end nothing fails.
    fn keep_part(&mut self, unit: Unit) {
        let mut holds = self.tracker.count(unit);
        while holds - self.choice[&unit] > 1 {
            let middle = self.choice[&unit].midpoint(holds);
            let mut other = self.choice.clone();
            other.insert(unit, middle);
            if !self.take(other) {
                holds = middle;
            }
        }
    }

    /// What decides nothing, there or not, does not belong to the explanation. Several units at once only where
    /// recovery says the same without them: that they are all gone may be a failure of its own.
    fn leave_out(&mut self, units: &[Unit]) {
        if self.is_over {
            return;
        }
        if units.len() <= FEW {
            units.iter().for_each(|unit| self.leave_out_one(*unit));
            return;
        }
        let mut without = self.choice.clone();
        without.extend(units.iter().map(|unit| (*unit, 0)));
        if self.message_of(&without).is_some_and(|m| m == self.message) {
            units.iter().for_each(|unit| _ = self.choice.remove(unit));
            return;
        }
        let (left, right) = units.split_at(units.len() / 2);
        self.leave_out(left);
        self.leave_out(right);
    }

    fn leave_out_one(&mut self, unit: Unit) {
        let mut without = self.choice.clone();
        without.insert(unit, 0);
        if self.message_of(&without).is_some() {
            self.choice.remove(&unit);
        }
    }

    /// What has to be there, of each unit that has to keep something.
    fn there(&mut self) -> Choice {
        let choice = self.choice.clone();
        choice.into_iter().filter_map(|(unit, kept)| Some((unit, self.least(unit, kept)?))).collect()
    }

    /// As far as there is time; of changes of files see [`Small::there`].
    fn halves(&mut self) -> Choice {
        let mut halves = self.choice.clone();
        halves.retain(|unit, kept| *unit != METADATA && *kept > 0 && *kept < self.tracker.count(*unit));
        halves.retain(|unit, _| !self.fails_with(*unit, 0) && !self.is_over);
        halves
    }

    /// The fewest stores of a unit, the oldest first, with which it fails as with those that it keeps, as far as there is time; none
    /// where what the unit keeps decides nothing, or nobody knows.
    fn least(&mut self, unit: Unit, kept: usize) -> Option<usize> {
        let is_whole = kept == self.tracker.count(unit);
        // Of a whole unit it is known that it has to keep something.
        if !is_whole && (unit != METADATA || kept == 0 || self.fails_with(unit, 0) || self.is_over) {
            return None;
        }
        // From what it keeps downwards: with few of them it may be another failure.
        let (mut holds, mut fails, mut step) = (0, kept, 1);
        while self.tracker.are_several(unit) && fails - holds > 1 {
            let next = if holds > 0 { holds.midpoint(fails) } else { fails.saturating_sub(step).max(1) };
            if self.fails_with(unit, next) {
                (fails, step) = (next, 2 * step);
            } else {
                holds = next;
            }
        }
        Some(fails)
    }

    /// Whether it fails when a unit keeps so many of its stores.
    fn fails_with(&mut self, unit: Unit, kept: usize) -> bool {
        let mut other = self.choice.clone();
        other.insert(unit, kept);
        self.message_of(&other).is_some()
    }
}
