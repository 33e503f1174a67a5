//! Hash tables with chains: PMDK's hashmap_tx, memcached-pmem's and Redis's.
//!
//! The root object: the address of the buckets, and how many items there are. They differ in how a value is replaced.

use super::{Store, Value, visit};
use crate::pm::{AUTO, Pm, Recovered};
use crate::structures;
use crate::workload::{Asked, Choice, Count, Flag, N, Nanoseconds, Workload, params};
use protocol::Settings;
use std::collections::BTreeMap;
use units::mix;

/// Whether the hash table is the one with a way of its own to be crash consistent.
fn has_own_way(settings: &Settings) -> bool {
    let way = settings.text("workload.mechanism");
    way == "own" || way == AUTO && settings.text("workload.bug") != "none"
}

/// A bug of the table's own way is seeded in no other.
fn check(asked: &Asked<'_>) -> Result<(), String> {
    let [bug, mechanism] = ["workload.bug", "workload.mechanism"].map(|key| asked.settings.text(key));
    if has_own_way(asked.settings) {
        return Ok(());
    }
    if bug == "none" {
        return super::fits::<Chained>(asked);
    }
    Err(format!(
        "workload.mechanism = {mechanism}: workload.bug = {bug} is one of the table's own; give own or auto"
    ))
}

pub(crate) const HASHMAP: Workload = Workload {
    name: "hashmap",
    meaning: "a hash table for each thread with slots, a persistent allocator and logged transfers; its bugs can be chosen",
    source: "Level Hashing (OSDI 2018), reduced; bugs after Witcher (SOSP 2021) and PMTest (ASPLOS 2019)",
    params: params! {
        "operations" N, "10000", "open 10000: what is asked of the program", "insertions, updates, removals and transfers of all threads";
        "durable" Flag, "true", "open true: what is asked of the program", "each operation ends with a dfence";
        "mechanism" Choice(&["auto", "own", "logging", "redo", "undo-redo", "checkpoint", "shadow"]), "auto", "open auto: what is asked of the program", "own: a table with its own way, which bugs are seeded in; others: PMDK's hashmap_tx on the persistent-memory library; auto: own with a bug, logging without";
        "value_size" Count { min: 8, max: 4096 }, "64", "paper: NearPM Table 4", "bytes of a value, on the library";
        "think_cycles" Count { min: 0, max: 1_000_000 }, "21100", "fitted to nearpm.overhead-share", "cycles of computation around each operation, on the library";
        "library_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "250", "measured: libpmemobj 1.12, 220 to 280 ns for a range of 64 bytes", "instructions of the library for a logged range, where the core logs";
        "epoch_faults" Count { min: 1, max: 28 }, "5", "artifact: a checkpoint ends with five page faults", "pages of an epoch, with checkpoints";
        "pages" crate::words::COPIED_PAGES, "all", "open all|first: the paper says each page that changes; its artifact's programs copy one page a transaction", "pages of a transaction that are copied, with checkpoints and shadow paging: all that it changes, or the first alone, which survives no crash; fixed: the first, by shadow paging to one place, and nothing switches";
        "fault_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "2900", "open 1000..8600: the artifact has about 1 us of it inside its timed regions and 6 to 8.6 us in all; 7 us, with the protection of the page, were measured on a host", "time of a write to a protected page";
        "untimed_fault_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "0", "open 0: NearPM's figure 1 divides all of the time and names no fault beside its regions; the artifact leaves 5 to 7.6 us out of them, which is its own setting (NAME@artifact)", "time of a write to a protected page that no region counts, besides fault_ns";
        "bug" Choice(structures::hashmap::BUGS), "none", "open none: what is asked of the program, after Witcher, PMTest and XFDetector", "a seeded bug; see docs/models/crash.md";
    },
    check: Some(check),
    program: |c| {
        if has_own_way(&c.settings) {
            Box::pin(structures::hashmap::run(c))
        } else {
            Box::pin(super::run::<Chained>(c))
        }
    },
    recover: Some(|m, c| {
        let own = has_own_way(c.settings);
        if own { structures::hashmap::recover(m, c) } else { super::recover::<Chained>(m, c) }
    }),
};

pub(crate) const PM_MEMCACHED: Workload = Workload {
    name: "pm-memcached",
    meaning: "memcached on persistent memory under YCSB's writes; each thread has a pool",
    source: "memcached-pmem; NearPM (EuroSys 2023) Table 4",
    params: params! {
        library "28400";
        "operations" N, "10000", "artifact: operationcount", "transactions of all threads";
        "keys" Count { min: 1, max: 20_000 }, "1000", "artifact: recordcount", "different keys, all there from the beginning";
    },
    check: Some(super::fits::<Memcached>),
    program: |c| Box::pin(super::run::<Memcached>(c)),
    recover: Some(super::recover::<Memcached>),
};

pub(crate) const REDIS: Workload = Workload {
    name: "redis",
    meaning: "Redis on persistent memory under YCSB's writes; all threads share a pool",
    source: "Redis 3.2 with PMDK; NearPM (EuroSys 2023) Table 4",
    params: params! {
        library "30600";
        "operations" N, "10000", "artifact: operationcount", "transactions of all threads";
        "keys" Count { min: 1, max: 20_000 }, "1000", "artifact: recordcount", "different keys, all there from the beginning";
    },
    check: Some(super::fits::<Redis>),
    program: |c| Box::pin(super::run::<Redis>(c)),
    recover: Some(super::recover::<Redis>),
};

const BUCKETS: u64 = 1024;

async fn create(pm: &Pm) {
    let buckets = pm.alloc(BUCKETS * 8).await;
    for i in 0..BUCKETS {
        pm.set(buckets + i * 8, 0).await;
    }
    pm.put(pm.root(), buckets).await;
    pm.put(pm.root() + 8, 0).await;
}

fn bucket(key: u64) -> u64 {
    mix(key) % BUCKETS * 8
}

/// The word that points to the node of `key`, or to the end of its chain.
async fn find(pm: &Pm, key: u64) -> (u64, u64) {
    let mut link = pm.get(pm.root()).await + bucket(key);
    loop {
        let node = pm.get(link).await;
        if node == 0 || pm.get(node + 8).await == key {
            return (link, node);
        }
        link = node;
    }
}

async fn count_one_more(pm: &Pm) {
    let count = pm.get(pm.root() + 8).await;
    pm.put(pm.root() + 8, count + 1).await;
}

/// Nodes in memory: next, key, and where the value is, as `value` finds it.
fn walk(
    m: &mut Recovered<'_>,
    value: impl Fn(&mut Recovered<'_>, u64) -> Result<u64, String>,
) -> Result<BTreeMap<u64, u64>, String> {
    let (buckets, count) = (m.get(m.root())?, m.get(m.root() + 8)?);
    let (mut all, mut visited) = (BTreeMap::new(), 0);
    for i in 0..BUCKETS {
        let mut node = m.get(buckets + i * 8)?;
        while node != 0 {
            visit(&mut visited)?;
            let key = m.get(node + 8)?;
            if bucket(key) != i * 8 {
                return Err(format!("key {key:#x} is in the wrong bucket"));
            }
            if all.insert(key, value(m, node)?).is_some() {
                return Err(format!("key {key:#x} is there twice"));
            }
            node = m.get(node)?;
        }
    }
    if all.len() as u64 == count {
        Ok(all)
    } else {
        Err(format!("{} items are there, not {count}", all.len()))
    }
}

/// PMDK's hashmap_tx: a value is an object of its own, and changed in place.
pub(crate) struct Chained;

impl Store for Chained {
    async fn create(pm: &Pm, _: &Settings) {
        create(pm).await;
    }

    async fn put(pm: &Pm, key: u64, new: Value) {
        let (_, node) = find(pm, key).await;
        if node != 0 {
            let at = pm.get(node + 16).await;
            return new.replace(pm, at).await;
        }
        let (value, node) = (new.alloc(pm).await, pm.alloc(24).await);
        let first = pm.get(pm.root()).await + bucket(key);
        let ahead = pm.get(first).await;
        for (i, word) in (0..).zip([ahead, key, value]) {
            pm.set(node + i * 8, word).await;
        }
        pm.put(first, node).await;
        count_one_more(pm).await;
    }

    fn walk(m: &mut Recovered<'_>, _: &Settings) -> Result<BTreeMap<u64, u64>, String> {
        walk(m, |m, node| m.get(node + 16))
    }
}

/// Redis's dictionary: an entry, and a string object that each SET makes anew.
pub(crate) struct Redis;

impl Store for Redis {
    const SHARED: bool = true;
    const YCSB: bool = true;

    async fn create(pm: &Pm, _: &Settings) {
        create(pm).await;
    }

    async fn put(pm: &Pm, key: u64, new: Value) {
        let value = new.alloc(pm).await;
        let (link, node) = find(pm, key).await;
        if node != 0 {
            let old = pm.get(node + 16).await;
            pm.put(node + 16, value).await;
            return pm.free(old, new.size).await;
        }
        let entry = pm.alloc(24).await;
        for (i, word) in (0..).zip([0, key, value]) {
            pm.set(entry + i * 8, word).await;
        }
        pm.put(link, entry).await;
        count_one_more(pm).await;
    }

    fn walk(m: &mut Recovered<'_>, _: &Settings) -> Result<BTreeMap<u64, u64>, String> {
        walk(m, |m, node| m.get(node + 16))
    }
}

/// memcached's items: link, key and value are one object, and a set replaces the whole.
pub(crate) struct Memcached;

/// Bytes of an item before its value.
const ITEM: u64 = 64;

impl Store for Memcached {
    const YCSB: bool = true;

    async fn create(pm: &Pm, _: &Settings) {
        create(pm).await;
    }

    async fn put(pm: &Pm, key: u64, new: Value) {
        let item = pm.alloc(ITEM + new.size).await;
        let (link, old) = find(pm, key).await;
        let ahead = if old == 0 { 0 } else { pm.get(old).await };
        for (i, word) in (0..).zip([ahead, key, new.size]) {
            pm.set(item + i * 8, word).await;
        }
        new.write(pm, item + ITEM).await;
        pm.put(link, item).await;
        if old == 0 {
            count_one_more(pm).await;
        } else {
            pm.free(old, ITEM + new.size).await;
        }
    }

    fn walk(m: &mut Recovered<'_>, _: &Settings) -> Result<BTreeMap<u64, u64>, String> {
        walk(m, |_, node| Ok(node + ITEM))
    }
}
