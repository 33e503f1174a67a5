//! Dash: scalable hashing on persistent memory (Lu et al., VLDB 2020), with an extendible (`dash-eh`) and a
//! linear (`dash-lh`) directory over the same buckets.
//!
//! Bucket of 256 bytes: lock at 0, bitmap of used records at 8, fingerprints (one byte each) at 16; 14 records of
//! key and value from 32 on. Segment: local depth at 0; 64 buckets and 2 stash buckets from 64 on. A
//! key goes to the emptier of two neighbouring buckets, else to the stash. Keys are variable: a record holds a
//! pointer to the key, which persists first.

use super::directory;
use crate::context::Context;
use crate::recovery::{Crashed, Persistent, is_place};
use crate::sync::{self, Lock};
use crate::workload::{Count, Flag, N, Param, Workload, params};
use protocol::PM_BASE;
use units::mix;

/// The parameters of both.
const PARAMS: &[Param] = params! {
    "operations" N, "40000", "artifact: -p 40000", "keys inserted by all threads";
    "preload" Count { min: 0, max: 10_000_000 }, "4000", "artifact: -n 4000", "keys inserted beforehand";
    "initial_depth" Count { min: 0, max: 12 }, "2", "open 1..4: the size at the start is not published", "depth of the directory at the start: logarithm of its segments";
    "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
};

pub(crate) const DASH_LH: Workload = Workload {
    name: "dash-lh",
    meaning: "Dash with linear hashing",
    source: "Lu et al., VLDB 2020",
    params: PARAMS,
    check: None,
    program: |c| Box::pin(run(c, true)),
    recover: Some(|m, c| recover(m, c, true)),
};

pub(crate) const DASH_EH: Workload = Workload {
    name: "dash-eh",
    meaning: "Dash with extendible hashing",
    source: "Lu et al., VLDB 2020",
    params: PARAMS,
    check: None,
    program: |c| Box::pin(run(c, false)),
    recover: Some(|m, c| recover(m, c, false)),
};

const BUCKETS: u64 = 64;
const STASH: u64 = 2;
const RECORDS: u64 = 14;
const BUCKET: u64 = 256;
const BITMAP: u64 = 8;
const FINGERPRINTS: u64 = 16;
const FIRST: u64 = 32;
const KEY: u64 = 16;
const SEGMENT: u64 = 64 + (BUCKETS + STASH) * BUCKET;

/// Instructions of the original up to an insertion's first fence, in the extendible directory and in the linear one; from there
/// to the second; and after it (docs/models/workloads.md).
const FINDING: [u64; 2] = [242, 285];
const BETWEEN: u64 = 62;
const RETURN: [u64; 2] = [39, 52];

fn bucket(segment: u64, index: u64) -> u64 {
    segment + 64 + index * BUCKET
}

/// The part of a hash that chooses the bucket; the high bits choose the segment.
fn home(hash: u64) -> u64 {
    hash >> 8 & (BUCKETS - 1)
}

/// Puts a record into a bucket that has room: the record persists before the bit that makes it valid, unless the whole
/// segment will, which nobody sees yet.
async fn put(c: &Context, bucket: u64, (hash, key, value): (u64, u64, u64), shared: bool) {
    let bitmap = c.load(bucket + BITMAP).await;
    let slot = u64::from((!bitmap).trailing_zeros());
    let record = bucket + FIRST + slot * 16;
    c.store(record, key).await;
    c.store(record + 8, value).await;
    if shared {
        c.persist(record, 16).await;
        c.executes(BETWEEN).await;
    }
    c.cpu.store_sized(bucket + FINGERPRINTS + slot, 1, hash & 0xFF).await;
    c.store(bucket + BITMAP, bitmap | 1 << slot).await;
    if shared {
        c.persist(bucket, 32).await;
    }
}

async fn used(c: &Context, bucket: u64) -> u64 {
    u64::from(c.load(bucket + BITMAP).await.count_ones())
}

/// Puts a record into the first stash bucket that has room; false when none has.
async fn put_aside(c: &Context, segment: u64, record: (u64, u64, u64)) -> bool {
    for index in 0..STASH {
        let stash = bucket(segment, BUCKETS + index);
        Lock(stash).acquire(c).await;
        let fits = used(c, stash).await < RECORDS;
        if fits {
            put(c, stash, record, true).await;
        }
        Lock(stash).release(c).await;
        if fits {
            return true;
        }
    }
    false
}

/// Who splits a segment has every lock of it, in the order in which inserters take theirs.
async fn lock_all(c: &Context, segment: u64) {
    for index in 0..BUCKETS + STASH {
        Lock(bucket(segment, index)).acquire(c).await;
    }
}

async fn unlock_all(c: &Context, segment: u64) {
    for index in 0..BUCKETS + STASH {
        Lock(bucket(segment, index)).release(c).await;
    }
}

/// Puts a record into a segment that nobody else may use yet, and that persists as a whole.
async fn place(c: &Context, segment: u64, record: (u64, u64, u64)) {
    let (a, b) = (home(record.0), (home(record.0) + 1) % BUCKETS);
    let (first, second) = (bucket(segment, a.min(b)), bucket(segment, a.max(b)));
    let (in_first, in_second) = (used(c, first).await, used(c, second).await);
    if in_first.min(in_second) < RECORDS {
        return put(c, if in_first <= in_second { first } else { second }, record, false).await;
    }
    for index in 0..STASH {
        let stash = bucket(segment, BUCKETS + index);
        if used(c, stash).await < RECORDS {
            return put(c, stash, record, false).await;
        }
    }
    unreachable!("half a segment fits an empty one");
}

/// Copies every record whose hash `moves` says so from one segment into another, which nobody else may use yet.
/// Gives the bitmaps of those that stay.
async fn copy_records(c: &Context, from: u64, to: u64, moves: impl Fn(u64) -> bool) -> Vec<u64> {
    let mut stay = Vec::new();
    for index in 0..BUCKETS + STASH {
        let old = bucket(from, index);
        let (mut bitmap, mut kept) = (c.load(old + BITMAP).await, c.load(old + BITMAP).await);
        while bitmap != 0 {
            let slot = u64::from(bitmap.trailing_zeros());
            bitmap &= bitmap - 1;
            let record = old + FIRST + slot * 16;
            let (key, value) = (c.load(record).await, c.load(record + 8).await);
            let hash = c.load(key + 8).await;
            if moves(hash) {
                kept &= !(1 << slot);
                place(c, to, (hash, key, value)).await;
            }
        }
        stay.push(kept);
    }
    c.persist(to, SEGMENT).await;
    stay
}

/// Takes the copied records out, once the directory leads to their copies: a power failure before leaves them twice,
/// and the directory says which counts.
async fn remove_copied(c: &Context, from: u64, stay: &[u64]) {
    for (index, kept) in (0..).zip(stay) {
        let old = bucket(from, index);
        c.store(old + BITMAP, *kept).await;
        c.cpu.clwb(old).await;
    }
    c.cpu.ofence().await;
}

/// Keys of 16 bytes in persistent memory, each a number and its hash, so that a record can be moved without it. They
/// are there before the first insertion, as in the original's benchmark. Gives the first one's address.
async fn make_keys(c: &Context, count: u64, number: impl Fn(u64) -> u64) -> u64 {
    let first = c.pm.alloc(count * KEY, KEY);
    for n in 0..count {
        c.store(first + n * KEY, number(n)).await;
        c.store(first + n * KEY + 8, mix(number(n))).await;
        c.persist(first + n * KEY, KEY).await;
    }
    first
}

enum Insert {
    Done,
    /// The segment was split meanwhile.
    Moved,
    Full,
}

/// The root line: the table's address with its depth (extendible), or the number of segments (linear).
struct Dash {
    root: u64,
    lock: Lock,
    table: u64,
    linear: bool,
}

impl Dash {
    /// The entry that points to a hash's segment.
    async fn entry(&self, c: &Context, hash: u64) -> (u64, u64) {
        let word = c.cpu.load_acquire(self.root).await;
        if self.linear {
            return (self.table + linear_index(hash >> 16, word) * 8, word);
        }
        let (table, depth) = (word & !63, word & 63);
        (table + (hash >> (63 - depth) >> 1) * 8, depth)
    }

    async fn insert(&self, c: &Context, key: u64, value: u64) {
        let hash = c.load(key + 8).await;
        c.executes(FINDING[usize::from(self.linear)]).await;
        loop {
            let segment = c.cpu.load_acquire(self.entry(c, hash).await.0).await;
            match self.insert_into(c, segment, (hash, key, value)).await {
                Insert::Done => break,
                Insert::Moved => {}
                Insert::Full => self.grow(c, hash, segment).await,
            }
        }
        c.executes(RETURN[usize::from(self.linear)]).await;
    }

    /// Inserts under the locks of the two buckets that a key may be in, once it is certain that this is still its segment.
    async fn insert_into(&self, c: &Context, segment: u64, record: (u64, u64, u64)) -> Insert {
        let (a, b) = (home(record.0), (home(record.0) + 1) % BUCKETS);
        let (first, second) = (bucket(segment, a.min(b)), bucket(segment, a.max(b)));
        Lock(first).acquire(c).await;
        Lock(second).acquire(c).await;
        let current = c.load(self.entry(c, record.0).await.0).await == segment;
        let (in_first, in_second) = (used(c, first).await, used(c, second).await);
        let result = if !current {
            Insert::Moved
        } else if in_first.min(in_second) < RECORDS {
            put(c, if in_first <= in_second { first } else { second }, record, true).await;
            Insert::Done
        } else if put_aside(c, segment, record).await {
            Insert::Done
        } else {
            Insert::Full
        };
        Lock(second).release(c).await;
        Lock(first).release(c).await;
        result
    }

    async fn grow(&self, c: &Context, hash: u64, segment: u64) {
        self.lock.acquire(c).await;
        let (entry, state) = self.entry(c, hash).await;
        if c.load(entry).await == segment {
            if self.linear {
                self.grow_linear(c, state).await;
            } else {
                self.split(c, hash, segment, state).await;
            }
        }
        self.lock.release(c).await;
    }

    /// Linear hashing: the next segment in turn is split, whichever was full.
    async fn grow_linear(&self, c: &Context, segments: u64) {
        let victim = segments - (segments + 1).next_power_of_two() / 2;
        let old = c.load(self.table + victim * 8).await;
        lock_all(c, old).await;
        let new = c.pm.alloc(SEGMENT, 64);
        let stay = copy_records(c, old, new, |hash| linear_index(hash >> 16, segments + 1) == segments).await;
        c.release(self.table + segments * 8, new).await;
        c.release(self.root, segments + 1).await;
        remove_copied(c, old, &stay).await;
        unlock_all(c, old).await;
    }

    async fn split(&self, c: &Context, hash: u64, segment: u64, mut depth: u64) {
        let local = c.load(segment).await;
        lock_all(c, segment).await;
        if local == depth {
            directory::double(c, self.root, depth).await;
            depth += 1;
        }
        let new = c.pm.alloc(SEGMENT, 64);
        c.store(new, local + 1).await;
        let stay = copy_records(c, segment, new, |hash| hash >> (63 - local) & 1 == 1).await;
        let table = c.load(self.root).await & !63;
        let span = 1 << (depth - local);
        let first = (hash >> (63 - depth) >> 1) / span * span + span / 2;
        // Who finds the new segment there comes after it.
        for index in first..first + span / 2 {
            c.cpu.store_release(table + index * 8, new).await;
        }
        c.persist(table + first * 8, span * 4).await;
        c.publish(segment, local + 1).await;
        remove_copied(c, segment, &stay).await;
        unlock_all(c, segment).await;
    }

    async fn create(&self, c: &Context, depth: u64) {
        let table = if self.linear { self.table } else { c.pm.alloc(8 << depth, 64) };
        for index in 0..1 << depth {
            let segment = c.pm.alloc(SEGMENT, 64);
            c.publish(segment, depth).await;
            c.store(table + index * 8, segment).await;
        }
        c.persist(table, 8 << depth).await;
        c.publish(self.root, if self.linear { 1 << depth } else { table | depth }).await;
    }
}

/// The segment of a hash among `segments`: modulo the larger power of two, or the smaller where that is not there.
fn linear_index(hash: u64, segments: u64) -> u64 {
    let large = segments.next_power_of_two();
    let index = hash % large;
    if index < segments { index } else { hash % (large / 2) }
}

/// The value of a key; an error when the table is none. Locks are made anew by a recovery.
fn look_up(memory: &mut dyn Persistent, linear: bool, number: u64) -> Result<Option<u64>, String> {
    let (root, hash) = (memory.word(PM_BASE), mix(number));
    let entry = if linear {
        if root == 0 || root > 1 << 16 {
            return Err(format!("the root says that there are {root} segments"));
        }
        PM_BASE + 4096 + linear_index(hash >> 16, root) * 8
    } else {
        let (table, depth) = (root & !63, root & 63);
        if !is_place(table) || depth > 40 {
            return Err(format!("the root {root:#x} names no directory"));
        }
        table + (hash >> (63 - depth) >> 1) * 8
    };
    let segment = memory.word(entry);
    if !is_place(segment) {
        return Err(format!("the directory leads to {segment:#x}, which is no segment"));
    }
    for index in [home(hash), (home(hash) + 1) % BUCKETS].into_iter().chain(BUCKETS..BUCKETS + STASH) {
        let bucket = bucket(segment, index);
        let bitmap = memory.word(bucket + BITMAP);
        let prints = [memory.word(bucket + FINGERPRINTS), memory.word(bucket + FINGERPRINTS + 8)];
        let fits = |slot: u64| prints[slot as usize / 8] >> (slot % 8 * 8) & 0xFF == hash & 0xFF;
        for slot in (0..RECORDS).filter(|slot| bitmap >> slot & 1 == 1 && fits(*slot)) {
            let record = bucket + FIRST + slot * 16;
            let key = memory.word(record);
            if key < PM_BASE || !key.is_multiple_of(16) {
                return Err(format!("the record at {record:#x} is in use and has no key"));
            }
            if memory.word(key) == number {
                return Ok(Some(memory.word(record + 8)));
            }
        }
    }
    Ok(None)
}

/// Every key whose insertion was durable is found with its value.
pub(crate) fn recover(
    memory: &mut dyn Persistent,
    crashed: &Crashed<'_>,
    linear: bool,
) -> Result<(), String> {
    let seed = crashed.common_random().next_u64();
    let (total, preload) =
        (crashed.settings.number("workload.operations"), crashed.settings.number("workload.preload"));
    let check =
        |memory: &mut dyn Persistent, n: u64, persisted: bool| match look_up(memory, linear, seed ^ n)? {
            None if persisted => Err(format!("key {:#x} was committed and is missing", seed ^ n)),
            Some(value) if value != n => Err(format!("key {:#x} has value {value}, not {n}", seed ^ n)),
            _ => Ok(()),
        };
    (0..preload).try_for_each(|n| check(memory, n, true))?;
    for thread in 0..crashed.threads() {
        let (from, count) = crashed.share(total, thread);
        crashed
            .begun(count, thread)
            .try_for_each(|(n, persisted)| check(memory, preload + from + n, persisted))?;
    }
    for n in crashed.still_to_come(total) {
        if look_up(memory, linear, seed ^ (preload + n))?.is_some() {
            return Err(format!("key {:#x} is there, and its insertion had not begun", seed ^ (preload + n)));
        }
    }
    Ok(())
}

pub(crate) async fn run(c: Context, linear: bool) {
    let pm = Context::common_pm();
    let (root, table) = (pm.lines(1), pm.alloc(8 << 16, 4096));
    let dash = Dash { root, table, linear, lock: Lock(Context::common_dram().lines(1)) };
    let total = c.settings.number("workload.operations");
    let seed = c.common_random().next_u64();
    let preload = c.settings.number("workload.preload");
    if c.thread == 0 {
        dash.create(&c, c.settings.number("workload.initial_depth")).await;
        let keys = make_keys(&c, preload, |n| seed ^ n).await;
        for n in 0..preload {
            dash.insert(&c, keys + n * KEY, n).await;
        }
    }
    let (from, count) = (preload + c.share_start(total), c.share(total));
    let keys = make_keys(&c, count, |n| seed ^ (from + n)).await;
    sync::start(&c).await;
    for n in 0..count {
        dash.insert(&c, keys + n * KEY, from + n).await;
        c.end_operation().await;
    }
    sync::finish(&c).await;
}
