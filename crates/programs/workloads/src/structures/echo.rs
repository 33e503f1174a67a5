//! Echo: a scalable key-value store for persistent memory (Bailey et al., INFLOW 2013). Each worker puts into a
//! store of its own, in order of its log; then the puts are merged into the master store.
//!
//! Master bucket line: lock at 0, first version list at 8. Version list: key hash at 0, latest version at 8, next
//! in the bucket at 16. Version: previous version at 0, number at 8, value from 16 on.

use crate::context::Context;
use crate::recovery::{Crashed, Persistent, filled_with, is_place};
use crate::sync::{self, Lock};
use crate::workload::{Count, Flag, N, PERCENT, Workload, params};
use protocol::PM_BASE;
use std::collections::BTreeMap;
use units::mix;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "echo",
    meaning: "Echo: workers put into stores of their own and merge into a master store of versions",
    source: "Bailey et al., INFLOW 2013; WHISPER (ASPLOS 2017)",
    params: params! {
        "operations" N, "10000", "artifact: 10000 operations", "operations of all threads";
        "keys" N, "10000", "artifact: PREPOP", "different keys";
        "key_size" Count { min: 8, max: 1024 }, "128", "artifact", "bytes of a key";
        "value_size" Count { min: 8, max: 4096 }, "1024", "artifact", "bytes of a value";
        "put_percent" PERCENT, "80", "artifact: put probability 0.8", "operations that put";
        "think_cycles" Count { min: 0, max: 1_000_000 }, "2400", "open 1000..14700: WHISPER's Echo executes 22,009 instructions an operation, and 31 epochs where this has 5; stands at 710 instructions an epoch, as there", "cycles of computation around each operation";
        "durable" Flag, "true", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

const BUCKETS: u64 = 4096;

struct Store {
    buckets: u64,
    key_size: u64,
}

impl Store {
    /// The version list of a key, made where it is missing; the bucket's lock is held.
    async fn list(&self, c: &Context, bucket: u64, hash: u64) -> u64 {
        let mut list = c.load(bucket + 8).await;
        while list != 0 {
            if c.load(list).await == hash {
                return list;
            }
            list = c.load(list + 16).await;
        }
        let new = c.pm.alloc(24 + self.key_size, 64);
        let next = c.load(bucket + 8).await;
        c.store(new, hash).await;
        c.store(new + 16, next).await;
        c.cpu.store_bytes(new + 24, &vec![hash as u8; self.key_size as usize]).await;
        c.persist(new, 24 + self.key_size).await;
        c.publish(bucket + 8, new).await;
        new
    }

    /// Links a version that has persisted into the master store.
    async fn merge(&self, c: &Context, hash: u64, version: u64, number: u64) {
        let bucket = self.buckets + hash % BUCKETS * 64;
        Lock(bucket).acquire(c).await;
        let list = self.list(c, bucket, hash).await;
        let previous = c.load(list + 8).await;
        c.store(version, previous).await;
        c.store(version + 8, number).await;
        c.persist(version, 16).await;
        c.publish(list + 8, version).await;
        Lock(bucket).release(c).await;
    }

    async fn get(&self, c: &Context, hash: u64, value: &mut [u8]) {
        let bucket = self.buckets + hash % BUCKETS * 64;
        let mut list = c.cpu.load_acquire(bucket + 8).await;
        while list != 0 {
            if c.load(list).await == hash {
                let version = c.cpu.load_acquire(list + 8).await;
                if version != 0 {
                    c.cpu.load_bytes(version + 16, value).await;
                }
                return;
            }
            list = c.load(list + 16).await;
        }
    }
}

/// The versions that the master store leads to: for each address its key's hash.
fn versions(memory: &mut dyn Persistent, limit: usize) -> Result<BTreeMap<u64, u64>, String> {
    let mut versions = BTreeMap::new();
    for bucket in 0..BUCKETS {
        let mut list = memory.word(PM_BASE + bucket * 64 + 8);
        let mut lists = 0;
        while list != 0 {
            let wrong = || Err(format!("bucket {bucket} leads to {list:#x}, which is no list of versions"));
            if !is_place(list) {
                return wrong();
            }
            let hash = memory.word(list);
            lists += 1;
            if hash % BUCKETS != bucket || lists > limit {
                return wrong();
            }
            let mut version = memory.word(list + 8);
            while version != 0 {
                if !is_place(version) || versions.len() >= limit || versions.insert(version, hash).is_some() {
                    return Err(format!("the versions of {hash:#x} lead to {version:#x}, which is none"));
                }
                version = memory.word(version);
            }
            list = memory.word(list + 16);
        }
    }
    Ok(versions)
}

/// Every version is whole and was put by its thread under its key, and every committed put is there.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let number = |key: &str| crashed.settings.number(key);
    let total = number("workload.operations");
    let (keys, puts) = (number("workload.keys"), number("workload.put_percent") * 10);
    let mut versions = versions(memory, total as usize + crashed.threads())?;
    for thread in 0..crashed.threads() {
        // Every arena is as large as the first.
        let arena = crashed.arena(thread)..crashed.arena(thread + 1);
        let mut put = BTreeMap::new();
        for version in versions.range(arena).map(|(v, _)| *v).collect::<Vec<_>>() {
            let n = memory.word(version + 8);
            if filled_with(memory, version + 16, number("workload.value_size")) != Some(n as u8) {
                return Err(format!("version {n} of thread {thread} at {version:#x} is not whole"));
            }
            put.insert(n, versions.remove(&version));
        }
        let mut random = crashed.random(thread);
        for (n, persisted) in crashed.begun(crashed.share(total, thread).1, thread) {
            let hash = mix(random.below(keys)) | 1;
            if !random.chance(puts) {
                continue;
            }
            match put.remove(&n) {
                None if persisted => {
                    return Err(format!("put {n} of thread {thread} was committed and is missing"));
                }
                Some(held) if held != Some(hash) => {
                    return Err(format!("put {n} of thread {thread} is under the wrong key"));
                }
                _ => {}
            }
        }
        if let Some(n) = put.keys().next() {
            return Err(format!("version {n} of thread {thread} is there and was never put"));
        }
    }
    Ok(())
}

pub(crate) async fn run(c: Context) {
    let buckets = Context::common_pm().alloc(BUCKETS * 64, 4096);
    let store = Store { buckets, key_size: c.settings.number("workload.key_size") };
    let size = c.settings.number("workload.value_size");
    let (keys, puts) = (c.settings.number("workload.keys"), c.settings.number("workload.put_percent") * 10);
    let log = c.pm.alloc(1 << 16, 64);
    let mut value = vec![0; size as usize];
    let mut random = c.random();
    sync::start(&c).await;
    for n in 0..c.share(c.settings.number("workload.operations")) {
        c.compute(c.settings.number("workload.think_cycles")).await;
        let hash = mix(random.below(keys)) | 1;
        if !random.chance(puts) {
            store.get(&c, hash, &mut value).await;
            c.cpu.operation_done();
            continue;
        }
        // The worker's own store: the value, then the log entry that names it.
        let version = c.pm.alloc(16 + size, 64);
        value.fill(n as u8);
        c.cpu.store_bytes(version + 16, &value).await;
        c.persist(version + 16, size).await;
        let entry = log + n % 1024 * 64;
        c.store(entry, hash).await;
        c.store(entry + 8, version).await;
        c.persist(entry, 16).await;
        store.merge(&c, hash, version, n).await;
        c.publish(entry, 0).await;
        c.end_operation().await;
    }
    sync::finish(&c).await;
}
