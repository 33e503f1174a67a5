//! What is persisted at a point of a log, and what is in flight: the stores of each line (or word) that
//! a power failure may leave or lose, oldest first, and the changes of files that nothing made durable yet.

mod allowed;
mod by_epochs;
mod names;
#[cfg(test)]
mod tests;

use super::candidate::Candidate;
use super::epochs::Epochs;
use super::files::{Change, FileState, What};
use super::grouped::{Apart, Flushed, InFlight, Limits, PendingChange};
use super::log::{Event, Happened, Kind, Log, Pass, SiteId};
use super::pages::Pages;
use super::unit::{KERNEL, METADATA, Unit};
use protocol::Persistency;
use protocol::{FenceKind, FlushKind, Mask, line_of, offset_of, whole_bytes, word_of};
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use units::watch;

/// Where a log stands.
pub struct Tracker<'a> {
    log: &'a Log,
    model: Persistency,
    /// Events that follow the next. The lock lets threads share what stands here; only stepping reads on.
    pass: Mutex<Pass<'a>>,
    next: Option<Happened>,
    /// The index of the next event.
    at: usize,
    /// Persistent whatever happens.
    pub(super) persisted: Pages,
    pub(super) in_flight: BTreeMap<Unit, Vec<InFlight>>,
    /// Operations ended by each thread.
    pub(super) ended: Vec<u64>,
    /// The last mark of each thread, and of all.
    marks: BTreeMap<u16, u64>,
    last_mark: Option<u64>,
    /// Where the last store or write stands in the program.
    pub(super) last_store: Option<SiteId>,
    limits: Limits,
    sequence: u64,
    /// For each thread: units flushed and not fenced, with the newest store that the flush covers.
    flushed: Vec<Flushed>,
    /// Threads that have flushed since their last fence.
    has_flushed: Vec<bool>,
    /// Threads that have drawn a strand since their last join.
    on_strands: Vec<bool>,
    epochs: Epochs,
    /// Files with all changes that are durable.
    durable: Vec<FileState>,
    /// Those that are, of names, in their order.
    renamed: Vec<(usize, Change)>,
    /// Changes that are not.
    pub(super) changes: Vec<PendingChange>,
    /// Units whose stores in flight bring what their threads' order does not ask for, where someone asked for them here.
    tangled: OnceLock<Vec<Unit>>,
}

impl<'a> Tracker<'a> {
    /// The beginning of `log` under `model`.
    pub fn new(log: &'a Log, model: Persistency) -> Tracker<'a> {
        let mut pass = log.pass();
        Tracker {
            log,
            model,
            next: pass.next(),
            pass: Mutex::new(pass),
            at: 0,
            persisted: log.contents.clone(),
            in_flight: BTreeMap::new(),
            ended: vec![0; log.threads],
            marks: BTreeMap::new(),
            last_mark: None,
            last_store: None,
            limits: Limits::default(),
            sequence: 0,
            flushed: vec![Flushed::default(); log.threads],
            has_flushed: vec![false; log.threads],
            on_strands: vec![false; log.threads],
            epochs: Epochs::new(log.threads),
            durable: log.files.clone(),
            renamed: Vec::new(),
            changes: Vec::new(),
            tangled: OnceLock::new(),
        }
    }

    /// The index of the next event.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Whether everything has happened.
    pub(super) fn is_at_end(&self) -> bool {
        self.next.is_none()
    }

    /// The next event happens; false at the end.
    pub fn step(&mut self) -> bool {
        let Some(Happened { event, change }) = self.next.take() else { return false };
        // A lock that a panic broke holds a pass that is as good as before: nothing is done while it is held but reading.
        self.next = self.pass.get_mut().unwrap_or_else(PoisonError::into_inner).next();
        let index = self.at;
        self.at += 1;
        self.tangled.take();
        if self.at.is_multiple_of(1 << 12) {
            watch::check();
            self.forget_epochs();
        }
        if writes(event.kind) || matches!(event.kind, Kind::Written { .. }) {
            self.last_store = Some(event.site);
        }
        match event.kind {
            Kind::Ended => self.end(&event),
            Kind::Change => {
                self.changes.extend(change.map(|c| PendingChange { event: index, call: event, change: *c }));
            }
            Kind::Written { .. } => self.push(index, &event, KERNEL),
            Kind::Sync => {
                self.commit(self.changes.len());
                self.sync(event.address, event.address.saturating_add(event.value));
            }
            // Nothing at all where there are no strands.
            Kind::Fence(FenceKind::NewStrand) if self.model != Persistency::Strand => {}
            kind @ (Kind::Store
            | Kind::NonTemporal
            | Kind::Locked { .. }
            | Kind::Load
            | Kind::Synchronise(_)
            | Kind::Flush(_)
            | Kind::Fence(_)
            | Kind::Begins) => {
                if writes(kind) {
                    self.commit(self.needed_changes(event.address));
                }
                match self.model {
                    Persistency::Px86 | Persistency::Px86Line => self.step_x86(index, &event),
                    Persistency::Strand => self.step_strands(index, &event),
                    Persistency::Armv8 => self.step_arm(index, &event),
                    Persistency::Epoch | Persistency::Release => self.step_epochs(index, &event),
                    Persistency::OneSided => self.step_one_sided(index, &event),
                    Persistency::Strict => self.step_strict(index, &event),
                }
            }
        }
        true
    }

    fn end(&mut self, event: &Event) {
        self.ended[event.thread as usize] += 1;
        self.marks.insert(event.thread, event.value);
        self.last_mark = Some(event.value);
    }

    /// The last mark of each thread that has one.
    pub fn marks(&self) -> &BTreeMap<u16, u64> {
        &self.marks
    }

    /// The number of the last mark.
    pub fn last_mark(&self) -> Option<u64> {
        self.last_mark
    }

    /// Whether the next event makes something persisted that was in flight.
    pub fn settles_next(&self) -> bool {
        let Some(Happened { event, .. }) = &self.next else { return false };
        let thread = event.thread as usize;
        match event.kind {
            Kind::Sync => {
                let end = event.address.saturating_add(event.value);
                !self.changes.is_empty() || self.in_flight.range(event.address..end).next().is_some()
            }
            Kind::Fence(_) if self.model.needs_flushes() => !self.flushed[thread].is_empty(),
            Kind::Fence(_) | Kind::Locked { .. } if self.model == Persistency::Strict => {
                !self.in_flight.is_empty()
            }
            Kind::Locked { .. } if self.locked_fences() && !self.flushed[thread].is_empty() => true,
            Kind::Locked { .. } if self.waits_for_flushes(event.thread) => true,
            Kind::Flush(FlushKind::Clflush) if self.is_x86() => {
                self.line_units(event.address).any(|u| self.in_flight.contains_key(&u))
            }
            Kind::Fence(FenceKind::Dfence | FenceKind::Mfence) => !self.in_flight.is_empty(),
            Kind::Fence(FenceKind::Sfence) if self.log.sfence_settles => !self.in_flight.is_empty(),
            kind @ (Kind::Store
            | Kind::NonTemporal
            | Kind::Locked { .. }
            | Kind::Load
            | Kind::Synchronise(_)
            | Kind::Flush(_)
            | Kind::Fence(_)
            | Kind::Ended
            | Kind::Begins
            | Kind::Written { .. }
            | Kind::Change) => {
                writes(kind) && (self.model == Persistency::Strict || self.needed_changes(event.address) > 0)
            }
        }
    }

    /// Whether the next event ends an epoch of its thread. Without an event that settles anything, images only
    /// become more; but a search that is bounded finds more when it looks in between.
    pub(super) fn closes_next(&self) -> bool {
        let Some(Happened { event, .. }) = &self.next else { return false };
        self.model.orders_epochs()
            && self.epochs.wrote(event.thread)
            && (matches!(event.kind, Kind::Fence(_))
                || matches!(event.kind, Kind::Synchronise(order) if order.releases()))
    }

    /// The index of the file that an address is in.
    pub(super) fn file_at(&self, address: u64) -> Option<usize> {
        self.log.file_at(address)
    }

    /// The units of `bytes` bytes from `address` on.
    fn units(&self, address: u64, bytes: u64) -> impl Iterator<Item = Unit> + use<> {
        (self.unit(address)..address.saturating_add(bytes)).step_by(self.grain() as usize)
    }

    /// The units of the line of `address`.
    fn line_units(&self, address: u64) -> impl Iterator<Item = Unit> + use<> {
        self.units(address / 64 * 64, 64)
    }

    pub(super) fn grain(&self) -> u64 {
        if self.model.by_word() { 8 } else { 64 }
    }

    /// Whether a locked operation makes durable what its thread has flushed: on x86, and where a program of x86 is replayed
    /// with its fences, which names no strands.
    fn locked_fences(&self) -> bool {
        self.is_x86() || self.model == Persistency::Strand && self.log.sfence_settles
    }

    fn is_x86(&self) -> bool {
        matches!(self.model, Persistency::Px86 | Persistency::Px86Line)
    }

    fn push(&mut self, index: usize, event: &Event, epoch: u32) {
        self.sequence += 1;
        let sequence = self.sequence;
        for unit in self.units(event.address, event.size.into()) {
            let stores = self.in_flight.entry(unit).or_default();
            stores.push(InFlight { event: index, store: *event, epoch, sequence, grouped: None });
            self.limits.held += 1;
            if self.limits.are_many(stores.len()) {
                self.group(unit);
            }
        }
        if self.limits.is_full() {
            self.group_all();
        }
    }

    /// Stores of a unit that nothing tells apart are there or not together.
    fn group(&mut self, unit: Unit) {
        let Some(stores) = self.in_flight.get_mut(&unit) else { return };
        let flushes = self
            .flushed
            .iter()
            .flat_map(Flushed::iter)
            .filter(|(u, _)| *u == unit)
            .map(|(_, s)| *s)
            .collect();
        let cuts = self.changes.iter().filter(|c| c.change.cuts.is_some()).map(|c| c.event).collect();
        let by_epoch = self.model.orders_epochs() || self.model == Persistency::Armv8;
        self.limits.group(stores, &Apart { flushes, cuts, by_epoch });
    }

    fn forget_epochs(&mut self) {
        if !self.epochs.are_many() {
            return;
        }
        let mut oldest: Vec<u32> = (0..self.log.threads).map(|t| self.epochs.open(t as u16)).collect();
        for p in self.in_flight.values().flatten().filter(|p| p.epoch != KERNEL) {
            let oldest = &mut oldest[p.store.thread as usize];
            *oldest = (*oldest).min(p.epoch);
        }
        self.epochs.forget(&oldest);
    }

    fn group_all(&mut self) {
        self.limits.lower();
        let units = self.in_flight.iter().filter(|(_, s)| self.limits.are_too_many(s.len()));
        units.map(|(u, _)| *u).collect::<Vec<_>>().into_iter().for_each(|u| self.group(u));
        self.limits.make_room();
    }

    fn push_own(&mut self, index: usize, event: &Event) {
        self.push(index, event, self.epochs.open(event.thread));
    }

    fn step_x86(&mut self, index: usize, event: &Event) {
        let thread = event.thread as usize;
        match event.kind {
            Kind::Store => self.push_own(index, event),
            Kind::NonTemporal => {
                self.push_own(index, event);
                let sequence = self.sequence;
                let units: Vec<Unit> = self.units(event.address, event.size.into()).collect();
                units.into_iter().for_each(|u| self.flushed[thread].push(u, sequence));
            }
            Kind::Locked { wrote } => {
                self.fence(thread);
                if wrote {
                    self.push_own(index, event);
                }
            }
            Kind::Flush(kind) => {
                let sequence = self.sequence;
                for unit in self.line_units(event.address).collect::<Vec<_>>() {
                    if !self.in_flight.contains_key(&unit) {
                        continue;
                    }
                    if kind == FlushKind::Clflush {
                        self.settle(unit, |p| p.sequence <= sequence);
                    } else {
                        self.flushed[thread].push(unit, sequence);
                    }
                }
            }
            // An ofence is an sfence where there is nothing else.
            Kind::Fence(_) => self.fence(thread),
            Kind::Load
            | Kind::Synchronise(_)
            | Kind::Ended
            | Kind::Begins
            | Kind::Written { .. }
            | Kind::Sync
            | Kind::Change => {}
        }
    }

    /// As on x86 while a thread draws no strand. Between two joins with a strand, what is kept of one strand says nothing
    /// of the others: there, barriers make nothing persisted. Locked operations order nothing, but those of recorded programs.
    fn step_strands(&mut self, index: usize, event: &Event) {
        let thread = event.thread as usize;
        match event.kind {
            Kind::Locked { wrote } => {
                if self.locked_fences() {
                    self.fence(thread);
                }
                if wrote {
                    self.push_own(index, event);
                }
            }
            Kind::Fence(kind) if joins(kind) => {
                self.fence(thread);
                self.on_strands[thread] = false;
            }
            Kind::Fence(FenceKind::NewStrand) => self.on_strands[thread] = true,
            Kind::Fence(_) if self.is_between_strands(index, thread) => {}
            Kind::Store
            | Kind::NonTemporal
            | Kind::Load
            | Kind::Synchronise(_)
            | Kind::Flush(_)
            | Kind::Fence(_)
            | Kind::Ended
            | Kind::Begins
            | Kind::Written { .. }
            | Kind::Sync
            | Kind::Change => self.step_x86(index, event),
        }
    }

    /// Whether a thread draws a strand between the joins before and after an event.
    fn is_between_strands(&self, index: usize, thread: usize) -> bool {
        // Recorded programs draw no strands, and their events are not in memory.
        let later = self.log.events.get(index..).unwrap_or_default().iter();
        let later = later.filter(|e| usize::from(e.thread) == thread);
        let fences = later.filter_map(|e| if let Kind::Fence(kind) = e.kind { Some(kind) } else { None });
        let mut fences = fences.filter(|kind| joins(*kind) || *kind == FenceKind::NewStrand);
        self.on_strands[thread] || fences.next() == Some(FenceKind::NewStrand)
    }

    fn step_arm(&mut self, index: usize, event: &Event) {
        match event.kind {
            Kind::Flush(_) => {
                let sequence = self.sequence;
                let units: Vec<Unit> = self.line_units(event.address).collect();
                let flushed = &mut self.flushed[event.thread as usize];
                let in_flight = units.into_iter().filter(|u| self.in_flight.contains_key(u));
                in_flight.for_each(|u| flushed.push(u, sequence));
            }
            Kind::Fence(_) => {
                self.fence(event.thread as usize);
                self.epochs.close(event.thread);
            }
            // What barriers order is what they order under release persistency.
            Kind::Store
            | Kind::NonTemporal
            | Kind::Locked { .. }
            | Kind::Load
            | Kind::Synchronise(_)
            | Kind::Ended
            | Kind::Begins
            | Kind::Written { .. }
            | Kind::Sync
            | Kind::Change => {
                self.step_epochs(index, event);
                if matches!(event.kind, Kind::Locked { .. }) {
                    self.epochs.close(event.thread);
                }
            }
        }
    }

    fn fence(&mut self, thread: usize) {
        for (unit, sequence) in self.flushed[thread].take() {
            self.settle(unit, |p| p.sequence <= sequence);
        }
    }

    /// The oldest stores in flight of a unit are persisted, as long as `is_persisted` says so.
    fn settle(&mut self, unit: Unit, is_persisted: impl Fn(&InFlight) -> bool) {
        let Some(stores) = self.in_flight.get_mut(&unit) else { return };
        let count = stores.iter().take_while(|p| is_persisted(p)).count();
        self.limits.held -= count;
        for p in stores.drain(..count) {
            write(&mut self.persisted, unit, &p, self.model);
        }
        if stores.is_empty() {
            self.in_flight.remove(&unit);
        }
    }

    /// Whether a full fence or a locked operation of the thread waits as sfence does: a recorded program's does on x86, for
    /// what it flushed, and is replayed so.
    fn waits_for_flushes(&self, thread: u16) -> bool {
        self.log.sfence_settles && self.has_flushed[thread as usize]
    }

    /// Where a recorded program's full fence or locked operation waits for what was flushed.
    fn wait_for_flushes(&mut self, event: &Event) {
        let thread = event.thread;
        let full = matches!(event.kind, Kind::Locked { .. } | Kind::Fence(FenceKind::Mfence));
        if full && self.waits_for_flushes(thread) {
            let release = self.epochs.under_way(thread);
            self.drain(thread);
            // A locked operation that releases does so after what it waited for.
            if let Some(address) = release.filter(|_| matches!(event.kind, Kind::Locked { .. })) {
                self.epochs.release(thread, address);
            }
        }
        match event.kind {
            Kind::Flush(_) | Kind::NonTemporal => self.has_flushed[thread as usize] = true,
            Kind::Fence(_) | Kind::Locked { .. } => self.has_flushed[thread as usize] = false,
            Kind::Store
            | Kind::Load
            | Kind::Synchronise(_)
            | Kind::Ended
            | Kind::Begins
            | Kind::Sync
            | Kind::Written { .. }
            | Kind::Change => {}
        }
    }

    /// What is visible is durable, but for a non-temporal store: until a fence of its thread, or another store to its
    /// line, a write-combining buffer has it, which is no cache (Intel's manual, volume 1, 10.4.6.2).
    fn step_strict(&mut self, index: usize, event: &Event) {
        let thread = event.thread;
        if matches!(event.kind, Kind::Fence(_) | Kind::Locked { .. }) {
            for unit in self.in_flight.keys().copied().collect::<Vec<_>>() {
                self.settle_out_of_turn(unit, |p| p.epoch != KERNEL && p.store.thread == thread);
            }
        }
        if writes(event.kind) {
            self.push_own(index, event);
        }
        if writes(event.kind) && event.kind != Kind::NonTemporal {
            for unit in self.units(event.address, event.size.into()).collect::<Vec<_>>() {
                self.settle_out_of_turn(unit, |p| p.epoch != KERNEL);
            }
        }
    }

    /// A sync call: everything in a range is persisted, whoever stored it, and everything that it comes after.
    fn sync(&mut self, from: u64, to: u64) {
        let lines = from / 64 * 64..to;
        let inside: Vec<Unit> = self.in_flight.range(lines).map(|(u, _)| *u).collect();
        let mut persisted: BTreeMap<u16, u32> = BTreeMap::new();
        if self.model.orders_epochs() {
            for store in inside.iter().flat_map(|u| &self.in_flight[u]) {
                for (thread, epoch) in self.before(store) {
                    let e = persisted.entry(*thread).or_default();
                    *e = (*e).max(*epoch);
                }
            }
        }
        for unit in inside {
            self.settle(unit, |_| true);
        }
        if !persisted.is_empty() {
            let is_persisted = |p: &InFlight| persisted.get(&p.store.thread).is_some_and(|e| p.epoch <= *e);
            for unit in self.in_flight.keys().copied().collect::<Vec<_>>() {
                self.settle_out_of_turn(unit, is_persisted);
            }
        }
    }

    /// Stores in flight of a unit are persisted where `is_persisted` says so, and with each those before it that it overwrites.
    /// Another thread's store to other bytes of the line stays in flight: no dfence waits for it.
    fn settle_out_of_turn(&mut self, unit: Unit, is_persisted: impl Fn(&InFlight) -> bool) {
        let Some(stores) = self.in_flight.get_mut(&unit) else { return };
        let mut bytes = 0;
        let mut persisted: Vec<bool> = Vec::with_capacity(stores.len());
        for p in stores.iter().rev() {
            let mask = p.block().0;
            persisted.push(is_persisted(p) || mask & bytes != 0);
            bytes |= if persisted.last() == Some(&true) { mask } else { 0 };
        }
        let mut persisted = persisted.into_iter().rev();
        let (model, image, before) = (self.model, &mut self.persisted, stores.len());
        stores.retain(|p| {
            let stays = persisted.next() != Some(true);
            if !stays {
                write(image, unit, p, model);
            }
            stays
        });
        self.limits.held -= before - stores.len();
        if stores.is_empty() {
            self.in_flight.remove(&unit);
        }
    }

    /// How many of the changes in flight a mapped store makes durable: where its page is new, the file is there, with
    /// the room that the store goes to (`MAP_SYNC`: the fault of the first store). Later changes of the file's size
    /// are nothing to a page that is there already.
    fn needed_changes(&self, address: u64) -> usize {
        let Some(file) = self.log.file_at(address).filter(|_| !self.changes.is_empty()) else { return 0 };
        let state = &self.durable[file];
        let within = address - state.base;
        let (mut named, mut size) = (!state.names.is_empty(), state.size);
        let mut there = named && within < size;
        let mut needed = 0;
        for (at, PendingChange { change, .. }) in
            self.changes.iter().enumerate().filter(|(_, c)| c.change.file == file)
        {
            match &change.what {
                What::Size(bytes) => size = *bytes,
                What::AtLeast(bytes) => size = size.max(*bytes),
                What::Link(_) => named = true,
                What::Unlink(_) | What::Rename(..) => {}
            }
            there &= change.cuts.is_none_or(|(from, to)| !(from..to).contains(&address));
            if !there && named && within < size {
                (there, needed) = (true, at + 1);
            }
        }
        needed
    }

    /// The first so many changes in flight of files are durable.
    fn commit(&mut self, count: usize) {
        for PendingChange { event, change, .. } in self.changes.drain(..count) {
            change.apply(&mut self.durable);
            let cuts = change.cuts;
            if change.name().is_some() {
                self.renamed.push((event, change));
            }
            let Some((from, to)) = cuts else { continue };
            self.persisted.clear(from, to);
            let first = from / 64 * 64;
            for unit in self.in_flight.range(first..to).map(|(u, _)| *u).collect::<Vec<_>>() {
                let stores = self.in_flight.get_mut(&unit).expect("a unit in flight");
                let before = stores.len();
                // What was stored before and is not cut off stays.
                stores.retain_mut(|p| p.event > event || p.cut(from));
                self.limits.held -= before - stores.len();
                if stores.is_empty() {
                    self.in_flight.remove(&unit);
                }
            }
        }
    }

    /// Stores were taken in groups since the log began.
    pub(super) fn is_grouped(&self) -> bool {
        self.limits.grouped
    }

    /// What must be there when `store` is: the last epoch of each thread that comes before.
    pub(super) fn before(&self, store: &InFlight) -> &[(u16, u32)] {
        if store.epoch == KERNEL { &[] } else { self.epochs.before(store.store.thread, store.epoch) }
    }

    /// Stores in flight of a unit, or changes in flight of files.
    pub(super) fn count(&self, unit: Unit) -> usize {
        if unit == METADATA { self.changes.len() } else { self.stores(unit).len() }
    }

    /// Whether what is in flight of a unit does not stand at one place of the program; changes of files are told apart by more.
    pub(super) fn are_several(&self, unit: Unit) -> bool {
        let other = |pair: &[InFlight]| pair[0].store.site != pair[1].store.site;
        unit == METADATA || self.stores(unit).windows(2).any(other)
    }

    /// Stores in flight of a unit.
    pub(super) fn stores(&self, unit: Unit) -> &[InFlight] {
        self.in_flight.get(&unit).map_or(&[], Vec::as_slice)
    }

    /// The unit of an address.
    pub(super) fn unit(&self, address: u64) -> Unit {
        address / self.grain() * self.grain()
    }

    /// The word at `address` when these stores in flight of its unit are there. Recovery reads most of its words over and
    /// over: the youngest store that has a byte tells it, and those that have none are only looked at.
    pub(super) fn word(&self, address: u64, stores: &[InFlight]) -> u64 {
        let (unit, at) = (self.unit(address), offset_of(address).min(56));
        let mut open: Mask = 0xFF;
        let mut word = 0;
        for store in stores.iter().rev().filter(|store| store.may_change(at)) {
            let (mask, block) = self.block(unit, store);
            let new = mask >> at & open;
            word |= word_of(&block, at) & whole_bytes(new as u8);
            open &= !new;
            if open == 0 {
                return word;
            }
        }
        word | self.persisted.word(address) & whole_bytes(open as u8)
    }

    /// The model.
    pub(super) fn model(&self) -> Persistency {
        self.model
    }

    /// What a store in flight changes of a unit, within its line.
    pub(super) fn block(&self, unit: Unit, store: &InFlight) -> (Mask, protocol::Block) {
        store.block_in(unit, self.model)
    }

    /// The files when the first so many changes in flight are there.
    pub(super) fn files(&self, kept: usize) -> Vec<FileState> {
        let mut files = self.durable.clone();
        self.changes.iter().take(kept).for_each(|c| c.change.apply(&mut files));
        files
    }

    /// The whole image under a choice; units that it does not name keep all their stores in flight.
    pub fn candidate(&self, choice: &BTreeMap<Unit, usize>) -> Candidate<'_> {
        Candidate::new(self, choice)
    }
}

fn write(image: &mut Pages, unit: Unit, store: &InFlight, model: Persistency) {
    let (mask, block) = store.block_in(unit, model);
    image.write(line_of(store.store.address), &block, mask);
}

/// Whether a fence persists what every strand of its thread has flushed.
fn joins(kind: FenceKind) -> bool {
    matches!(kind, FenceKind::Dfence | FenceKind::Mfence | FenceKind::Sfence | FenceKind::JoinStrand)
}

/// Whether the program itself stores.
pub(super) fn writes(kind: Kind) -> bool {
    matches!(kind, Kind::Store | Kind::NonTemporal | Kind::Locked { wrote: true })
}
