//! What is sure to be persistent at a point of a log, and what is pending: the stores of each line (or word) that
//! a power failure may leave or lose, oldest first.

use super::candidate::{Candidate, FileState};
use super::log::{Event, Kind, Log, block_of};
use super::pages::Pages;
use protocol::{FenceKind, FlushKind, Line, Order, line_of, offset_of};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A persistency model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistency {
    /// x86: the stores of a line persist in order; flush and fence make sure.
    Px86Line,
    /// x86: each aligned word on its own.
    Px86,
    /// Armv8: each aligned word on its own, those of a line in the order that barriers give them; DC CVAP and DSB
    /// make sure. A flush is DC CVAP, a fence is DSB; a locked operation orders and makes nothing sure.
    Armv8,
    /// Epochs of a thread persist in order, and after those that they conflict with.
    Epoch,
    /// Epochs persist in order, and after those that they acquired from.
    Release,
    /// Every store persists when it becomes visible.
    Strict,
}

impl Persistency {
    /// All, by name.
    pub const ALL: [(&'static str, Persistency); 6] = [
        ("px86-line", Persistency::Px86Line),
        ("px86", Persistency::Px86),
        ("armv8", Persistency::Armv8),
        ("epoch", Persistency::Epoch),
        ("release", Persistency::Release),
        ("strict", Persistency::Strict),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, p)| *p == self).map_or("", |(n, _)| n)
    }

    /// Whether only a flush and a fence make a store sure.
    pub fn needs_flushes(self) -> bool {
        matches!(self, Persistency::Px86 | Persistency::Px86Line | Persistency::Armv8)
    }

    /// Whether each aligned word persists on its own; otherwise each line does.
    fn by_word(self) -> bool {
        matches!(self, Persistency::Px86 | Persistency::Armv8)
    }
}

/// What persists as a whole: a line, or an aligned word, by its first address.
pub type Unit = u64;

/// A store that may be lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// Its index in the log.
    pub(super) event: usize,
    thread: u16,
    epoch: u32,
    sequence: u64,
}

/// Where a log stands.
pub struct Tracker<'a> {
    log: &'a Log,
    model: Persistency,
    /// The next event.
    at: usize,
    /// Persistent whatever happens.
    pub(super) sure: Pages,
    pub(super) pending: BTreeMap<Unit, Vec<Pending>>,
    /// Operations ended by each thread.
    pub(super) ended: Vec<u64>,
    sequence: u64,
    /// For each thread: units flushed and not fenced, with the newest store that the flush covers.
    flushed: Vec<Vec<(Unit, u64)>>,
    epochs: Epochs,
}

/// Epochs of all threads and what each comes after.
#[derive(Clone, Debug, Default)]
struct Epochs {
    open: Vec<u32>,
    wrote: Vec<bool>,
    /// For each thread's epochs: the last epoch of each thread that comes before.
    before: Vec<Vec<Vec<u32>>>,
    /// Who wrote or released a line last.
    last: FxHashMap<u64, (u16, u32)>,
}

impl Epochs {
    fn new(threads: usize) -> Epochs {
        Epochs {
            open: vec![1; threads],
            wrote: vec![false; threads],
            before: vec![vec![vec![0; threads]; 2]; threads],
            last: FxHashMap::default(),
        }
    }

    fn close(&mut self, thread: usize) {
        if !self.wrote[thread] {
            return;
        }
        let old = self.open[thread];
        let mut before = self.before[thread][old as usize].clone();
        before[thread] = old;
        self.before[thread].push(before);
        self.open[thread] += 1;
        self.wrote[thread] = false;
    }

    /// `thread` comes after what another did last to `line`.
    fn after(&mut self, thread: usize, line: u64) {
        let Some((other, epoch)) = self.last.get(&line).copied() else { return };
        let other = other as usize;
        if other == thread {
            return;
        }
        if self.open[other] == epoch {
            self.wrote[other] = true;
            self.close(other);
        }
        self.close(thread);
        let source = self.before[other][epoch as usize].clone();
        let own = &mut self.before[thread][self.open[thread] as usize];
        own.iter_mut().zip(&source).for_each(|(a, b)| *a = (*a).max(*b));
        own[other] = own[other].max(epoch);
    }
}

impl<'a> Tracker<'a> {
    /// The beginning of `log` under `model`.
    pub fn new(log: &'a Log, model: Persistency) -> Tracker<'a> {
        Tracker {
            log,
            model,
            at: 0,
            sure: Pages::default(),
            pending: BTreeMap::new(),
            ended: vec![0; log.threads],
            sequence: 0,
            flushed: vec![Vec::new(); log.threads],
            epochs: Epochs::new(log.threads),
        }
    }

    /// The index of the next event.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The next event happens; false at the end.
    pub fn step(&mut self) -> bool {
        let Some(event) = self.log.events.get(self.at).copied() else { return false };
        let index = self.at;
        self.at += 1;
        if event.kind == Kind::Ended {
            self.ended[event.thread as usize] += 1;
        } else {
            match self.model {
                Persistency::Px86 | Persistency::Px86Line => self.step_x86(index, &event),
                Persistency::Armv8 => self.step_arm(index, &event),
                _ => self.step_epochs(index, &event),
            }
        }
        true
    }

    /// Whether the next event makes something sure that was pending.
    pub fn settles_next(&self) -> bool {
        let Some(event) = self.log.events.get(self.at) else { return false };
        let thread = event.thread as usize;
        match event.kind {
            Kind::Fence(_) if self.model.needs_flushes() => !self.flushed[thread].is_empty(),
            Kind::Locked { .. } if self.is_x86() => !self.flushed[thread].is_empty(),
            Kind::Flush(FlushKind::Clflush) if self.is_x86() => {
                self.line_units(event.address).any(|u| self.pending.contains_key(&u))
            }
            Kind::Fence(FenceKind::Dfence) => !self.pending.is_empty(),
            kind => self.model == Persistency::Strict && writes(kind),
        }
    }

    /// The units of `bytes` bytes from `address` on.
    fn units(&self, address: u64, bytes: u64) -> impl Iterator<Item = Unit> + use<> {
        (self.unit(address)..address + bytes).step_by(self.grain() as usize)
    }

    /// The units of the line of `address`.
    fn line_units(&self, address: u64) -> impl Iterator<Item = Unit> + use<> {
        self.units(address / 64 * 64, 64)
    }

    fn grain(&self) -> u64 {
        if self.model.by_word() { 8 } else { 64 }
    }

    fn is_x86(&self) -> bool {
        matches!(self.model, Persistency::Px86 | Persistency::Px86Line)
    }

    fn push(&mut self, index: usize, event: &Event) {
        self.sequence += 1;
        let thread = event.thread;
        let epoch = self.epochs.open[thread as usize];
        let pending = Pending { event: index, thread, epoch, sequence: self.sequence };
        for unit in self.units(event.address, event.size.into()) {
            self.pending.entry(unit).or_default().push(pending);
        }
    }

    fn step_x86(&mut self, index: usize, event: &Event) {
        let thread = event.thread as usize;
        match event.kind {
            Kind::Store => self.push(index, event),
            Kind::NonTemporal => {
                self.push(index, event);
                let sequence = self.sequence;
                let units: Vec<Unit> = self.units(event.address, event.size.into()).collect();
                self.flushed[thread].extend(units.into_iter().map(|u| (u, sequence)));
            }
            Kind::Locked { wrote } => {
                self.fence(thread);
                if wrote {
                    self.push(index, event);
                }
            }
            Kind::Flush(kind) => {
                let sequence = self.sequence;
                for unit in self.line_units(event.address).collect::<Vec<_>>() {
                    if !self.pending.contains_key(&unit) {
                        continue;
                    }
                    if kind == FlushKind::Clflush {
                        self.settle(unit, |p| p.sequence <= sequence);
                    } else {
                        self.flushed[thread].push((unit, sequence));
                    }
                }
            }
            // An ofence is an sfence where there is nothing else.
            Kind::Fence(_) => self.fence(thread),
            _ => {}
        }
    }

    fn step_arm(&mut self, index: usize, event: &Event) {
        let thread = event.thread as usize;
        match event.kind {
            Kind::Flush(_) => {
                let sequence = self.sequence;
                let units: Vec<Unit> = self.line_units(event.address).collect();
                let pending = units.into_iter().filter(|u| self.pending.contains_key(u));
                self.flushed[thread].extend(pending.map(|u| (u, sequence)));
            }
            Kind::Fence(_) => {
                self.fence(thread);
                self.epochs.close(thread);
            }
            // What barriers order is what they order under release persistency.
            _ => {
                self.step_epochs(index, event);
                if matches!(event.kind, Kind::Locked { .. }) {
                    self.epochs.close(thread);
                }
            }
        }
    }

    fn fence(&mut self, thread: usize) {
        for (unit, sequence) in std::mem::take(&mut self.flushed[thread]) {
            self.settle(unit, |p| p.sequence <= sequence);
        }
    }

    /// The oldest pending stores of a unit are sure, as long as `is_sure` says so.
    fn settle(&mut self, unit: Unit, is_sure: impl Fn(&Pending) -> bool) {
        let Some(stores) = self.pending.get_mut(&unit) else { return };
        let count = stores.iter().take_while(|p| is_sure(p)).count();
        for p in stores.drain(..count) {
            write(&mut self.sure, unit, &self.log.events[p.event], self.model);
        }
        if stores.is_empty() {
            self.pending.remove(&unit);
        }
    }

    fn step_epochs(&mut self, index: usize, event: &Event) {
        let thread = event.thread as usize;
        let line = event.address / 64;
        let acquires = |o: Order| o.acquires();
        match event.kind {
            Kind::Store | Kind::NonTemporal | Kind::Locked { wrote: true } => {
                let locked = matches!(event.kind, Kind::Locked { .. });
                if self.model == Persistency::Epoch || locked {
                    self.epochs.after(thread, line);
                }
                self.push(index, event);
                self.epochs.wrote[thread] = true;
                if self.model == Persistency::Epoch || locked {
                    self.epochs.last.insert(line, (event.thread, self.epochs.open[thread]));
                }
                if self.model == Persistency::Strict {
                    for unit in self.units(event.address, event.size.into()).collect::<Vec<_>>() {
                        self.settle(unit, |_| true);
                    }
                }
            }
            Kind::Load if self.model == Persistency::Epoch => self.epochs.after(thread, line),
            Kind::Synchronise(order) => {
                if acquires(order) {
                    self.epochs.after(thread, line);
                }
                if order.releases() {
                    self.epochs.close(thread);
                    self.epochs.wrote[thread] = true;
                    self.epochs.last.insert(line, (event.thread, self.epochs.open[thread]));
                }
            }
            Kind::Fence(FenceKind::Dfence | FenceKind::Mfence) => self.drain(thread),
            Kind::Fence(_) => self.epochs.close(thread),
            _ => {}
        }
    }

    /// A dfence: everything of this thread so far is sure, and everything that it comes after.
    fn drain(&mut self, thread: usize) {
        let mut sure = self.epochs.before[thread][self.epochs.open[thread] as usize].clone();
        sure[thread] = self.epochs.open[thread];
        self.epochs.close(thread);
        for unit in self.pending.keys().copied().collect::<Vec<_>>() {
            self.settle_out_of_turn(unit, |p| p.epoch <= sure[p.thread as usize]);
        }
    }

    /// Pending stores of a unit are sure where `is_sure` says so, and with each those before it that it overwrites.
    /// Another thread's store to other bytes of the line stays pending: no dfence waits for it.
    fn settle_out_of_turn(&mut self, unit: Unit, is_sure: impl Fn(&Pending) -> bool) {
        let Some(stores) = self.pending.get_mut(&unit) else { return };
        let mut bytes = 0;
        let mut sure: Vec<bool> = Vec::with_capacity(stores.len());
        for p in stores.iter().rev() {
            let mask = block_of(&self.log.events[p.event]).0;
            sure.push(is_sure(p) || mask & bytes != 0);
            bytes |= if sure.last() == Some(&true) { mask } else { 0 };
        }
        let mut sure = sure.into_iter().rev();
        let (log, model, image) = (self.log, self.model, &mut self.sure);
        stores.retain(|p| {
            let stays = sure.next() != Some(true);
            if !stays {
                write(image, unit, &log.events[p.event], model);
            }
            stays
        });
        if stores.is_empty() {
            self.pending.remove(&unit);
        }
    }

    /// What must be there when `store` is: the last epoch of each thread that comes before.
    pub(super) fn before(&self, store: &Pending) -> &[u32] {
        &self.epochs.before[store.thread as usize][store.epoch as usize]
    }

    /// Whether a choice (so many of each unit's pending stores) is one that the model allows: nothing that is there
    /// comes after anything that is not.
    pub(super) fn allows(&self, choice: &BTreeMap<Unit, usize>) -> bool {
        match self.model {
            Persistency::Px86 | Persistency::Px86Line | Persistency::Strict => true,
            Persistency::Epoch | Persistency::Release => self.is_closed(choice.iter()),
            // Order on the way to memory holds within a line alone.
            Persistency::Armv8 => {
                let mut lines: Vec<u64> = choice.keys().map(|unit| unit / 64).collect();
                lines.dedup();
                lines.into_iter().all(|line| self.is_closed(choice.range(line * 64..(line + 1) * 64)))
            }
        }
    }

    /// Whether what these choices keep comes after nothing that they lose.
    fn is_closed<'c>(&self, choice: impl Iterator<Item = (&'c Unit, &'c usize)> + Clone) -> bool {
        let mut needed = vec![0; self.log.threads];
        for (unit, kept) in choice.clone() {
            for store in self.pending.get(unit).into_iter().flatten().take(*kept) {
                needed.iter_mut().zip(self.before(store)).for_each(|(n, b)| *n = (*n).max(*b));
            }
        }
        let mut choice = choice;
        choice.all(|(unit, kept)| {
            let lost = self.pending.get(unit).into_iter().flatten().skip(*kept);
            lost.into_iter().all(|s| s.epoch > needed[s.thread as usize])
        })
    }

    /// The unit of an address.
    pub(super) fn unit(&self, address: u64) -> Unit {
        address / self.grain() * self.grain()
    }

    /// The word at `address` when the first `kept` pending stores of its unit are there.
    pub(super) fn word(&self, address: u64, kept: usize) -> u64 {
        let unit = self.unit(address);
        let mut bytes: [u8; 8] = self.sure_word(address).to_le_bytes();
        for p in self.pending.get(&unit).into_iter().flatten().take(kept) {
            let event = &self.log.events[p.event];
            for (i, byte) in event.value.to_le_bytes().iter().take(event.size.into()).enumerate() {
                let at = event.address + i as u64;
                if (address..address + 8).contains(&at) {
                    bytes[(at - address) as usize] = *byte;
                }
            }
        }
        u64::from_le_bytes(bytes)
    }

    fn sure_word(&self, address: u64) -> u64 {
        let (block, at) = (self.sure.read(line_of(address)), offset_of(address));
        u64::from_le_bytes(block[at..at + 8].try_into().expect("a word of a line"))
    }

    /// The log that it goes through.
    pub(super) fn log(&self) -> &'a Log {
        self.log
    }

    /// Writes what a pending store changes of a unit.
    pub(super) fn write(&self, pages: &mut Pages, unit: Unit, store: &Pending) {
        write(pages, unit, &self.log.events[store.event], self.model);
    }

    /// The files under a choice.
    pub(super) fn files(&self, _choice: &BTreeMap<Unit, usize>) -> Vec<FileState> {
        Vec::new()
    }

    /// The whole image under a choice; units that it does not name keep all their pending stores.
    pub fn candidate(&self, choice: &BTreeMap<Unit, usize>) -> Candidate<'_> {
        Candidate::new(self, choice)
    }
}

fn write(image: &mut Pages, unit: Unit, event: &Event, model: Persistency) {
    let (mut mask, block) = block_of(event);
    if model.by_word() {
        mask &= 0xFF << (unit % 64);
    }
    let line: Line = line_of(event.address);
    image.write(line, &block, mask);
}

fn writes(kind: Kind) -> bool {
    matches!(kind, Kind::Store | Kind::NonTemporal | Kind::Locked { wrote: true })
}
