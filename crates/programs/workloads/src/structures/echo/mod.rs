//! Echo: a scalable key-value store for persistent memory (Bailey et al., INFLOW 2013). A worker puts into a volatile
//! table of its own; a commit copies that to a record in persistent memory, appends the record to the log of the master
//! store, and merges it: each key there has a vector of versions.
//!
//! Every object is one of the persistent heap's ([`heap`]); states are words that persist after what they speak for.
//!
//! * Master: count of the log at 0, newest snapshot at 64, places of the log from 128 on, then a line for each bucket,
//!   whose first word is its first entry.
//! * Entry: key hash, next in the bucket, table. Table: vector of versions, newest snapshot, state.
//! * Vector: places, capacity, count, state.
//! * Version: value, bytes of it, snapshot, record, number of the worker's operation, state.
//! * Record: vector of pairs, seven words about it, snapshot at 64, next at 72, state at 80.
//! * Pair: key, value, bytes of it, number of the operation, state.

mod heap;
mod recovery;

use crate::context::{Context, Layout};
use crate::sync::{self, Lock};
use crate::workload::{Asked, Count, Flag, N, PERCENT, THREAD_MIB, Workload, params};
use heap::{Heap, persist};
use protocol::{PM_BASE, Settings};
use units::{Random, mix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "echo",
    meaning: "Echo: workers put into stores of their own and merge into a master store of versions",
    source: "Bailey et al., INFLOW 2013; WHISPER (ASPLOS 2017)",
    params: params! {
        "operations" N, "10000", "artifact: 10000 operations", "operations of all threads";
        "keys" N, "10000", "artifact: PREPOP", "keys that are there at the start";
        "key_size" Count { min: 8, max: 1024 }, "128", "artifact", "bytes of a key";
        "value_size" Count { min: 8, max: 4096 }, "1024", "artifact", "bytes of a value";
        "put_percent" PERCENT, "80", "artifact: put probability 0.8", "operations that put";
        "update_percent" PERCENT, "70", "artifact: update probability 0.7", "puts of a key that was there at the start; the others put a new one";
        "thread_mib" THREAD_MIB, "64", "open 64: what is asked of the program", "MiB of memory that each thread has, persistent and volatile each";
        "durable" Flag, "true", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
    },
    check: Some(fits),
    program: |c| Box::pin(run(c)),
    recover: Some(recovery::recover),
};

const LOG: u64 = PM_BASE + 128;
const BUCKETS: u64 = 1 << 14;

/// Where buckets and the keys of the start lie, behind a log with a place for each operation.
#[derive(Clone, Copy, Debug)]
struct Places {
    buckets: u64,
    keys: u64,
    value_size: u64,
}

impl Places {
    fn of(settings: &Settings) -> Places {
        let log = settings.number("workload.operations") * 8;
        Places {
            buckets: (LOG + log).next_multiple_of(64),
            keys: settings.number("workload.keys"),
            value_size: settings.number("workload.value_size"),
        }
    }

    fn first_key(self) -> u64 {
        self.buckets + BUCKETS * 64
    }

    /// Bytes of a key that is there at the start, with its value: the lines of entry, table, vector, places and version, then
    /// the value.
    fn stride(self) -> u64 {
        5 * SMALL + self.value_size.next_multiple_of(64)
    }

    fn entry(self, key: u64) -> u64 {
        self.first_key() + key * self.stride()
    }

    fn end(self) -> u64 {
        self.entry(self.keys)
    }
}

/// The log, the buckets and the keys of the start lie in what all threads share.
fn fits(asked: &Asked<'_>) -> Result<(), String> {
    let (bytes, room) = (Places::of(asked.settings).end() - PM_BASE, Layout::USUAL.common_bytes);
    if bytes <= room {
        return Ok(());
    }
    let key = if asked.settings.number("workload.operations") * 8 > room { "operations" } else { "keys" };
    let given = asked.settings.number(&format!("workload.{key}"));
    Err(format!(
        "workload.{key} = {given}: the log and the keys of the start take {bytes} bytes, and there is room for {room}"
    ))
}

/// Places of a new vector: a line of them.
const PLACES: u64 = 8;
/// Where a word stands in a vector.
const CAPACITY: u64 = 8;
const COUNT: u64 = 16;
const VECTOR_STATE: u64 = 24;
/// Bytes of the smaller objects, and of a record.
const SMALL: u64 = 64;
const RECORD: u64 = 128;
/// Where the state stands in a record.
const RECORD_STATE: u64 = 80;

/// What a state says: the object is whole; a record is in the log; it is merged.
const WHOLE: u64 = 1;
const LOGGED: u64 = 2;
const COMMITTED: u64 = 3;
const MERGED: u64 = 4;

/// Instructions of the original (docs/models/workloads.md), in the order in which it executes them. A put until it
/// allocates its record: the worker's own table, the key's hash, copies of both.
const OWN_TABLE: u64 = 7276;
const VECTOR: u64 = 20;
const RECORD_WORDS: u64 = 704;
const PAIR: u64 = 237;
const COPY: u64 = 110;
const APPEND: u64 = 60;
const COMMIT: u64 = 726;
const SNAPSHOT: u64 = 68;
const LINK: u64 = 93;
const STATE: u64 = 27;
const IN_LOG: u64 = 154;
const TO_MERGE: u64 = 323;
/// The key's look-up in the master, and what a new one takes besides.
const LOOK_UP: u64 = 2800;
const NEW_TABLE: u64 = 240;
const NEW_ENTRY: u64 = 2362;
const END_OF_MERGE: u64 = 236;
const RETURN: u64 = 1468;
const GET: u64 = 6741;

/// Which key an operation is about, and what it does.
#[derive(Clone, Copy, Debug)]
struct Request {
    hash: u64,
    puts: bool,
}

/// The requests of a thread, one after the other.
struct Requests {
    random: Random,
    thread: u64,
    made: u64,
    keys: u64,
    put_permille: u64,
    update_permille: u64,
}

impl Requests {
    fn new(settings: &Settings, thread: usize, random: Random) -> Requests {
        Requests {
            random,
            thread: thread as u64,
            made: 0,
            keys: settings.number("workload.keys"),
            put_permille: settings.number("workload.put_percent") * 10,
            update_permille: settings.number("workload.update_percent") * 10,
        }
    }

    fn next(&mut self) -> Request {
        self.made += 1;
        let puts = self.random.chance(self.put_permille);
        let known = !puts || self.random.chance(self.update_permille);
        let key = self.random.below(self.keys);
        // A new key is nobody else's.
        let key = if known { key } else { (self.thread + 1) << 40 | self.made };
        Request { hash: hash_of(key), puts }
    }
}

/// The hash of a key, which stands for it; of no two it is the same.
fn hash_of(key: u64) -> u64 {
    mix(key + 1)
}

struct Store {
    places: Places,
    locks: u64,
    log_lock: Lock,
    heap: Heap,
    key_size: u64,
}

impl Store {
    fn new(c: &Context) -> Store {
        let dram = Context::common_dram();
        Store {
            places: Places::of(&c.settings),
            log_lock: Lock(dram.lines(1)),
            locks: dram.lines(BUCKETS),
            heap: Heap::new(c),
            key_size: c.settings.number("workload.key_size"),
        }
    }

    /// The keys of the start. Their values are zero, as memory is.
    async fn populate(&self, c: &Context) {
        for key in 0..self.places.keys {
            let entry = self.places.entry(key);
            let [table, vector, places, version, value] = [1, 2, 3, 4, 5].map(|n| entry + n * SMALL);
            let bucket = self.bucket(hash_of(key));
            let next = c.load(bucket).await;
            for (address, word) in [
                (entry, hash_of(key)),
                (entry + 8, next),
                (entry + 16, table),
                (table, vector),
                (vector, places),
                (vector + CAPACITY, PLACES),
                (vector + COUNT, 1),
                (places, version),
                (version, value),
                (version + 8, self.places.value_size),
                (bucket, entry),
            ] {
                c.store(address, word).await;
            }
            c.cpu.clwb_range(entry, 5 * SMALL).await;
            c.cpu.clwb(bucket).await;
        }
        c.cpu.dfence().await;
    }

    fn bucket(&self, hash: u64) -> u64 {
        self.places.buckets + hash % BUCKETS * 64
    }

    fn lock(&self, hash: u64) -> Lock {
        Lock(self.locks + hash % BUCKETS * 64)
    }

    /// A vector with no place taken, which `place` leads to.
    async fn vector(&self, c: &Context, place: u64) -> u64 {
        let vector = self.heap.alloc_for(c, place, SMALL).await;
        self.heap.alloc_for(c, vector, PLACES * 8).await;
        c.executes(VECTOR).await;
        c.store(vector + CAPACITY, PLACES).await;
        c.store(vector + COUNT, 0).await;
        persist(c, vector, 24).await;
        self.state(c, vector + VECTOR_STATE, WHOLE).await;
        vector
    }

    async fn state(&self, c: &Context, place: u64, state: u64) {
        c.executes(STATE).await;
        c.publish(place, state).await;
    }

    /// Appends what has persisted to a vector: the place, then the count that makes it one.
    async fn append(&self, c: &Context, vector: u64, object: u64) {
        let (count, capacity) = (c.load(vector + COUNT).await, c.load(vector + CAPACITY).await);
        if count == capacity {
            self.grow(c, vector, count).await;
        }
        let places = c.load(vector).await;
        c.executes(APPEND).await;
        c.publish(places + count * 8, object).await;
        c.executes(STATE).await;
        c.release(vector + COUNT, count + 1).await;
    }

    /// Twice the places, with what was in them.
    async fn grow(&self, c: &Context, vector: u64, count: u64) {
        let places = self.heap.alloc(c, count * 16).await;
        let old = c.load(vector).await;
        for n in 0..count {
            let object = c.load(old + n * 8).await;
            c.store(places + n * 8, object).await;
        }
        persist(c, places, count * 8).await;
        c.store(vector, places).await;
        c.store(vector + CAPACITY, count * 2).await;
        persist(c, vector, 16).await;
    }

    /// A record of one pair: a copy of the key and of the value.
    async fn record(&self, c: &Context, request: Request, number: u64, value: &[u8]) -> (u64, u64) {
        c.executes(OWN_TABLE).await;
        let record = self.heap.alloc(c, RECORD).await;
        let pairs = self.vector(c, record).await;
        c.executes(RECORD_WORDS).await;
        for word in 1..=7 {
            c.store(record + word * 8, request.hash).await;
        }
        persist(c, record, RECORD).await;
        self.state(c, record + RECORD_STATE, WHOLE).await;
        c.executes(PAIR).await;
        let pair = self.heap.alloc(c, SMALL).await;
        let key = self.heap.alloc(c, self.key_size).await;
        let copy = self.heap.alloc(c, self.places.value_size).await;
        c.executes(COPY).await;
        c.cpu.store_bytes(key, &vec![request.hash as u8; self.key_size as usize]).await;
        persist(c, key, self.key_size).await;
        c.cpu.store_bytes(copy, value).await;
        persist(c, copy, self.places.value_size).await;
        c.executes(STATE).await;
        for (n, word) in (0..).zip([key, copy, self.places.value_size, number]) {
            c.store(pair + n * 8, word).await;
        }
        persist(c, pair, 32).await;
        self.state(c, pair + 32, WHOLE).await;
        self.append(c, pairs, pair).await;
        (record, pair)
    }

    /// Appends a record to the log, which gives it its snapshot.
    async fn commit(&self, c: &Context, record: u64) -> u64 {
        c.executes(COMMIT).await;
        self.log_lock.acquire(c).await;
        let count = c.load(PM_BASE).await;
        let before = if count == 0 { 0 } else { c.load(LOG + (count - 1) * 8).await };
        c.publish(LOG + count * 8, record).await;
        c.executes(STATE).await;
        c.publish(PM_BASE, count + 1).await;
        c.executes(STATE).await;
        c.publish(PM_BASE + 64, count + 1).await;
        c.executes(SNAPSHOT).await;
        c.publish(record + 64, count + 1).await;
        self.log_lock.release(c).await;
        c.executes(LINK).await;
        if before != 0 {
            c.publish(before + 72, record).await;
        }
        c.executes(IN_LOG).await;
        c.publish(record + RECORD_STATE, LOGGED).await;
        count + 1
    }

    /// The entry of a key, zero where there is none.
    async fn entry(&self, c: &Context, hash: u64) -> u64 {
        let mut entry = c.cpu.load_acquire(self.bucket(hash)).await;
        while entry != 0 && c.load(entry).await != hash {
            entry = c.load(entry + 8).await;
        }
        entry
    }

    /// Merges a record's pair into the master: a version at the end of its key's vector.
    async fn merge(&self, c: &Context, hash: u64, (record, pair): (u64, u64), snapshot: u64) {
        c.executes(TO_MERGE).await;
        c.publish(record + RECORD_STATE, COMMITTED).await;
        self.lock(hash).acquire(c).await;
        c.executes(LOOK_UP).await;
        let found = self.entry(c, hash).await;
        let entry = if found == 0 { self.new_entry(c, hash).await } else { found };
        let table = c.load(entry + 16).await;
        let version = self.version(c, (record, pair), snapshot).await;
        let vector = c.load(table).await;
        self.append(c, vector, version).await;
        c.executes(APPEND).await;
        c.publish(table + 8, snapshot).await;
        if found == 0 {
            c.executes(NEW_ENTRY).await;
            c.release(self.bucket(hash), entry).await;
        }
        self.lock(hash).release(c).await;
        c.executes(END_OF_MERGE).await;
        c.publish(record + RECORD_STATE, MERGED).await;
        c.executes(RETURN).await;
    }

    /// An entry without versions, which its bucket does not lead to yet.
    async fn new_entry(&self, c: &Context, hash: u64) -> u64 {
        let entry = self.heap.alloc(c, SMALL).await;
        let next = c.load(self.bucket(hash)).await;
        c.executes(STATE).await;
        c.store(entry, hash).await;
        c.store(entry + 8, next).await;
        persist(c, entry, 16).await;
        let table = self.heap.alloc_for(c, entry + 16, SMALL).await;
        self.vector(c, table).await;
        c.executes(NEW_TABLE).await;
        c.store(table + 8, 0).await;
        persist(c, table, 24).await;
        self.state(c, table + 16, WHOLE).await;
        persist(c, entry, 24).await;
        entry
    }

    async fn version(&self, c: &Context, (record, pair): (u64, u64), snapshot: u64) -> u64 {
        let version = self.heap.alloc(c, SMALL).await;
        let (copy, size, number) = (c.load(pair + 8).await, c.load(pair + 16).await, c.load(pair + 24).await);
        c.executes(APPEND).await;
        for (n, word) in (0..).zip([copy, size, snapshot, record, number]) {
            c.store(version + n * 8, word).await;
        }
        persist(c, version, 40).await;
        self.state(c, version + 40, WHOLE).await;
        version
    }

    async fn put(&self, c: &Context, request: Request, number: u64, value: &[u8]) {
        let parts = self.record(c, request, number, value).await;
        let snapshot = self.commit(c, parts.0).await;
        self.merge(c, request.hash, parts, snapshot).await;
    }

    /// The newest version of a key.
    async fn get(&self, c: &Context, hash: u64, value: &mut [u8]) {
        c.executes(GET).await;
        let entry = self.entry(c, hash).await;
        if entry == 0 {
            return;
        }
        let table = c.load(entry + 16).await;
        let vector = c.load(table).await;
        let count = c.cpu.load_acquire(vector + COUNT).await;
        let places = c.load(vector).await;
        let version = c.load(places + (count - 1) * 8).await;
        let copy = c.load(version).await;
        c.cpu.load_bytes(copy, value).await;
    }
}

pub(crate) async fn run(c: Context) {
    let store = Store::new(&c);
    let mut value = vec![0; c.settings.count("workload.value_size")];
    let mut requests = Requests::new(&c.settings, c.thread, c.random());
    if c.thread == 0 {
        store.populate(&c).await;
    }
    sync::start(&c).await;
    for n in 0..c.share(c.settings.number("workload.operations")) {
        let request = requests.next();
        if request.puts {
            value.fill(n as u8);
            store.put(&c, request, n, &value).await;
            c.end_operation().await;
        } else {
            store.get(&c, request.hash, &mut value).await;
            c.cpu.operation_done();
        }
    }
    sync::finish(&c).await;
}
