//! Memcached on persistent memory: a hash table of items with one lock for a group of buckets, changed by
//! transactions with an undo log, as in its port to a transactional library.
//!
//! An item: next in its bucket at 0, key hash at 8, time of use at 16, value length at 24, key and value from 32.

use super::log::UndoLog;
use crate::context::Context;
use crate::sync::{self, Lock};
use units::mix;

const BUCKETS: u64 = 1 << 14;
const LOCKS: u64 = 1 << 8;
const ITEM: u64 = 32;

struct Cache {
    buckets: u64,
    locks: u64,
    key_size: u64,
}

impl Cache {
    fn bucket(&self, hash: u64) -> (u64, Lock) {
        (self.buckets + hash % BUCKETS * 8, Lock(self.locks + hash % LOCKS * 64))
    }

    async fn find(&self, c: &Context, bucket: u64, hash: u64) -> u64 {
        let mut item = c.load(bucket).await;
        while item != 0 && c.load(item + 8).await != hash {
            item = c.load(item).await;
        }
        item
    }

    async fn set(&self, c: &Context, log: &UndoLog, hash: u64, value: &[u8], now: u64) {
        let (bucket, lock) = self.bucket(hash);
        let at = ITEM + self.key_size;
        lock.acquire(c).await;
        let item = self.find(c, bucket, hash).await;
        if item != 0 {
            log.save(c, item + at, value.len() as u64).await;
            log.save(c, item + 16, 16).await;
            c.cpu.store_bytes(item + at, value).await;
            c.store(item + 16, now).await;
        } else {
            let size = at + value.len() as u64;
            let new = c.pm.alloc(size, 64);
            let first = c.load(bucket).await;
            c.store(new, first).await;
            c.store(new + 8, hash).await;
            c.store(new + 16, now).await;
            c.store(new + 24, value.len() as u64).await;
            c.cpu.store_bytes(new + ITEM, &vec![hash as u8; self.key_size as usize]).await;
            c.cpu.store_bytes(new + at, value).await;
            c.persist(new, size).await;
            log.store(c, bucket, new).await;
        }
        log.commit(c).await;
        lock.release(c).await;
    }

    async fn get(&self, c: &Context, hash: u64, value: &mut [u8]) {
        let (bucket, lock) = self.bucket(hash);
        lock.acquire(c).await;
        let item = self.find(c, bucket, hash).await;
        if item != 0 {
            c.cpu.load_bytes(item + ITEM + self.key_size, value).await;
        }
        lock.release(c).await;
    }
}

pub(crate) async fn run(c: Context) {
    let (pm, dram) = (Context::common_pm(), Context::common_dram());
    let cache = Cache {
        buckets: pm.alloc(BUCKETS * 8, 4096),
        locks: dram.lines(LOCKS),
        key_size: c.settings.number("workload.key_size"),
    };
    let log = UndoLog::new(&c);
    let (keys, sets) = (c.settings.number("workload.keys"), c.settings.number("workload.set_percent") * 10);
    let mut value = vec![0; c.settings.count("workload.value_size")];
    let mut random = c.random();
    sync::start(&c).await;
    for n in 0..c.share(c.settings.number("workload.operations")) {
        c.work(c.settings.number("workload.think_cycles")).await;
        let hash = mix(random.below(keys)) | 1;
        if random.chance(sets) {
            value.fill(n as u8);
            cache.set(&c, &log, hash, &value, n).await;
            c.end_operation().await;
        } else {
            cache.get(&c, hash, &mut value).await;
            c.cpu.operation_done();
        }
    }
    sync::finish(&c).await;
}
