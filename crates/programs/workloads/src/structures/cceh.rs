//! CCEH: cacheline-conscious extendible hashing (Nam et al., FAST 2019).
//!
//! Directory: one word, the address of the table of segment pointers with the depth in its low bits. Segment: depth at 0, a gate at 8 that
//! counts inserts and closes for a split, then 1024 pairs of key and value in lines of four. A pair's value persists before
//! its key; keys are claimed by compare-and-exchange.

use super::directory;
use crate::context::Context;
use crate::recovery::{Crashed, Persistent};
use crate::sync::{self, Gate, Lock};
use crate::workload::{Count, Flag, N, PERCENT, THREAD_MIB, Workload, params};
use protocol::{Order, PM_BASE};
use units::mix;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cceh",
    meaning: "CCEH: cacheline-conscious extendible hashing",
    source: "Nam et al., FAST 2019",
    params: params! {
        "operations" N, "100000", "artifact: 100000 keys", "keys inserted by all threads";
        "search_percent" PERCENT, "100", "artifact: insert phase, then search phase", "searches for each hundred insertions, afterwards";
        "initial_depth" Count { min: 0, max: 16 }, "4", "open 4..14: how many segments ASAP's artifact began with cannot be told; stands at 4, a small table; ASAP's evaluation begins with the 16384 of the public source, in memory of 512 MiB (thread_mib)", "depth of the directory at the start";
        "thread_mib" THREAD_MIB, "64", "open 64: what is asked of the program", "MiB of memory that each thread has, persistent and volatile each";
        "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

const PAIRS: u64 = 1024;
const LINES: u64 = PAIRS / 4;
const PROBE: u64 = 4;
const FIRST: u64 = 64;
const CLAIMED: u64 = u64::MAX;

/// Instructions of the original (docs/models/workloads.md): an insertion until it stores, and after it has; a search.
const PROBING: u64 = 163;
const RETURN: u64 = 42;
const SEARCH: u64 = 91;

struct Table {
    directory: u64,
    lock: Lock,
}

enum Insert {
    Done,
    Full,
    Retry,
}

impl Table {
    async fn new_segment(&self, c: &Context, depth: u64) -> u64 {
        let segment = c.pm.lines(1 + LINES);
        c.store(segment, depth).await;
        segment
    }

    async fn create(&self, c: &Context, depth: u64) {
        let table = c.pm.alloc(8 << depth, 64);
        for index in 0..1 << depth {
            let segment = self.new_segment(c, depth).await;
            c.persist(segment, 64).await;
            c.store(table + index * 8, segment).await;
        }
        c.persist(table, 8 << depth).await;
        c.publish(self.directory, table | depth).await;
    }

    /// The directory's depth, and the entry and segment of a hash.
    async fn segment(&self, c: &Context, hash: u64) -> (u64, u64, u64) {
        let word = c.cpu.load_acquire(self.directory).await;
        let (table, depth) = (word & !63, word & 63);
        let entry = table + (hash >> (63 - depth) >> 1) * 8;
        (depth, entry, c.cpu.load_acquire(entry).await)
    }

    async fn insert(&self, c: &Context, key: u64, value: u64) {
        let hash = mix(key);
        c.executes(PROBING).await;
        loop {
            let (_, entry, segment) = self.segment(c, hash).await;
            if !Gate(segment + 8).enter(c).await {
                continue;
            }
            let result = if c.load(entry).await == segment {
                self.insert_into(c, segment, hash, key, value).await
            } else {
                Insert::Retry
            };
            Gate(segment + 8).leave(c).await;
            match result {
                Insert::Done => break,
                Insert::Full => self.split(c, hash, segment).await,
                Insert::Retry => {}
            }
        }
        c.executes(RETURN).await;
    }

    async fn insert_into(&self, c: &Context, segment: u64, hash: u64, key: u64, value: u64) -> Insert {
        let line = hash % LINES;
        for probe in 0..PROBE * 4 {
            let pair = segment + FIRST + (line + probe / 4) % LINES * 64 + probe % 4 * 16;
            let held = c.load(pair).await;
            // A pair that no longer belongs here after a split is free.
            let stale = held != 0 && held != CLAIMED && self.left(c, segment, mix(held)).await;
            let free = held == 0 || stale;
            if free && c.cpu.compare_exchange(pair, held, CLAIMED, Order::AcquireRelease).await == held {
                c.store(pair + 8, value).await;
                c.cpu.ofence().await;
                c.cpu.store_release(pair, key).await;
                c.persist(pair, 8).await;
                return Insert::Done;
            }
        }
        Insert::Full
    }

    /// Whether a hash belongs to another segment: the directory, not the segment, decides.
    async fn left(&self, c: &Context, segment: u64, hash: u64) -> bool {
        self.segment(c, hash).await.2 != segment
    }

    async fn split(&self, c: &Context, hash: u64, segment: u64) {
        self.lock.acquire(c).await;
        let (mut depth, _, current) = self.segment(c, hash).await;
        if current == segment {
            Gate(segment + 8).close(c).await;
            let local = c.load(segment).await;
            if local == depth {
                directory::double(c, self.directory, depth).await;
                depth += 1;
            }
            self.split_in_two(c, segment, local, depth, hash).await;
            Gate(segment + 8).open(c).await;
        }
        self.lock.release(c).await;
    }

    /// The upper half of a segment's hashes moves to a new one; the old one keeps stale pairs until overwritten.
    async fn split_in_two(&self, c: &Context, segment: u64, local: u64, depth: u64, hash: u64) {
        let new = self.new_segment(c, local + 1).await;
        Gate(new + 8).make_closed(c).await;
        for index in 0..PAIRS {
            let pair = segment + FIRST + index * 16;
            let key = c.load(pair).await;
            if key == 0 || key == CLAIMED || mix(key) >> (63 - local) & 1 == 0 {
                continue;
            }
            let value = c.load(pair + 8).await;
            c.store(new + FIRST + index * 16 + 8, value).await;
            c.store(new + FIRST + index * 16, key).await;
        }
        c.persist(new, 64 * (1 + LINES)).await;
        let table = c.load(self.directory).await & !63;
        let span = 1 << (depth - local);
        let first = (hash >> (63 - depth) >> 1) / span * span;
        for index in first + span / 2..first + span {
            c.store(table + index * 8, new).await;
        }
        c.persist(table + (first + span / 2) * 8, span * 4).await;
        c.publish(segment, local + 1).await;
        Gate(new + 8).open(c).await;
    }

    async fn get(&self, c: &Context, key: u64) -> Option<u64> {
        let hash = mix(key);
        c.executes(SEARCH).await;
        let (_, _, segment) = self.segment(c, hash).await;
        for probe in 0..PROBE * 4 {
            let pair = segment + FIRST + (hash % LINES + probe / 4) % LINES * 64 + probe % 4 * 16;
            if c.load(pair).await == key {
                return Some(c.load(pair + 8).await);
            }
        }
        None
    }
}

/// Every pair that the directory leads to has its value, and every key whose insertion was durable is found.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let seed = crashed.common_random().next_u64() | 1;
    let total = crashed.settings.number("workload.operations");
    let word = memory.word(PM_BASE);
    let (table, depth) = (word & !63, word & 63);
    if table < PM_BASE || depth > 40 {
        return Err(format!("the directory word {word:#x} names no table"));
    }
    for entry in 0..1u64 << depth {
        let segment = memory.word(table + entry * 8);
        if segment < PM_BASE || !segment.is_multiple_of(64) || memory.word(segment) > depth {
            return Err(format!("entry {entry} of the directory leads to no segment"));
        }
    }
    let segment =
        |memory: &mut dyn Persistent, hash: u64| memory.word(table + (hash >> (63 - depth) >> 1) * 8);
    for thread in 0..crashed.threads() {
        let (from, keys) = crashed.share(total, thread);
        let durable = if crashed.durable() { crashed.ended[thread].min(keys) } else { 0 };
        for n in 0..keys {
            let key = mix(seed ^ (from + n)) | 1;
            let hash = mix(key);
            let segment = segment(memory, hash);
            let pairs =
                (0..PROBE * 4).map(|p| segment + FIRST + (hash % LINES + p / 4) % LINES * 64 + p % 4 * 16);
            match pairs.into_iter().find(|pair| memory.word(*pair) == key) {
                Some(pair) if memory.word(pair + 8) != from + n => {
                    return Err(format!(
                        "key {key:#x} has value {}, not {}",
                        memory.word(pair + 8),
                        from + n
                    ));
                }
                Some(_) if n > crashed.ended[thread] => {
                    return Err(format!("key {key:#x} is there, and its insertion had not begun"));
                }
                None if n < durable => return Err(format!("key {key:#x} was committed and is missing")),
                _ => {}
            }
        }
    }
    Ok(())
}

pub(crate) async fn run(c: Context) {
    let table =
        Table { directory: Context::common_pm().lines(1), lock: Lock(Context::common_dram().lines(1)) };
    let total = c.settings.number("workload.operations");
    let (from, keys) = (c.share_start(total), c.share(total));
    let seed = c.common_random().next_u64() | 1;
    let key = |n: u64| mix(seed ^ (from + n)) | 1;
    if c.thread == 0 {
        table.create(&c, c.settings.number("workload.initial_depth")).await;
    }
    sync::start(&c).await;
    for n in 0..keys {
        table.insert(&c, key(n), from + n).await;
        c.end_operation().await;
    }
    for n in 0..keys * c.settings.number("workload.search_percent") / 100 {
        table.get(&c, key(n)).await;
        c.cpu.operation_done();
    }
    sync::finish(&c).await;
}
