//! What a thread's own pass over a recording needs to know of the others: what is mapped where, and whose turn it is.

use crate::record::Record;
use crate::recording::{InOrder, Recording, maps};
use crate::scan::Counts;
use crate::space::Space;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// The file space as one thread sees it while it goes through its records.
pub struct Places {
    counts: Arc<Counts>,
    space: Space,
    next: usize,
}

impl Places {
    /// Before the thread's first record.
    pub fn new(recording: &Recording) -> Places {
        Places { counts: recording.shared_counts(), space: Space::new(), next: 0 }
    }

    /// Follows the thread's next record: what all threads mapped before its place in the order of stamps is there.
    #[inline]
    pub fn follow(&mut self, r: &Record) {
        if r.kind.has_stamp() {
            self.advance(r);
        }
    }

    fn advance(&mut self, r: &Record) {
        while let Some(change) = self.counts.changes.get(self.next) {
            let before = (change.record.stamp, change.record.thread) < (r.stamp, r.thread);
            let same = maps(r.kind) && change.record == *r;
            if !before && !same {
                return;
            }
            self.space.apply(&change.record, change.operand);
            self.next += 1;
            if same {
                return;
            }
        }
    }

    /// The address in the file space of a byte; none where it is of no file.
    #[inline]
    pub fn place(&self, address: u64) -> Option<u64> {
        self.space.place(address)
    }
}

/// The turns of records at what they synchronise on: the k-th of all threads' records with one key has turn k. Threads
/// may ask at different paces; what is kept is the turns between the slowest and the fastest.
pub struct Turns<F> {
    all: InOrder,
    key: F,
    waiting: Vec<VecDeque<(u64, u64)>>,
    counts: FxHashMap<u64, u64>,
}

impl<F: FnMut(&Record) -> Option<u64>> Turns<F> {
    /// `key` says what a record synchronises on, none for most; it sees all records in order.
    pub fn new(recording: &Recording, key: F) -> Turns<F> {
        let waiting = (0..recording.threads()).map(|_| VecDeque::new()).collect();
        Turns { all: recording.in_order(), key, waiting, counts: FxHashMap::default() }
    }

    /// Key and turn, from 0, of the thread's next record that has a key.
    pub fn next(&mut self, thread: usize) -> Option<(u64, u64)> {
        loop {
            if let Some(turn) = self.waiting.get_mut(thread)?.pop_front() {
                return Some(turn);
            }
            let record = self.all.next()?;
            if let Some(key) = (self.key)(&record) {
                let count = self.counts.entry(key).or_default();
                self.waiting[record.thread as usize].push_back((key, *count));
                *count += 1;
            }
        }
    }
}
