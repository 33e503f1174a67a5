//! What must hold of Echo's master store after a power failure.

use super::{BUCKETS, CAPACITY, COUNT, LOG, Requests};
use crate::recovery::{Crashed, Persistent, filled_with, is_place};
use protocol::PM_BASE;
use std::collections::{BTreeMap, BTreeSet};

/// A put, as a version tells of it.
struct Put {
    hash: u64,
    number: u64,
    value: u64,
    record: u64,
}

/// The master store as the failure left it.
struct Left<'a> {
    memory: &'a mut dyn Persistent,
    /// Where the buckets begin.
    buckets: u64,
    /// Where what the threads made begins: what lies before was there at the start.
    arenas: u64,
    /// No list is longer, or it goes in a circle.
    limit: u64,
}

impl Left<'_> {
    fn place(&mut self, at: u64, what: &str) -> Result<u64, String> {
        let place = self.memory.word(at);
        if is_place(place) {
            Ok(place)
        } else {
            Err(format!("{what} at {at:#x} leads to {place:#x}, which is no object"))
        }
    }

    /// What the places of a vector lead to.
    fn vector(&mut self, vector: u64, what: &str) -> Result<Vec<u64>, String> {
        let (count, capacity) = (self.memory.word(vector + COUNT), self.memory.word(vector + CAPACITY));
        if count > capacity || count > self.limit {
            return Err(format!("{what} at {vector:#x} has {count} of {capacity} places taken"));
        }
        if count == 0 {
            return Ok(Vec::new());
        }
        let places = self.place(vector, what)?;
        (0..count).map(|n| self.place(places + n * 8, what)).collect()
    }

    /// The records in the log: each is whole, with the one pair that it was made of.
    fn records(&mut self) -> Result<BTreeSet<u64>, String> {
        let count = self.memory.word(PM_BASE);
        if count > self.limit {
            return Err(format!("the log has {count} records, more than there were puts"));
        }
        let mut records = BTreeSet::new();
        for n in 0..count {
            let record = self.place(LOG + n * 8, "the log")?;
            let pairs = self.place(record, "a record")?;
            if self.vector(pairs, "the pairs of a record")?.len() != 1 || !records.insert(record) {
                return Err(format!("record {n} of the log, at {record:#x}, is not whole"));
            }
        }
        Ok(records)
    }

    /// The versions that threads made, by their addresses.
    fn versions(&mut self) -> Result<BTreeMap<u64, Put>, String> {
        let mut versions = BTreeMap::new();
        for bucket in 0..BUCKETS {
            let mut link = self.buckets + bucket * 64;
            let mut entries = 0;
            while self.memory.word(link) != 0 {
                let entry = self.place(link, "a bucket")?;
                let hash = self.memory.word(entry);
                entries += 1;
                if hash % BUCKETS != bucket || entries > self.limit {
                    return Err(format!("bucket {bucket} leads to {entry:#x}, which is no entry of it"));
                }
                self.add_versions(entry, hash, &mut versions)?;
                link = entry + 8;
            }
        }
        Ok(versions)
    }

    fn add_versions(&mut self, entry: u64, hash: u64, to: &mut BTreeMap<u64, Put>) -> Result<(), String> {
        let table = self.place(entry + 16, "an entry")?;
        let vector = self.place(table, "a table")?;
        for version in self.vector(vector, "the versions of a key")? {
            if version < self.arenas {
                continue;
            }
            let [value, record, number] = [0, 24, 32].map(|at| self.memory.word(version + at));
            if to.insert(version, Put { hash, number, value, record }).is_some() {
                return Err(format!("two keys have the version at {version:#x}"));
            }
        }
        Ok(())
    }
}

/// Every version is whole, of a record in the log, and was put by its thread under its key; every committed put is there.
pub(super) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let number = |key: &str| crashed.settings.number(key);
    let (total, size) = (number("workload.operations"), number("workload.value_size"));
    let buckets = (LOG + total * 8).next_multiple_of(64);
    // Keys of the start, and a put for each operation.
    let limit = number("workload.keys") + total;
    let mut left = Left { memory, buckets, arenas: crashed.arena(0), limit };
    let records = left.records()?;
    let mut versions = left.versions()?;
    for thread in 0..crashed.threads() {
        // Every arena is as large as the first.
        let later = versions.split_off(&crashed.arena(thread + 1));
        let mut puts = BTreeMap::new();
        for (at, put) in std::mem::replace(&mut versions, later) {
            let n = put.number;
            if !is_place(put.value) || filled_with(memory, put.value, size) != Some(n as u8) {
                return Err(format!("version {n} of thread {thread} at {at:#x} is not whole"));
            }
            if !records.contains(&put.record) {
                return Err(format!(
                    "version {n} of thread {thread} at {at:#x} was merged before it was logged"
                ));
            }
            if puts.insert(n, put.hash).is_some() {
                return Err(format!("version {n} of thread {thread} is there twice"));
            }
        }
        check_thread(crashed, thread, puts)?;
    }
    Ok(())
}

/// What a thread's versions must be, by what it had begun.
fn check_thread(crashed: &Crashed<'_>, thread: usize, mut puts: BTreeMap<u64, u64>) -> Result<(), String> {
    let mut requests = Requests::new(crashed.settings, thread, crashed.random(thread));
    let share = crashed.share(crashed.settings.number("workload.operations"), thread).1;
    for (n, persisted) in crashed.begun(share, thread) {
        let request = requests.next();
        if !request.puts {
            continue;
        }
        match puts.remove(&n) {
            None if persisted => {
                return Err(format!("put {n} of thread {thread} was committed and is missing"));
            }
            Some(hash) if hash != request.hash => {
                return Err(format!("put {n} of thread {thread} is under the wrong key"));
            }
            _ => {}
        }
    }
    match puts.keys().next() {
        Some(n) => Err(format!("version {n} of thread {thread} is there and was never put")),
        None => Ok(()),
    }
}
