//! P-CLHT: a hash table whose buckets are one cache line (David et al., ASPLOS 2015; RECIPE, SOSP 2019).
//!
//! Bucket: lock at 0, three keys from 8 on, three values from 32 on, the next bucket of the chain at 56. A value
//! persists before its key. The table is made for its keys and chains beyond that; it is not resized.

use crate::context::Context;
use crate::recovery::{Crashed, Persistent};
use crate::sync::{self, Lock};
use crate::workload::Workload;
use protocol::PM_BASE;
use std::collections::BTreeMap;
use units::mix;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "p-clht",
    meaning: "P-CLHT: a hash table whose buckets are cache lines",
    source: "David et al., ASPLOS 2015; RECIPE (SOSP 2019)",
    params: super::RECIPE_INDEX,
    check: None,
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

const KEYS: u64 = 8;
const VALUES: u64 = 32;
const NEXT: u64 = 56;

/// Instructions of the original (docs/models/workloads.md): an insertion until it stores, and after it has; a search.
const PROBING: u64 = 94;
const RETURN: u64 = 38;
const SEARCH: u64 = 30;

async fn insert(c: &Context, table: u64, mask: u64, key: u64, value: u64) {
    let first = table + (mix(key) & mask) * 64;
    c.executes(PROBING).await;
    Lock(first).acquire(c).await;
    let mut bucket = first;
    loop {
        for slot in 0..3 {
            let held = c.load(bucket + KEYS + slot * 8).await;
            if held == key || held == 0 {
                c.store(bucket + VALUES + slot * 8, value).await;
                c.cpu.ofence().await;
                c.publish(bucket + KEYS + slot * 8, key).await;
                c.executes(RETURN).await;
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
    c.executes(SEARCH).await;
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

/// Every key that is there has its value, and every key whose insertion was durable is there.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let total = crashed.settings.number("workload.operations");
    let (table, buckets) = (PM_BASE, (total / 2).next_power_of_two());
    let seed = crashed.common_random().next_u64();
    let mut found = BTreeMap::new();
    for first in 0..buckets {
        let mut bucket = table + first * 64;
        for _ in 0..total + 2 {
            for slot in 0..3 {
                let key = memory.word(bucket + KEYS + slot * 8);
                if key != 0 {
                    found.insert(key, memory.word(bucket + VALUES + slot * 8));
                }
            }
            bucket = memory.word(bucket + NEXT);
            if bucket == 0 {
                break;
            }
            if bucket < PM_BASE || !bucket.is_multiple_of(64) {
                return Err(format!("the chain of bucket {first} leads to {bucket:#x}, which is no bucket"));
            }
        }
        if bucket != 0 {
            return Err(format!("the chain of bucket {first} does not end"));
        }
    }
    if let Some((key, value)) = found.iter().find(|(key, value)| mix(seed ^ **value) | 1 != **key) {
        return Err(format!("key {key:#x} has value {value}, which was never stored for it"));
    }
    if let Some((key, _)) = found.iter().find(|(_, n)| !crashed.had_begun(total, **n)) {
        return Err(format!("key {key:#x} is there, and its insertion had not begun"));
    }
    match crashed.inserted(total).into_iter().find(|n| !found.contains_key(&(mix(seed ^ n) | 1))) {
        Some(n) => Err(format!("key {:#x} was committed and is missing", mix(seed ^ n) | 1)),
        None => Ok(()),
    }
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
