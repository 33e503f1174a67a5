//! P-CLHT: a hash table whose buckets are one cache line (David et al., ASPLOS 2015; RECIPE, SOSP 2019).
//!
//! Bucket: lock at 0, three keys from 8 on, three values from 32 on, the next bucket of the chain at 56. A value
//! persists before its key. The table is made for its keys and chains beyond that; it is not resized.

use crate::context::Context;
use crate::sync::{self, Lock};
use units::mix;

const KEYS: u64 = 8;
const VALUES: u64 = 32;
const NEXT: u64 = 56;

async fn insert(c: &Context, table: u64, mask: u64, key: u64, value: u64) {
    let first = table + (mix(key) & mask) * 64;
    Lock(first).acquire(c).await;
    let mut bucket = first;
    loop {
        for slot in 0..3 {
            let held = c.load(bucket + KEYS + slot * 8).await;
            if held == key || held == 0 {
                c.store(bucket + VALUES + slot * 8, value).await;
                c.cpu.ofence().await;
                c.publish(bucket + KEYS + slot * 8, key).await;
                return Lock(first).release(c).await;
            }
        }
        let next = c.load(bucket + NEXT).await;
        if next == 0 {
            break;
        }
        bucket = next;
    }
    let new = c.pm.lines(1);
    c.store(new + VALUES, value).await;
    c.store(new + KEYS, key).await;
    c.persist(new, 64).await;
    c.publish(bucket + NEXT, new).await;
    Lock(first).release(c).await;
}

async fn get(c: &Context, table: u64, mask: u64, key: u64) -> Option<u64> {
    let mut bucket = table + (mix(key) & mask) * 64;
    while bucket != 0 {
        for slot in 0..3 {
            if c.cpu.load_acquire(bucket + KEYS + slot * 8).await == key {
                return Some(c.load(bucket + VALUES + slot * 8).await);
            }
        }
        bucket = c.load(bucket + NEXT).await;
    }
    None
}

pub(crate) async fn run(c: Context) {
    let total = c.settings.number("workload.operations");
    let buckets = (total / 2).next_power_of_two();
    let table = Context::common_pm().alloc(buckets * 64, 4096);
    let seed = c.common_random().next_u64();
    let (from, count) = (c.share_start(total), c.share(total));
    let reads = c.settings.number("workload.read_percent") * 10;
    let mut random = c.random();
    sync::start(&c).await;
    for n in from..from + count {
        c.work(60).await;
        if random.chance(reads) {
            get(&c, table, buckets - 1, mix(seed ^ random.below(n + 1)) | 1).await;
            c.cpu.operation_done();
        } else {
            insert(&c, table, buckets - 1, mix(seed ^ n) | 1, n).await;
            c.end_operation().await;
        }
    }
    sync::finish(&c).await;
}
