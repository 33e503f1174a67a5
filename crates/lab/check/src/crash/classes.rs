//! The images that a model allows at one crash point, one after the other: first what finds mistakes early (everything,
//! nothing, all stores of one place in the program lost or alone, all of one file lost, then one unit, then two), then all others, by steps of
//! one store.
//!
//! A choice says how many of its stores in flight each unit keeps. Under epochs only closed choices are allowed: what is
//! kept comes after nothing that is lost. They are made, not filtered: a unit that loses a store takes with it what comes
//! after, and one that keeps a store brings what comes before. Closed choices are a lattice in which any two are joined
//! by steps of one store, so that the steps reach all of them.

use super::cuts::Cuts;
use super::grouped::InFlight;
use super::in_flight::Tracker;
use super::log::SiteId;
use super::pages::{line_hash, word_hash};
use super::unit::{KERNEL, METADATA, Unit};
use protocol::Persistency;
use protocol::line_of;
use rustc_hash::{FxHashSet, FxHasher};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// How many of its stores in flight each unit keeps, by the unit's index.
pub(super) type Kept = Vec<u32>;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Ends,
    Places,
    Whole,
    Parts,
    Pairs,
    Steps,
    Done,
}

/// See the module.
pub(super) struct Classes<'a, 't> {
    tracker: &'a Tracker<'t>,
    /// In order; [`METADATA`] last, where files changed.
    units: Vec<Unit>,
    counts: Vec<u32>,
    /// For each unit and each number of stores that it keeps: what that adds to the hash of the image; nothing of the units
    /// of which something may be cut off.
    hashes: Vec<Vec<u128>>,
    /// These units.
    cut: Vec<usize>,
    /// Units that are varied: the check looks at them, as far as is known.
    active: Vec<bool>,
    /// Units with stores that the model orders, which the kernel's are not.
    ordered: Vec<usize>,
    /// Units whose stores in flight change no byte, where no other unit hangs on them: they are never varied.
    inert: Vec<bool>,
    /// Stores that every choice keeps, and what comes before them.
    held: Kept,
    stage: Stage,
    /// Where the stage stands.
    at: (usize, usize),
    made: Vec<Kept>,
    seen: FxHashSet<Kept>,
    next: VecDeque<Kept>,
}

impl<'a, 't> Classes<'a, 't> {
    /// Those at the point where `tracker` stands that keep the stores of `held` places in the program. No unit is varied
    /// before [`Classes::looks_at`].
    pub(super) fn new(tracker: &'a Tracker<'t>, held: &BTreeSet<SiteId>) -> Classes<'a, 't> {
        let mut units: Vec<Unit> = tracker.in_flight.keys().copied().collect();
        let mut counts: Vec<u32> = tracker.in_flight.values().map(|s| s.len() as u32).collect();
        let cuts = Cuts::new(&tracker.changes, 0);
        let cut: Vec<usize> = (0..units.len()).filter(|u| cuts.touch(units[*u])).collect();
        let mut hashes: Vec<Vec<u128>> = units.iter().map(|u| hashes_of(tracker, *u)).collect();
        cut.iter().for_each(|u| hashes[*u].fill(0));
        if !tracker.changes.is_empty() {
            units.push(METADATA);
            counts.push(tracker.changes.len() as u32);
            hashes.push(vec![0; tracker.changes.len() + 1]);
        }
        let active = units.iter().map(|u| *u == METADATA).collect();
        let of_program =
            |u: &Unit| tracker.in_flight.get(u).is_some_and(|s| s.iter().any(|p| p.epoch != KERNEL));
        let ordered: Vec<usize> = (0..units.len()).filter(|u| of_program(&units[*u])).collect();
        let alone = |u: &usize| independent(tracker.model()) || ordered.binary_search(u).is_err();
        let changes =
            |u: &usize| !cuts.is_empty() || units[*u] == METADATA || hashes[*u].iter().any(|h| *h != 0);
        let inert = (0..units.len()).map(|u| !changes(&u) && alone(&u)).collect();
        let mut classes = Classes {
            tracker,
            held: vec![0; units.len()],
            units,
            counts,
            hashes,
            cut,
            active,
            ordered,
            inert,
            stage: Stage::Ends,
            at: (0, 0),
            made: Vec::new(),
            seen: FxHashSet::default(),
            next: VecDeque::new(),
        };
        let last = |u| classes.sites(u).rposition(|site| held.contains(&site));
        let kept: Kept = (0..classes.units.len()).map(|u| last(u).map_or(0, |at| at as u32 + 1)).collect();
        classes.held = classes.with(&kept, &all_of(&kept), 0);
        classes
    }

    /// Where a unit's stores in flight, or changes, stand in the program.
    fn sites(&self, unit: usize) -> impl DoubleEndedIterator<Item = SiteId> + ExactSizeIterator {
        let changes = if self.units[unit] == METADATA { &self.tracker.changes[..] } else { &[] };
        // One of the two is empty.
        let stores = self.stores(unit);
        (0..stores.len().max(changes.len()))
            .map(move |at| stores.get(at).map_or_else(|| changes[at].call.site, |s| s.store.site))
    }

    /// The choice that loses what was stored at these places of the program, and what comes after; none when nothing
    /// of it is in flight. Of changes of files only with `changes`: with one that is lost all later ones are.
    pub(super) fn losing(&self, lost: &BTreeSet<SiteId>, changes: bool) -> Option<Kept> {
        let varies = |u: &usize| changes || self.units[*u] != METADATA;
        let first =
            |u: usize| Some(u).filter(varies).and_then(|u| self.sites(u).position(|s| lost.contains(&s)));
        let firsts: Vec<Option<usize>> = (0..self.units.len()).map(first).collect();
        let units: Vec<usize> = (0..firsts.len()).filter(|u| firsts[*u].is_some()).collect();
        let mut kept = self.counts.clone();
        for unit in &units {
            kept[*unit] = firsts[*unit]? as u32;
        }
        while units.iter().any(|u| self.lower(&mut kept, *u)) {}
        (!units.is_empty()).then_some(kept)
    }

    /// A choice by unit.
    pub(super) fn choice(&self, kept: &Kept) -> BTreeMap<Unit, usize> {
        self.units.iter().zip(kept).map(|(u, k)| (*u, *k as usize)).collect()
    }

    /// Images with the same key are the same to a check: bytes, files, and what was acknowledged.
    pub(super) fn key(&self, kept: &Kept) -> (u128, u64) {
        let changes = match self.units.last() {
            Some(&METADATA) => kept.last().copied().unwrap_or(0) as usize,
            _ => 0,
        };
        let mut about = FxHasher::default();
        self.tracker.files(changes).hash(&mut about);
        self.tracker.ended.hash(&mut about);
        // Bytes that a shorter file does not have any more are in the sum all the same, unless they were stored since.
        changes.hash(&mut about);
        let cuts = Cuts::new(&self.tracker.changes, changes);
        cuts.ranges().for_each(|range| range.hash(&mut about));
        let whole = self.hashes.iter().zip(kept).map(|(h, k)| h[*k as usize]);
        let of_cut = |u: &usize| cut_hash(self.tracker, self.units[*u], kept[*u] as usize, &cuts);
        let each = whole.chain(self.cut.iter().map(of_cut));
        (each.fold(self.tracker.persisted.hash(), u128::wrapping_add), about.finish())
    }

    /// The check looks at these lines, or nobody knows at which: their units are varied.
    pub(super) fn looks_at(&mut self, lines: Option<&[Range<u64>]>) {
        let before = self.active.iter().filter(|a| **a).count();
        match lines {
            None => self.active.iter_mut().zip(&self.inert).for_each(|(active, inert)| *active = !inert),
            Some(lines) => lines.iter().for_each(|lines| self.looks_at_lines(lines)),
        }
        // Units that are new have their turn.
        if self.active.iter().filter(|a| **a).count() > before && self.stage > Stage::Places {
            self.enter(Stage::Places);
        }
    }

    /// The choice that loses all of which the check says that it does not look at it, and keeps all else; none where
    /// nothing of the kind is allowed.
    pub(super) fn unread(&self) -> Option<Kept> {
        let others: Vec<usize> = (0..self.units.len()).filter(|u| !self.active[*u]).collect();
        let kept = self.without(&self.counts, &others, 0);
        let same = |u: usize| !self.active[u] || kept[u] == self.counts[u];
        (!others.is_empty() && (0..kept.len()).all(same)).then_some(kept)
    }

    /// The choice that keeps everything.
    pub(super) fn everything(&self) -> &Kept {
        &self.counts
    }

    fn looks_at_lines(&mut self, lines: &Range<u64>) {
        let (from, to) = (lines.start / 64 * 64, lines.end.next_multiple_of(64));
        let first = self.units.partition_point(|u| *u < from);
        let within = self.units[first..].iter().take_while(|u| **u < to).count();
        (first..first + within).for_each(|u| self.active[u] = !self.inert[u]);
    }

    /// How many choices the model allows, and whether that is exact; otherwise there are at least so many.
    pub(super) fn possible(&self) -> (f64, bool) {
        let product =
            |counts: &mut dyn Iterator<Item = u32>| counts.map(|n| f64::from(n) + 1.0).product::<f64>();
        // Of stores that are taken in groups, each could be lost without the one before.
        let apart = !self.tracker.is_grouped();
        match self.tracker.model() {
            Persistency::Px86 | Persistency::Px86Line | Persistency::Strand | Persistency::Strict => {
                (product(&mut self.counts.iter().copied()), apart)
            }
            Persistency::Epoch | Persistency::Release => match self.of_one_thread() {
                Some(n) => (n, apart),
                None => (self.made.len() as f64, self.is_complete()),
            },
            Persistency::OneSided | Persistency::Armv8 => (self.made.len() as f64, self.is_complete()),
        }
    }

    /// Whether every choice was made.
    fn is_complete(&self) -> bool {
        self.stage == Stage::Done && self.active.iter().all(|a| *a) && !self.tracker.is_grouped()
    }

    /// Of one thread's epochs all but the last that is there are whole: a sum over that one.
    fn of_one_thread(&self) -> Option<f64> {
        let stores = || self.tracker.in_flight.values().flatten();
        let first = stores().next()?;
        if stores().any(|s| s.store.thread != first.store.thread || s.epoch == KERNEL) {
            return None;
        }
        let mut by_epoch: BTreeMap<u32, BTreeMap<Unit, u32>> = BTreeMap::new();
        for (unit, stores) in &self.tracker.in_flight {
            for s in stores {
                *by_epoch.entry(s.epoch).or_default().entry(*unit).or_default() += 1;
            }
        }
        let within =
            |units: &BTreeMap<Unit, u32>| units.values().map(|n| f64::from(*n) + 1.0).product::<f64>() - 1.0;
        let images = 1.0 + by_epoch.values().map(within).sum::<f64>();
        Some(images * (self.tracker.changes.len() as f64 + 1.0))
    }

    fn make(&mut self, mut kept: Kept) {
        // Of two allowed choices also what either of them keeps is allowed.
        kept.iter_mut().zip(&self.held).for_each(|(kept, held)| *kept = (*kept).max(*held));
        debug_assert!(self.tracker.allows(&self.choice(&kept)), "only what the model allows is made");
        if self.seen.insert(kept.clone()) {
            self.made.push(kept.clone());
            self.next.push_back(kept);
        }
    }

    fn stores(&self, unit: usize) -> &[InFlight] {
        self.tracker.stores(self.units[unit])
    }

    /// The largest allowed choice below `kept` that loses all but `most` stores of each of `units`.
    fn without(&self, kept: &Kept, units: &[usize], most: u32) -> Kept {
        let mut kept = kept.clone();
        for unit in units {
            kept[*unit] = kept[*unit].min(most);
        }
        while units.iter().any(|u| self.lower(&mut kept, *u)) {}
        kept
    }

    /// The smallest allowed choice above `kept` that has `least` stores of each of `units`, or all of them.
    fn with(&self, kept: &Kept, units: &[usize], least: u32) -> Kept {
        let mut kept = kept.clone();
        for unit in units {
            kept[*unit] = kept[*unit].max(least.min(self.counts[*unit]));
        }
        while units.iter().any(|u| self.raise(&mut kept, *u)) {}
        kept
    }

    /// Units that can be ordered with a unit.
    fn ordered_with(&self, unit: usize) -> &[usize] {
        let all = &self.ordered[..];
        match self.tracker.model() {
            _ if self.units[unit] == METADATA => &[],
            Persistency::Px86 | Persistency::Px86Line | Persistency::Strand | Persistency::Strict => &[],
            Persistency::Epoch | Persistency::Release | Persistency::OneSided => all,
            Persistency::Armv8 => {
                let line = self.units[unit] / 64 * 64;
                let first = all.partition_point(|u| self.units[*u] < line);
                let within = all[first..].iter().take_while(|u| self.units[**u] < line + 64).count();
                &all[first..first + within]
            }
        }
    }

    /// What comes after something lost is lost; whether that changed anything.
    fn lower(&self, kept: &mut Kept, unit: usize) -> bool {
        let ordered = self.ordered_with(unit);
        let mut lost: BTreeMap<u16, u32> = BTreeMap::new();
        for u in ordered.iter().copied() {
            for s in self.stores(u)[kept[u] as usize..].iter().filter(|s| s.epoch != KERNEL) {
                lost.entry(s.store.thread).and_modify(|e| *e = (*e).min(s.epoch)).or_insert(s.epoch);
            }
        }
        let needs =
            |s: &InFlight| self.tracker.before(s).iter().any(|(t, e)| lost.get(t).is_some_and(|l| e >= l));
        let mut changed = false;
        for u in ordered.iter().copied() {
            let stores = &self.stores(u)[..kept[u] as usize];
            if let Some(first) = stores.iter().position(needs) {
                kept[u] = first as u32;
                changed = true;
            }
        }
        changed
    }

    /// What comes before something kept is kept; whether that changed anything.
    fn raise(&self, kept: &mut Kept, unit: usize) -> bool {
        let ordered = self.ordered_with(unit);
        let mut needed: BTreeMap<u16, u32> = BTreeMap::new();
        for u in ordered.iter().copied() {
            for (t, e) in self.stores(u)[..kept[u] as usize].iter().flat_map(|s| self.tracker.before(s)) {
                needed.entry(*t).and_modify(|n| *n = (*n).max(*e)).or_insert(*e);
            }
        }
        let is_needed =
            |s: &InFlight| s.epoch != KERNEL && needed.get(&s.store.thread).is_some_and(|n| s.epoch <= *n);
        let mut changed = false;
        for u in ordered.iter().copied() {
            let from = kept[u] as usize;
            if let Some(last) = self.stores(u)[from..].iter().rposition(is_needed) {
                kept[u] = (from + last + 1) as u32;
                changed = true;
            }
        }
        changed
    }

    /// Goes on by one place of the stage; false when all are made.
    fn go_on(&mut self) -> bool {
        let n = self.units.len();
        let (all, none) = (self.counts.clone(), vec![0; n]);
        let (u, v) = self.at;
        match self.stage {
            Stage::Ends => {
                self.make(all);
                self.make(none);
                self.enter(Stage::Places);
            }
            Stage::Places => {
                for kept in self.places().into_iter().chain(self.files()) {
                    self.make(kept);
                }
                self.enter(Stage::Whole);
            }
            Stage::Whole | Stage::Parts if u >= n => {
                self.enter(if self.stage == Stage::Whole { Stage::Parts } else { Stage::Pairs });
            }
            Stage::Whole => {
                if self.active[u] {
                    self.make(self.without(&all, &[u], 0));
                    self.make(self.with(&none, &[u], u32::MAX));
                }
                self.at.0 += 1;
            }
            Stage::Parts => {
                for kept in 1..if self.active[u] { self.counts[u].min(MOST_PARTS) } else { 0 } {
                    self.make(self.without(&all, &[u], kept));
                    self.make(self.with(&none, &[u], kept));
                }
                self.at.0 += 1;
            }
            Stage::Pairs if u + 1 >= n => self.enter(Stage::Steps),
            Stage::Pairs if v >= n || !self.active[u] => self.at = (u + 1, u + 2),
            Stage::Pairs => {
                if v > u && self.active[v] {
                    self.make(self.without(&all, &[u, v], 0));
                    self.make(self.with(&none, &[u, v], u32::MAX));
                }
                self.at.1 = v.max(u) + 1;
            }
            Stage::Steps if u >= self.made.len() => self.enter(Stage::Done),
            Stage::Steps => {
                let from = self.made[u].clone();
                for unit in (0..n).filter(|u| self.active[*u]).collect::<Vec<_>>() {
                    if from[unit] > 0 {
                        self.make(self.without(&from, &[unit], from[unit] - 1));
                    }
                    if from[unit] < self.counts[unit] {
                        self.make(self.with(&from, &[unit], from[unit] + 1));
                    }
                }
                self.at.0 += 1;
            }
            Stage::Done => return false,
        }
        true
    }

    /// For each place of the program of which several varied units have stores in flight, those with the newest first:
    /// the choice that loses them, with the changes of files there and without, and the one that keeps them alone.
    fn places(&self) -> Vec<Kept> {
        let mut units: BTreeMap<SiteId, BTreeSet<usize>> = BTreeMap::new();
        let mut newest: BTreeMap<SiteId, usize> = BTreeMap::new();
        for u in (0..self.units.len()).filter(|u| self.active[*u]) {
            for stored in self.stores(u) {
                units.entry(stored.store.site).or_default().insert(u);
                newest
                    .entry(stored.store.site)
                    .and_modify(|n| *n = stored.event.max(*n))
                    .or_insert(stored.event);
            }
        }
        let mut places: Vec<SiteId> =
            units.iter().filter(|(_, u)| u.len() > 1).map(|(site, _)| *site).collect();
        places.sort_by_key(|site| std::cmp::Reverse(newest[site]));
        let changes = |site: &SiteId| self.tracker.changes.iter().any(|c| c.call.site == *site);
        let each = |site: &SiteId| {
            let up_to = |u: usize| self.sites(u).rposition(|s| s == *site).map_or(0, |at| at as u32 + 1);
            let mut alone: Kept = (0..self.units.len()).map(up_to).collect();
            while units[site].iter().any(|u| self.raise(&mut alone, *u)) {}
            let own = BTreeSet::from([*site]);
            let data = changes(site).then(|| self.losing(&own, false)).flatten();
            [self.losing(&own, true), data, Some(alone)]
        };
        places.iter().take(MOST_PLACES).flat_map(each).flatten().collect()
    }

    /// For each file of which varied units have stores in flight, those with the newest first: the choice that loses
    /// them. Sizes and names are there: what is written later tells that the file holds what it does not.
    fn files(&self) -> Vec<Kept> {
        let mut files: BTreeMap<usize, (usize, Vec<usize>)> = BTreeMap::new();
        for u in (0..self.units.len()).filter(|u| self.active[*u]) {
            let Some(stored) = self.stores(u).iter().map(|s| s.event).max() else { continue };
            let Some(file) = self.tracker.file_at(self.units[u]) else { continue };
            let (newest, units) = files.entry(file).or_default();
            *newest = stored.max(*newest);
            units.push(u);
        }
        let mut files: Vec<(usize, Vec<usize>)> = files.into_values().collect();
        files.sort_by_key(|(newest, _)| std::cmp::Reverse(*newest));
        files.iter().take(MOST_PLACES).map(|(_, units)| self.without(&self.counts, units, 0)).collect()
    }

    fn enter(&mut self, stage: Stage) {
        (self.stage, self.at) = (stage, (0, 0));
    }
}

/// At most so many places of a program are lost as a whole, and kept alone, and so many files lost, before single units.
const MOST_PLACES: usize = 8;

/// Whether a model lets each unit keep what it likes, whatever others keep.
fn independent(model: Persistency) -> bool {
    match model {
        Persistency::Px86 | Persistency::Px86Line | Persistency::Strand | Persistency::Strict => true,
        Persistency::Epoch | Persistency::Release | Persistency::OneSided | Persistency::Armv8 => false,
    }
}

/// Of a unit with many stores only the first so many numbers are tried before pairs of units; steps come to the others.
const MOST_PARTS: u32 = 64;

impl Iterator for Classes<'_, '_> {
    type Item = Kept;

    fn next(&mut self) -> Option<Kept> {
        while self.next.is_empty() && self.go_on() {}
        self.next.pop_front()
    }
}

/// The units of which something is kept.
fn all_of(kept: &Kept) -> Vec<usize> {
    (0..kept.len()).filter(|u| kept[*u] > 0).collect()
}

/// What the first so many stores of a unit add to the hash of the image.
fn hashes_of(tracker: &Tracker<'_>, unit: Unit) -> Vec<u128> {
    let line = line_of(unit);
    let mut block = tracker.persisted.read(line);
    let hash = |block: &protocol::Block| {
        if tracker.grain() == 64 {
            return line_hash(line.address(), block);
        }
        word_hash(unit, protocol::word_of(block, (unit % 64) as usize))
    };
    let before = hash(&block);
    let mut all = vec![0];
    for store in &tracker.in_flight[&unit] {
        let (mask, new) = tracker.block(unit, store);
        protocol::merge(&mut block, &new, mask);
        all.push(hash(&block).wrapping_sub(before));
    }
    all
}

/// Marks the address of bytes in a hash that were stored where something was cut off.
const SINCE: u64 = 1 << 63;

/// What the first so many stores of a unit add to the hash of the image where something of it may be cut off. What was durable and
/// is cut off is in the hash of what is persisted, but not in the image: what was stored there since counts on its own.
fn cut_hash(tracker: &Tracker<'_>, unit: Unit, kept: usize, cuts: &Cuts) -> u128 {
    let (line, gone) = (line_of(unit), cuts.gone(unit));
    let before = tracker.persisted.read(line);
    let (mut block, mut since) = (before, [0; 64]);
    for store in &tracker.stores(unit)[..kept] {
        let (mask, new) = tracker.block(unit, store);
        let mask = mask & cuts.reached(unit, store.event);
        protocol::merge(&mut block, &new, mask & !gone);
        protocol::merge(&mut since, &new, mask & gone);
    }
    let changed = line_hash(line.address(), &block).wrapping_sub(line_hash(line.address(), &before));
    changed.wrapping_add(line_hash(line.address() | SINCE, &since))
}
