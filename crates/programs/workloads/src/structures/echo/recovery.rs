//! What must hold of Echo's master store after a power failure.

use super::{BUCKETS, CAPACITY, COMMITTED, COUNT, LOG, MERGED, Places, RECORD_STATE, Requests, SMALL, WHOLE};
use crate::recovery::{Crashed, Persistent, filled_with, is_place};
use protocol::PM_BASE;
use std::collections::BTreeMap;

/// A put, as its record tells of it.
#[derive(Clone, Copy, Debug)]
struct Put {
    hash: u64,
    number: u64,
    value: u64,
    state: u64,
}

/// The master store as the failure left it.
struct Left<'a> {
    memory: &'a mut dyn Persistent,
    places: Places,
    operations: u64,
    key_size: u64,
    /// The keys of the start that were found.
    found: u64,
}

impl Left<'_> {
    fn place(&mut self, at: u64, what: &str) -> Result<u64, String> {
        let place = self.memory.word(at);
        if !is_place(place) {
            return Err(format!("{what} at {at:#x} leads to {place:#x}, which is no object"));
        }
        Ok(place)
    }

    /// What the places of a vector lead to.
    fn vector(&mut self, vector: u64, what: &str) -> Result<Vec<u64>, String> {
        let (count, capacity) = (self.memory.word(vector + COUNT), self.memory.word(vector + CAPACITY));
        // A version for each operation, and the one of the start.
        if count > capacity || count > self.operations + 1 {
            return Err(format!("{what} at {vector:#x} has {count} of {capacity} places taken"));
        }
        if count == 0 {
            return Ok(Vec::new());
        }
        let places = self.place(vector, what)?;
        (0..count).map(|n| self.place(places + n * 8, what)).collect()
    }

    /// The puts in the log, by their records: each has persisted whole.
    fn puts(&mut self) -> Result<BTreeMap<u64, Put>, String> {
        let count = self.memory.word(PM_BASE);
        if count > self.operations {
            return Err(format!("the log has {count} records, more than there were puts"));
        }
        let mut puts = BTreeMap::new();
        for n in 0..count {
            let record = self.place(LOG + n * 8, "the log")?;
            let put = self.put(record).map_err(|e| format!("record {n} of the log: {e}"))?;
            if puts.insert(record, put).is_some() {
                return Err(format!("the log has the record at {record:#x} twice"));
            }
        }
        Ok(puts)
    }

    /// The one pair that a record was made of.
    fn put(&mut self, record: u64) -> Result<Put, String> {
        let pairs = self.place(record, "a record")?;
        let [pair] = self.vector(pairs, "the pairs of a record")?[..] else {
            return Err(format!("the one at {record:#x} has not one pair"));
        };
        let (key, value) = (self.place(pair, "a pair")?, self.place(pair + 8, "a pair")?);
        let [hash, number] = [record + 8, pair + 24].map(|at| self.memory.word(at));
        let [state, whole] = [record + RECORD_STATE, pair + 32].map(|at| self.memory.word(at));
        let same = filled_with(self.memory, key, self.key_size) == Some(hash as u8)
            && filled_with(self.memory, value, self.places.value_size) == Some(number as u8);
        if !same || whole != WHOLE || !(WHOLE..=MERGED).contains(&state) {
            return Err(format!("the pair at {pair:#x} is not whole"));
        }
        Ok(Put { hash, number, value, state })
    }

    /// The versions that threads made: each one's record and its key's hash, by its address.
    fn versions(&mut self) -> Result<BTreeMap<u64, (u64, u64)>, String> {
        let mut versions = BTreeMap::new();
        for bucket in 0..BUCKETS {
            let mut link = self.places.buckets + bucket * 64;
            let mut entries = 0;
            while self.memory.word(link) != 0 {
                let entry = self.place(link, "a bucket")?;
                entries += 1;
                if self.memory.word(entry) % BUCKETS != bucket || entries > self.places.keys + self.operations
                {
                    return Err(format!("bucket {bucket} leads to {entry:#x}, which is no entry of it"));
                }
                self.add_versions(entry, &mut versions)?;
                link = entry + 8;
            }
        }
        if self.found != self.places.keys {
            return Err(format!("{} keys of the start are there, of {}", self.found, self.places.keys));
        }
        Ok(versions)
    }

    fn add_versions(&mut self, entry: u64, to: &mut BTreeMap<u64, (u64, u64)>) -> Result<(), String> {
        let hash = self.memory.word(entry);
        let table = self.place(entry + 16, "an entry")?;
        let vector = self.place(table, "a table")?;
        let mut versions = self.vector(vector, "the versions of a key")?;
        if (self.places.first_key()..self.places.end()).contains(&entry) {
            self.found += 1;
            let first = entry + 4 * SMALL;
            if versions.first() != Some(&first) {
                return Err(format!("the key at {entry:#x} lacks its version of the start"));
            }
            versions.remove(0);
        }
        for version in versions {
            let record = self.place(version + 24, "a version")?;
            if to.insert(version, (record, hash)).is_some() {
                return Err(format!("two keys have the version at {version:#x}"));
            }
        }
        Ok(())
    }

    /// The puts that have been merged: each version is of a record in the log, which had been committed before.
    fn merged(&mut self, puts: &BTreeMap<u64, Put>) -> Result<BTreeMap<u64, Put>, String> {
        let mut merged = BTreeMap::new();
        for (version, (record, hash)) in self.versions()? {
            let Some(put) = puts.get(&record) else {
                return Err(format!("the version at {version:#x} was merged before it was logged"));
            };
            if put.hash != hash {
                return Err(format!("the version at {version:#x} is under the wrong key"));
            }
            if put.state < COMMITTED {
                return Err(format!("the version at {version:#x} was merged before it was committed"));
            }
            if self.memory.word(version) != put.value || self.memory.word(version + 32) != put.number {
                return Err(format!("the version at {version:#x} is not whole"));
            }
            if merged.insert(record, *put).is_some() {
                return Err(format!("the record at {record:#x} is merged twice"));
            }
        }
        let lost = puts.iter().find(|(record, put)| put.state == MERGED && !merged.contains_key(record));
        match lost {
            Some((record, _)) => {
                Err(format!("the record at {record:#x} is merged, and no key has its version"))
            }
            None => Ok(merged),
        }
    }
}

/// Every record in the log is whole; every version is of such a record and was put by its thread under its key; every committed
/// put is there, and so are the keys of the start.
pub(super) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let number = |key: &str| crashed.settings.number(key);
    let (places, operations) = (Places::of(crashed.settings), number("workload.operations"));
    let mut left = Left { memory, places, operations, key_size: number("workload.key_size"), found: 0 };
    let puts = left.puts()?;
    let mut merged = left.merged(&puts)?;
    for thread in 0..crashed.threads() {
        // Every arena is as large as the first.
        let later = merged.split_off(&crashed.arena(thread + 1));
        let mut own = BTreeMap::new();
        for put in std::mem::replace(&mut merged, later).into_values() {
            if own.insert(put.number, put.hash).is_some() {
                return Err(format!("put {} of thread {thread} is there twice", put.number));
            }
        }
        check_thread(crashed, thread, own)?;
    }
    match merged.keys().next() {
        Some(record) => Err(format!("the record at {record:#x} is no thread's")),
        None => Ok(()),
    }
}

/// What a thread has merged must be what it had begun, with all that had ended.
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
