//! N-Store (Arulraj et al., SIGMOD 2015) with its write-ahead-logging engine, running YCSB. Keys and transactions
//! are partitioned among executors, so no two threads share a tuple.
//!
//! A tuple: key, then fields of equal size. The log is a list of entries (next, address, length, old bytes) whose
//! head is in the executor's root line; a transaction logs, changes in place, persists, and empties the list.

use crate::context::Context;
use crate::recovery::{Crashed, Persistent, filled_with};
use crate::sync;
use crate::workload::{Count, Flag, N, PERCENT, Workload, params};
use std::collections::BTreeMap;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "nstore",
    meaning: "N-Store's write-ahead-logging engine running YCSB; tuples are partitioned among threads",
    source: "Arulraj et al., SIGMOD 2015; WHISPER (ASPLOS 2017)",
    params: params! {
        "operations" N, "40000", "artifact: -x40000", "transactions of all threads";
        "keys" N, "4000", "artifact: -k4000", "tuples of all threads";
        "fields" Count { min: 1, max: 64 }, "5", "artifact: ycsb_benchmark", "fields of a tuple";
        "value_size" Count { min: 8, max: 4096 }, "100", "artifact: ycsb_benchmark", "bytes of a field";
        "update_percent" PERCENT, "80", "artifact: -p0.8", "transactions that update";
        "think_cycles" Count { min: 0, max: 1_000_000 }, "2000", "estimate: a transaction's planning and dispatch", "cycles of computation around each operation";
        "durable" Flag, "true", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
    },
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

struct Executor {
    head: u64,
    entries: u64,
    tuples: u64,
    index: u64,
    keys: u64,
    fields: u64,
    field_size: u64,
}

/// Bytes kept for log entries: 64 KiB, more where large fields need it.
fn log_bytes(fields: u64, field_size: u64) -> u64 {
    (fields * (24 + field_size).next_multiple_of(64)).max(64 << 10)
}

impl Executor {
    fn tuple_size(&self) -> u64 {
        (8 + self.fields * self.field_size).next_multiple_of(64)
    }

    fn new(c: &Context) -> Executor {
        let (fields, field_size) =
            (c.settings.number("workload.fields"), c.settings.number("workload.value_size"));
        let keys = c.share(c.settings.number("workload.keys")).max(1);
        let (head, entries) = (c.pm.lines(1), c.pm.alloc(log_bytes(fields, field_size), 64));
        let mut e = Executor {
            head,
            entries,
            tuples: 0,
            index: c.dram.alloc(keys * 8, 64),
            keys,
            fields,
            field_size,
        };
        e.tuples = c.pm.alloc(keys * e.tuple_size(), 64);
        e
    }

    async fn load_table(&self, c: &Context) {
        for key in 0..self.keys {
            let tuple = self.tuples + key * self.tuple_size();
            c.store(tuple, key).await;
            let zeros = vec![0; (self.fields * self.field_size) as usize];
            c.cpu.store_bytes(tuple + 8, &zeros).await;
            c.persist(tuple, self.tuple_size()).await;
            c.store(self.index + key * 8, tuple).await;
        }
    }

    async fn update(&self, c: &Context, key: u64, bytes: &mut [u8]) {
        let tuple = c.load(self.index + key * 8).await;
        let mut entry = self.entries;
        for field in 0..self.fields {
            let at = tuple + 8 + field * self.field_size;
            c.cpu.load_bytes(at, bytes).await;
            let previous = if field == 0 { 0 } else { entry };
            entry = self.entries + field * (24 + self.field_size).next_multiple_of(64);
            c.store(entry, previous).await;
            c.store(entry + 8, at).await;
            c.store(entry + 16, self.field_size).await;
            c.cpu.store_bytes(entry + 24, bytes).await;
            c.persist(entry, 24 + self.field_size).await;
            c.publish(self.head, entry).await;
            bytes.fill(key as u8 ^ field as u8);
            c.cpu.store_bytes(at, bytes).await;
        }
        c.persist(tuple, self.tuple_size()).await;
        c.publish(self.head, 0).await;
    }

    async fn read(&self, c: &Context, key: u64, bytes: &mut [u8]) {
        let tuple = c.load(self.index + key * 8).await;
        for field in 0..self.fields {
            c.cpu.load_bytes(tuple + 8 + field * self.field_size, bytes).await;
        }
    }
}

/// A thread's tuples after a power failure.
struct Left {
    root: u64,
    keys: u64,
    fields: u64,
    field_size: u64,
}

impl Left {
    /// The fields that the log holds old contents of, by address: the transaction under way is undone.
    fn logged(&self, memory: &mut dyn Persistent) -> Result<BTreeMap<u64, u64>, String> {
        let (mut entry, mut logged) = (memory.word(self.root), BTreeMap::new());
        let entries = self.root + 64..self.root + 64 + log_bytes(self.fields, self.field_size);
        while entry != 0 {
            if !entries.contains(&entry) || logged.len() as u64 >= self.fields {
                return Err(format!("the log leads to {entry:#x}, which is no entry"));
            }
            if memory.word(entry + 16) != self.field_size {
                return Err(format!("the log entry at {entry:#x} names no field"));
            }
            logged.insert(memory.word(entry + 8), entry + 24);
            entry = memory.word(entry);
        }
        Ok(logged)
    }

    /// Whether a tuple was updated, all its fields alike.
    fn updated(&self, m: &mut dyn Persistent, log: &BTreeMap<u64, u64>, key: u64) -> Result<bool, String> {
        let size = (8 + self.fields * self.field_size).next_multiple_of(64);
        let tuple = self.root + 64 + log_bytes(self.fields, self.field_size) + key * size;
        if m.word(tuple) != key {
            return Err(format!("tuple {key} has key {}", m.word(tuple)));
        }
        let (mut old, mut new) = (true, true);
        for field in 0..self.fields {
            let at = tuple + 8 + field * self.field_size;
            let filled = filled_with(m, log.get(&at).copied().unwrap_or(at), self.field_size);
            old &= filled == Some(0);
            new &= filled == Some(key as u8 ^ field as u8);
        }
        if old || new { Ok(new) } else { Err(format!("tuple {key} is half updated")) }
    }

    fn check(&self, memory: &mut dyn Persistent, crashed: &Crashed<'_>, thread: usize) -> Result<(), String> {
        let updates = crashed.settings.number("workload.update_percent") * 10;
        let count = crashed.share(crashed.settings.number("workload.operations"), thread).1;
        let mut random = crashed.random(thread);
        // Tuples that a transaction changed, and whether one must be there.
        let mut changed: BTreeMap<u64, bool> = BTreeMap::new();
        for (_, sure) in crashed.begun(count, thread) {
            let key = random.below(self.keys);
            if random.chance(updates) {
                *changed.entry(key).or_default() |= sure;
            }
        }
        let log = self.logged(memory)?;
        for (key, sure) in changed {
            if !self.updated(memory, &log, key)? && sure {
                return Err(format!("an update of tuple {key} was committed and is missing"));
            }
        }
        Ok(())
    }
}

/// The transaction under way is undone; every tuple that was changed is whole, and every committed update is there.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let number = |key: &str| crashed.settings.number(key);
    for thread in 0..crashed.threads() {
        let keys = crashed.share(number("workload.keys"), thread).1.max(1);
        let (fields, field_size) = (number("workload.fields"), number("workload.value_size"));
        let left = Left { root: crashed.arena(thread), keys, fields, field_size };
        left.check(memory, crashed, thread).map_err(|e| format!("thread {thread}: {e}"))?;
    }
    Ok(())
}

pub(crate) async fn run(c: Context) {
    let executor = Executor::new(&c);
    let operations = c.share(c.settings.number("workload.operations"));
    let updates = c.settings.number("workload.update_percent") * 10;
    let mut bytes = vec![0; executor.field_size as usize];
    let mut random = c.random();
    executor.load_table(&c).await;
    sync::start(&c).await;
    for _ in 0..operations {
        c.compute(c.settings.number("workload.think_cycles")).await;
        let key = random.below(executor.keys);
        if random.chance(updates) {
            executor.update(&c, key, &mut bytes).await;
            c.end_operation().await;
        } else {
            executor.read(&c, key, &mut bytes).await;
            c.cpu.operation_done();
        }
    }
    sync::finish(&c).await;
}
