//! The first pass over a recording: checks each record and counts what it did, in bounded memory.

use crate::about::About;
use crate::error::TraceError;
use crate::record::{Call, KINDS, Kind, Record};
use crate::space::{Extents, Reached, Sizes, Space, file_of};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// No process has more address space.
const ADDRESSES: u64 = 1 << 47;

/// What was done to one file, or to memory without a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCounts {
    /// Loads from its mappings.
    pub loads: u64,
    /// Stores to its mappings, locked operations among them.
    pub stores: u64,
    /// Flushes of its lines.
    pub flushes: u64,
    /// Bytes that calls wrote.
    pub written: u64,
    /// msync with `MS_SYNC`, fdatasync and fsync.
    pub syncs: u64,
    /// Bytes that code without hooks changed.
    pub observed: u64,
    /// Times that it was mapped, or declared.
    pub maps: u64,
    /// Calls of any kind.
    pub calls: u64,
}

/// How often something that is not modelled was met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnseenCounts {
    /// Times.
    pub times: u64,
    /// Bytes that it touched.
    pub bytes: u64,
    /// Times by code offset.
    pub locations: BTreeMap<u32, u64>,
    /// Times by file; under none where it was no file's memory.
    pub files: BTreeMap<Option<u32>, u64>,
}

/// A change of what is mapped, with the operand that belongs to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) record: Record,
    pub(crate) operand: Option<u64>,
}

/// What a recording has, counted.
pub struct Counts {
    /// Records by thread.
    pub threads: Vec<u64>,
    /// Whether another thread created it, by thread.
    pub created: Vec<bool>,
    /// Instructions that were counted.
    pub instructions: u64,
    /// Words of eight bytes that acquires, releases and locked operations met.
    pub synchronised: u64,
    /// Ranges that were mapped: first address and length.
    pub ranges: Vec<(u64, u64)>,
    /// Code offsets.
    pub locations: Vec<u32>,
    /// By number of file.
    pub files: BTreeMap<u32, FileCounts>,
    /// Calls that touch files.
    pub calls: BTreeMap<Call, u64>,
    /// By number of its text.
    pub unseen: BTreeMap<u64, UnseenCounts>,
    /// How far each file reaches.
    pub extents: Extents,
    /// The size of each file at the end.
    pub sizes: Sizes,
    pub(crate) changes: Vec<Change>,
    kinds: [u64; KINDS.len()],
}

impl Counts {
    /// How many records are of this kind.
    pub fn kind(&self, kind: Kind) -> u64 {
        self.kinds[kind as usize]
    }

    /// Kinds that there are, and how many records of each.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, u64)> {
        KINDS.into_iter().map(|k| (k, self.kind(k))).filter(|(_, n)| *n > 0)
    }

    /// Whether something was ever made durable: a flush, a store past the caches, a fence, a locked operation, or a
    /// sync of a file. A program with persistent memory and none of these promises nothing.
    pub fn makes_durable(&self) -> bool {
        makes_durable(|kind| self.kind(kind), &self.calls)
    }
}

pub(crate) fn makes_durable(records: impl Fn(Kind) -> u64, calls: &BTreeMap<Call, u64>) -> bool {
    use Kind::{Clflush, Clflushopt, Clwb, Mfence, Sfence, StoreNonTemporal};
    let synced = [Call::Msync, Call::Fdatasync, Call::Fsync, Call::Sync];
    [Clwb, Clflushopt, Clflush, Sfence, Mfence, StoreNonTemporal].into_iter().any(|k| records(k) > 0)
        || synced.iter().any(|c| calls.contains_key(c))
}

/// The pass.
pub(crate) struct Scan {
    counts: Counts,
    reached: Reached,
    files: Vec<(u32, FileCounts)>,
    /// Where a number is among them.
    places: FxHashMap<u32, usize>,
    /// Index of the file that was met last.
    last: usize,
    locations: FxHashSet<u32>,
    last_location: u32,
    words: FxHashSet<u64>,
    ranges: FxHashMap<(u64, u64), ()>,
    /// Whether another thread has waited for its end, by thread.
    joined: Vec<bool>,
    /// The thread that created it, by thread.
    creator: Vec<Option<u16>>,
}

impl Scan {
    pub(crate) fn new(about: &About, threads: usize) -> Scan {
        let counts = Counts {
            threads: vec![0; threads],
            created: vec![false; threads],
            instructions: 0,
            synchronised: 0,
            ranges: Vec::new(),
            locations: Vec::new(),
            files: BTreeMap::new(),
            calls: BTreeMap::new(),
            unseen: BTreeMap::new(),
            extents: Extents::default(),
            sizes: Sizes::default(),
            changes: Vec::new(),
            kinds: [0; KINDS.len()],
        };
        Scan {
            counts,
            reached: Reached::new(about),
            files: Vec::new(),
            places: FxHashMap::default(),
            last: 0,
            locations: FxHashSet::default(),
            last_location: 0,
            words: FxHashSet::default(),
            ranges: FxHashMap::default(),
            joined: vec![false; threads],
            creator: vec![None; threads],
        }
    }

    /// The next record in order.
    pub(crate) fn follow(&mut self, r: &Record) -> Result<(), TraceError> {
        if self.joined[r.thread as usize] {
            return Err(senseless(r, "comes after another thread waited for its thread's end"));
        }
        let counts = &mut self.counts;
        counts.threads[r.thread as usize] += 1;
        counts.kinds[r.kind as usize] += 1;
        counts.instructions += u64::from(r.instructions);
        if r.location != self.last_location {
            self.last_location = r.location;
            self.locations.insert(r.location);
        }
        // What an unmapping takes away is there before it only.
        let changed = matches!(r.kind, Kind::Unmap) && !self.space().pieces(r.address, r.value).is_empty();
        let operand = self.reached.follow(r);
        match r.kind {
            Kind::Map | Kind::Unmap => self.mapping(r, operand, changed)?,
            Kind::Call => self.call(r)?,
            Kind::Unseen => self.unseen(r, operand),
            Kind::Create => self.create(r)?,
            Kind::Join => self.join(r)?,
            Kind::LoadAcquire | Kind::StoreRelease | Kind::Rmw | Kind::Lock | Kind::Unlock => {
                self.words.insert(r.address & !7);
                self.access(r)?;
            }
            Kind::Load
            | Kind::Store
            | Kind::StoreNonTemporal
            | Kind::Clwb
            | Kind::Clflushopt
            | Kind::Clflush
            | Kind::Sfence
            | Kind::Mfence
            | Kind::Start
            | Kind::End
            | Kind::Mark
            | Kind::Operand
            | Kind::Written
            | Kind::Observed
            | Kind::Contents
            | Kind::Order
            | Kind::Turn
            | Kind::Region => self.access(r)?,
        }
        Ok(())
    }

    fn space(&self) -> &Space {
        self.reached.space()
    }

    fn access(&mut self, r: &Record) -> Result<(), TraceError> {
        if !r.kind.has_place() {
            return Ok(());
        }
        let place = self.space().place(r.address).and_then(file_of);
        let Some((number, _)) = place else {
            if matches!(r.kind, Kind::Written | Kind::Contents) {
                return Err(senseless(r, "is of no file"));
            }
            return Ok(());
        };
        let size = u64::from(r.size);
        let file = self.file(number);
        file.loads += u64::from(r.kind.is_load());
        file.stores += u64::from(r.kind.is_store());
        file.flushes += u64::from(r.kind.is_flush());
        if r.kind == Kind::Written {
            file.written += size;
        } else if r.kind == Kind::Observed {
            file.observed += size;
        }
        Ok(())
    }

    #[inline]
    fn file(&mut self, number: u32) -> &mut FileCounts {
        if self.files.get(self.last).is_none_or(|(n, _)| *n != number) {
            let next = self.files.len();
            self.last = *self.places.entry(number).or_insert(next);
            if self.last == next {
                self.files.push((number, FileCounts::default()));
            }
        }
        &mut self.files[self.last].1
    }

    fn mapping(&mut self, r: &Record, operand: Option<u64>, changed: bool) -> Result<(), TraceError> {
        if r.value > ADDRESSES || r.address > ADDRESSES {
            return Err(senseless(r, &format!("is of {} bytes", r.value)));
        }
        if r.kind == Kind::Unmap && !changed {
            return Ok(());
        }
        self.counts.changes.push(Change { record: *r, operand });
        if r.kind == Kind::Map {
            if operand.is_some_and(|o| file_of(o).is_none()) {
                return Err(senseless(r, "is of no file"));
            }
            if r.value > 0 {
                self.ranges.insert((r.address, r.value), ());
            }
            for (place, _) in self.space().pieces(r.address, r.value) {
                file_of(place).into_iter().for_each(|(number, _)| self.file(number).maps += 1);
            }
            if self.space().is_full() {
                return Err(senseless(r, "is one more than can be told apart"));
            }
        }
        Ok(())
    }

    fn call(&mut self, r: &Record) -> Result<(), TraceError> {
        let Some(call) = Call::from_number(r.value as u8) else {
            return Err(senseless(r, &format!("has the unknown number {}", r.value as u8)));
        };
        *self.counts.calls.entry(call).or_default() += 1;
        if let Some((number, _)) = file_of(r.address) {
            let file = self.file(number);
            file.calls += 1;
            file.syncs += u64::from(matches!(call, Call::Msync | Call::Fdatasync | Call::Fsync));
        }
        Ok(())
    }

    /// A thread that created itself, or its creator, would wait for ever.
    fn create(&mut self, r: &Record) -> Result<(), TraceError> {
        let Some(thread) = usize::try_from(r.value).ok().filter(|t| *t < self.creator.len()) else {
            return Ok(());
        };
        let mut above = Some(r.thread);
        while let Some(ancestor) = above {
            if usize::from(ancestor) == thread {
                return Err(senseless(r, "creates the thread that it comes from"));
            }
            above = self.creator[ancestor as usize];
        }
        if !self.counts.created[thread] {
            (self.counts.created[thread], self.creator[thread]) = (true, Some(r.thread));
        }
        Ok(())
    }

    fn join(&mut self, r: &Record) -> Result<(), TraceError> {
        if r.value == u64::from(r.thread) {
            return Err(senseless(r, "waits for its own end"));
        }
        let joined = usize::try_from(r.value).ok().and_then(|t| self.joined.get_mut(t));
        joined.into_iter().for_each(|j| *j = true);
        Ok(())
    }

    fn unseen(&mut self, r: &Record, bytes: Option<u64>) {
        let file = self.space().place(r.address).and_then(file_of).map(|(number, _)| number);
        let entry = self.counts.unseen.entry(r.value).or_default();
        entry.times += 1;
        entry.bytes = entry.bytes.saturating_add(bytes.unwrap_or(0));
        *entry.locations.entry(r.location).or_default() += 1;
        *entry.files.entry(file).or_default() += 1;
    }

    pub(crate) fn finish(self) -> Counts {
        let mut counts = self.counts;
        counts.sizes = self.reached.sizes().clone();
        counts.extents = self.reached.into_extents();
        counts.files = self.files.into_iter().collect();
        counts.synchronised = self.words.len() as u64;
        self.locations.into_iter().for_each(|l| counts.locations.push(l));
        counts.locations.retain(|l| *l != 0);
        counts.locations.sort_unstable();
        self.ranges.into_keys().for_each(|r| counts.ranges.push(r));
        counts.ranges.sort_unstable();
        counts
    }
}

/// A record that no program can have made.
pub(crate) fn senseless(r: &Record, what: &str) -> TraceError {
    let (kind, thread) = (r.kind.name(), r.thread);
    TraceError::unfit(format!(
        "a record makes no sense: {kind} at {:#x} of thread {thread} {what}",
        r.address
    ))
}
