//! What a trace holds.

use std::collections::BTreeMap;

/// What a thread did. The numbers are part of the file formats and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Loaded.
    Load = 0,
    /// Stored `value`.
    Store = 1,
    /// Stored `value` past the caches.
    StoreNonTemporal = 2,
    /// Loaded with acquire order or stronger.
    LoadAcquire = 3,
    /// Stored `value` with release order or stronger.
    StoreRelease = 4,
    /// Atomic read-modify-write that left `value`.
    Rmw = 5,
    /// Flushed a line.
    Clwb = 6,
    /// Flushed and invalidated a line.
    Clflushopt = 7,
    /// Flushed and invalidated a line, ordered.
    Clflush = 8,
    /// Store fence.
    Sfence = 9,
    /// Full fence.
    Mfence = 10,
    /// Took the lock at `address`.
    Lock = 11,
    /// Gave the lock at `address` back.
    Unlock = 12,
    /// Started thread `value`.
    Create = 13,
    /// Waited for the end of thread `value`.
    Join = 14,
    /// Mapped `value` bytes of persistent memory at `address`.
    Map = 15,
    /// Unmapped `value` bytes at `address`.
    Unmap = 16,
    /// The thread's first record.
    Start = 17,
    /// The thread's last record.
    End = 18,
    /// A mark of the program, `value` its number.
    Mark = 19,
}

/// All kinds, by number.
pub(crate) const KINDS: [Kind; 20] = [
    Kind::Load,
    Kind::Store,
    Kind::StoreNonTemporal,
    Kind::LoadAcquire,
    Kind::StoreRelease,
    Kind::Rmw,
    Kind::Clwb,
    Kind::Clflushopt,
    Kind::Clflush,
    Kind::Sfence,
    Kind::Mfence,
    Kind::Lock,
    Kind::Unlock,
    Kind::Create,
    Kind::Join,
    Kind::Map,
    Kind::Unmap,
    Kind::Start,
    Kind::End,
    Kind::Mark,
];

impl Kind {
    /// The kind with this number.
    pub fn from_number(n: u8) -> Option<Kind> {
        KINDS.get(n as usize).copied()
    }

    /// Whether `value` means something.
    pub fn has_value(self) -> bool {
        use Kind::{Create, Join, Map, Mark, Rmw, Store, StoreNonTemporal, StoreRelease, Unmap};
        matches!(self, Store | StoreNonTemporal | StoreRelease | Rmw | Create | Join | Map | Unmap | Mark)
    }

    /// Whether `stamp` orders the record among those of other threads.
    pub fn has_stamp(self) -> bool {
        use Kind::{Create, Join, LoadAcquire, Lock, Rmw, StoreRelease, Unlock};
        matches!(self, LoadAcquire | StoreRelease | Rmw | Lock | Unlock | Create | Join)
    }

    /// The name shown to people and stored nowhere.
    pub fn name(self) -> &'static str {
        [
            "load",
            "store",
            "store-nt",
            "load-acquire",
            "store-release",
            "rmw",
            "clwb",
            "clflushopt",
            "clflush",
            "sfence",
            "mfence",
            "lock",
            "unlock",
            "create",
            "join",
            "map",
            "unmap",
            "start",
            "end",
            "mark",
        ][self as usize]
    }
}

/// One thing that a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Address in the recorded program.
    pub address: u64,
    /// See [`Kind`]; 0 where the kind has none.
    pub value: u64,
    /// Place in the order of synchronisation over all threads; 0 where the kind has none.
    pub stamp: u32,
    /// Offset of the code that did it from the start of the program; 0 when unknown.
    pub location: u32,
    /// Thread, dense from 0.
    pub thread: u16,
    /// What was done.
    pub kind: Kind,
    /// Bytes of a load or store: 1, 2, 4 or 8.
    pub size: u8,
}

/// A recorded program: each thread's records in program order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Records by thread.
    pub threads: Vec<Vec<Record>>,
    /// Source places by code offset.
    pub locations: BTreeMap<u32, String>,
    /// Where the trace comes from: the command, or the imported tool and file.
    pub source: String,
    /// What the trace lacks, in words; empty when nothing.
    pub lacks: String,
}

impl Trace {
    /// Appends a record to its thread.
    pub fn push(&mut self, record: Record) {
        let thread = record.thread as usize;
        if thread >= self.threads.len() {
            self.threads.resize(thread + 1, Vec::new());
        }
        self.threads[thread].push(record);
    }

    /// All records in one order: a thread goes on until its next record has a place in the order of synchronisation,
    /// and these come in that order.
    pub fn in_order(&self) -> impl Iterator<Item = &Record> {
        let mut at = vec![0; self.threads.len()];
        std::iter::from_fn(move || {
            let place = |t: &usize| {
                let next = self.threads[*t].get(at[*t])?;
                Some((if next.kind.has_stamp() { u64::from(next.stamp) + 1 } else { 0 }, *t))
            };
            let (_, thread) = (0..at.len()).filter_map(|t| place(&t)).min()?;
            at[thread] += 1;
            self.threads[thread].get(at[thread] - 1)
        })
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.threads.iter().map(Vec::len).sum()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All records, thread after thread.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.threads.iter().flatten()
    }

    /// Ranges of persistent memory that were mapped: first address and length.
    pub fn pm_ranges(&self) -> Vec<(u64, u64)> {
        let maps = self.records().filter(|r| r.kind == Kind::Map && r.value > 0);
        let mut ranges: Vec<(u64, u64)> = maps.map(|r| (r.address, r.value)).collect();
        ranges.sort_unstable();
        ranges.dedup();
        ranges
    }
}
