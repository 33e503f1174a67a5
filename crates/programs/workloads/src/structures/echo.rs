//! Echo: a scalable key-value store for persistent memory (Bailey et al., INFLOW 2013). Each worker puts into a
//! store of its own, in order of its log; then the puts are merged into the master store.
//!
//! Master bucket line: lock at 0, first version list at 8. Version list: key hash at 0, latest version at 8, next
//! in the bucket at 16. Version: previous version at 0, number at 8, value from 16 on.

use crate::context::Context;
use crate::sync::{self, Lock};
use units::mix;

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
        c.work(c.settings.number("workload.think_cycles")).await;
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
