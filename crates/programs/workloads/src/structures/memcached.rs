//! Memcached on persistent memory: a hash table of items with one lock for a group of buckets, changed by
//! transactions with an undo log, as in its port to a transactional library.
//!
//! An item: next in its bucket at 0, key hash at 8, time of use at 16, value length at 24, key and value from 32.

use super::log::{UndoLog, Undone};
use crate::context::Context;
use crate::recovery::{Crashed, Expected, Persistent, filled_with, is_place};
use crate::sync::{self, Lock};
use crate::workload::{Count, Flag, N, PERCENT, Workload, params};
use protocol::PM_BASE;
use std::collections::BTreeMap;
use units::mix;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "memcached",
    meaning: "a hash table of items with grouped locks, changed by transactions",
    source: "Memcached; WHISPER (ASPLOS 2017)",
    params: params! {
        "operations" N, "8000", "artifact: memslap -x 8000", "requests of all threads";
        "keys" N, "8000", "open 8000: what is asked of the program", "different keys";
        "key_size" Count { min: 8, max: 1024 }, "16", "artifact: run.cnf", "bytes of a key";
        "value_size" Count { min: 8, max: 4096 }, "64", "artifact: memslap -X 64", "bytes of a value";
        "set_percent" PERCENT, "80", "open 5|80: update-intensive by ASAP §VII; WHISPER has 5", "requests that set";
        "kernel_instructions" Count { min: 0, max: 1_000_000 }, "10300", "open 7000..15300: measured of Linux 6.1, from 64 clients of a Unix socket to one of TCP by loopback, docs/models/workloads.md", "instructions of the kernel for a request, which it receives and answers";
        "log_instructions" Count { min: 0, max: 100_000 }, "1200", "measured: libpmemobj 1.12, docs/models/workloads.md", "instructions of the logging library for a range that it saves";
        "transaction_instructions" Count { min: 0, max: 100_000 }, "1800", "measured: libpmemobj 1.12: a transaction of one range takes 3036, a further range 1213", "instructions of the logging library for a transaction besides";
        "durable" Flag, "true", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

/// Instructions of the original in user mode, all in volatile memory (docs/models/workloads.md): of a set until it has the
/// item's lock (event loop, read, parsing, an item, its hash), with it until the old item is found, to put a new item in the
/// old one's place, or where there is none, and from there on (answer, event loop).
const SET: u64 = 2830;
const SET_FIND: u64 = 103;
const REPLACE: u64 = 978;
const INSERT: u64 = 415;
const SET_ANSWER: u64 = 841;
/// Of a get, in the same way.
const GET: u64 = 1211;
const GET_FIND: u64 = 138;
const GET_ANSWER: u64 = 1245;

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
        c.executes(SET).await;
        lock.acquire(c).await;
        c.executes(SET_FIND).await;
        let item = self.find(c, bucket, hash).await;
        if item != 0 {
            c.executes(REPLACE).await;
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
            c.executes(INSERT).await;
            log.store(c, bucket, new).await;
        }
        log.commit(c).await;
        lock.release(c).await;
    }

    async fn get(&self, c: &Context, hash: u64, value: &mut [u8]) {
        let (bucket, lock) = self.bucket(hash);
        c.executes(GET).await;
        lock.acquire(c).await;
        c.executes(GET_FIND).await;
        let item = self.find(c, bucket, hash).await;
        if item != 0 {
            c.cpu.load_bytes(item + ITEM + self.key_size, value).await;
        }
        lock.release(c).await;
    }
}

/// Every item is in its bucket with a whole value of the time it names, and every committed set is there.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let mut memory = Undone::new(memory, crashed)?;
    let size = crashed.settings.number("workload.value_size");
    let at = ITEM + crashed.settings.number("workload.key_size");
    let keys = crashed.settings.number("workload.keys");
    let mut held = BTreeMap::new();
    for bucket in 0..BUCKETS {
        let mut item = memory.word(PM_BASE + bucket * 8);
        while item != 0 {
            let wrong = || Err(format!("bucket {bucket} leads to {item:#x}, which is no item of it"));
            if !is_place(item) {
                return wrong();
            }
            let (hash, time) = (memory.word(item + 8), memory.word(item + 16));
            if hash % BUCKETS != bucket || held.len() as u64 >= keys {
                return wrong();
            }
            let whole = filled_with(&mut memory, item + at, size) == Some(time as u8);
            if memory.word(item + 24) != size || !whole {
                return Err(format!("the value of {hash:#x} is not the one that was set at time {time}"));
            }
            if held.insert(hash, time).is_some() {
                return Err(format!("key {hash:#x} is there twice"));
            }
            item = memory.word(item);
        }
    }
    expected(crashed, keys).check(&held)
}

/// What the requests that had begun say: each key's hash and the time of its last set.
fn expected(crashed: &Crashed<'_>, keys: u64) -> Expected {
    let total = crashed.settings.number("workload.operations");
    let sets = crashed.settings.number("workload.set_percent") * 10;
    let mut expected = Expected::default();
    for thread in 0..crashed.threads() {
        let mut random = crashed.random(thread);
        for (n, persisted) in crashed.begun(crashed.share(total, thread).1, thread) {
            let hash = mix(random.below(keys)) | 1;
            if random.chance(sets) {
                expected.note(thread, hash, Some(n), persisted);
            }
        }
    }
    expected
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
    let kernel = c.settings.number("workload.kernel_instructions");
    let (receive, send) = (kernel / 2, kernel.div_ceil(2));
    let mut value = vec![0; c.settings.count("workload.value_size")];
    let mut random = c.random();
    sync::start(&c).await;
    for n in 0..c.share(c.settings.number("workload.operations")) {
        c.executes(receive).await;
        let hash = mix(random.below(keys)) | 1;
        if random.chance(sets) {
            value.fill(n as u8);
            cache.set(&c, &log, hash, &value, n).await;
            c.end_operation().await;
            c.executes(SET_ANSWER + send).await;
        } else {
            cache.get(&c, hash, &mut value).await;
            c.executes(GET_ANSWER + send).await;
            c.cpu.operation_done();
        }
    }
    sync::finish(&c).await;
}
