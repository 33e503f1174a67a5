//! A Redis server under YCSB's workload C, as its memory sees it: each record is a hash of ten fields of a hundred bytes, and a request
//! reads all of them. Nothing is persistent, and every value that is read is checked.
//!
//! An entry: key at 0, value at 8, next at 16. An object: type and time at 0, its hash at 8. A hash: its table at 8, how many it has at
//! 24. A table has sixteen words. What a request does between references, in instructions, and which lines of the server's own
//! state it refers to, are of a Redis that was recorded.
//!
//! Source: Redis 7.0's dict.c, t_hash.c and networking.c, by what they do; jemalloc's size classes; YCSB's client for Redis (HMSET,
//! ZADD, HGETALL); Redis 7.0.15, recorded under that load.

use super::classes::Class;
use super::popularity::Popularity;
use crate::context::Context;
use crate::sync;
use crate::workload::{Count, N, THREAD_MIB, Workload, params};
use protocol::PAGE_BYTES;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "redis-ycsb",
    meaning: "a Redis-like store of hashes under YCSB's workload C; nothing is persistent, every value read is checked",
    source: "Redis 7.0, by what it does; YCSB's core workload C",
    params: params! {
        threads "1", "datasheet: Redis serves from one thread";
        "keys" Count { min: 1, max: 1_000_000 }, "10000", "open 10000: what is asked of the program", "records, there before the region of interest";
        "thread_mib" THREAD_MIB, "128", "open 128: what is asked of the program", "MiB of memory that each thread has, persistent and volatile each";
        "warm" Count { min: 0, max: 10_000_000 }, "2000", "open 2000: what is asked of the program", "requests before the region of interest";
        "operations" N, "20000", "open 20000: what is asked of the program", "requests of all threads";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: None,
};

const FIELDS: u64 = 10;
const VALUE: u64 = 100;
/// A string's header, before its bytes: what YCSB's keys and values have, and names of fields.
const HEADER: u64 = 3;
const SHORT_HEADER: u64 = 1;
const NAME: u64 = 23;
const FIELD: u64 = 6;
const TABLE: u64 = 16;
const BUFFER: u64 = 16 << 10;

/// Instructions of a request up to its record's bucket, from the object to the hash's second line, from a field to its value, from there to its
/// being copied, up to the next field, and behind the last one.
const TO_BUCKET: u64 = 2064;
const TO_TABLE: u64 = 790;
const TO_VALUE: u64 = 426;
const TO_COPY: u64 = 327;
const TO_NEXT: u64 = 239;
const TO_END: u64 = 4090;

/// Lines of the server's own state: stack, counters, events, commands, arguments, the connection.
struct State {
    every: u64,
    pages: u64,
    stored: u64,
    loaded: u64,
}

impl State {
    /// Where its lines lie: some of each page, anywhere in it.
    fn offset_of(&self, line: u64) -> u64 {
        let (page, nth) = (line % self.pages, line / self.pages);
        let lines = PAGE_BYTES / 64;
        page * PAGE_BYTES + (units::mix(page + 1) % lines + nth * 13) % lines * 64
    }
}

/// Of the lines outside records those of at least nine in ten requests, and of about each fourth.
const STATE: [State; 2] = [
    State { every: 1, pages: 69, stored: 81, loaded: 149 },
    State { every: 4, pages: 13, stored: 23, loaded: 12 },
];

/// The allocator's classes of what a record is made of.
struct Classes {
    /// Names of fields.
    of_8: Class,
    /// Objects.
    of_16: Class,
    /// Entries, names of records, tables of four.
    of_32: Class,
    /// Nodes of the index.
    of_48: Class,
    /// Tables of eight.
    of_64: Class,
    /// Hashes.
    of_96: Class,
    /// Values.
    of_112: Class,
    /// Tables of sixteen.
    of_128: Class,
}

impl Classes {
    fn new() -> Classes {
        let [of_8, of_16, of_32, of_48, of_64, of_96, of_112, of_128] =
            [8, 16, 32, 48, 64, 96, 112, 128].map(Class::of);
        Classes { of_8, of_16, of_32, of_48, of_64, of_96, of_112, of_128 }
    }
}

struct Store {
    buckets: u64,
    keys: u64,
    classes: Classes,
    state: [u64; STATE.len()],
    reply: u64,
    requests: u64,
}

/// The byte that a field of a record is made of.
fn byte(key: u64, field: u64) -> u8 {
    units::mix(key * FIELDS + field + 1) as u8
}

impl Store {
    fn new(c: &Context, keys: u64) -> Store {
        Store {
            buckets: c.pm.alloc(keys.next_power_of_two() * 8, PAGE_BYTES),
            keys,
            classes: Classes::new(),
            state: STATE.map(|state| c.pm.alloc(state.pages * PAGE_BYTES, PAGE_BYTES)),
            reply: c.pm.alloc(BUFFER, PAGE_BYTES),
            requests: 0,
        }
    }

    fn bucket(&self, key: u64) -> u64 {
        self.buckets + units::mix(!key) % self.keys.next_power_of_two() * 8
    }

    /// HMSET and ZADD: objects in the order in which they are asked for.
    async fn insert(&mut self, c: &Context, key: u64) {
        let object = self.classes.of_16.take(&c.pm);
        let name = self.classes.of_32.take(&c.pm);
        let entry = self.classes.of_32.take(&c.pm);
        let hash = self.classes.of_96.take(&c.pm);
        c.store(name + 8, key).await;
        c.store(object, 0).await;
        c.store(object + 8, hash).await;
        let bucket = self.bucket(key);
        let first = c.load(bucket).await;
        self.put(c, entry, [name, object, first]).await;
        c.store(bucket, entry).await;
        let table = self.fill(c, key).await;
        c.store(hash + 8, table).await;
        c.store(hash + 24, FIELDS).await;
        c.store(hash + 64, 0).await;
        self.index(c, key).await;
    }

    /// The fields of a hash, whose table grows from four to eight and sixteen; returns the last one.
    async fn fill(&mut self, c: &Context, key: u64) -> u64 {
        let of_four = self.classes.of_32.take(&c.pm);
        let of_eight = self.classes.of_64.take(&c.pm);
        let table = self.classes.of_128.take(&c.pm);
        for word in 0..TABLE {
            c.store(table + word * 8, 0).await;
        }
        for field in 0..FIELDS {
            if field == 5 {
                self.classes.of_32.free(of_four);
            }
            let name = self.classes.of_8.take(&c.pm);
            let value = self.classes.of_112.take(&c.pm);
            let entry = self.classes.of_32.take(&c.pm);
            c.store(name, field).await;
            c.cpu.store_bytes(value + HEADER, &[byte(key, field); VALUE as usize]).await;
            let place = table + units::mix(field + 1) % TABLE * 8;
            let first = c.load(place).await;
            self.put(c, entry, [name, value, first]).await;
            c.store(place, entry).await;
        }
        self.classes.of_64.free(of_eight);
        table
    }

    async fn put(&self, c: &Context, at: u64, words: [u64; 3]) {
        for (n, word) in (0..).zip(words) {
            c.store(at + n * 8, word).await;
        }
    }

    /// YCSB keeps the records' names in a sorted set besides, which workload C does not read.
    async fn index(&mut self, c: &Context, key: u64) {
        let (name, node) = (self.classes.of_32.take(&c.pm), self.classes.of_48.take(&c.pm));
        let entry = self.classes.of_32.take(&c.pm);
        c.store(name + 8, key).await;
        c.store(node, name).await;
        self.put(c, entry, [name, node, 0]).await;
    }

    /// What a request refers to besides its record.
    async fn serve(&mut self, c: &Context) {
        for (state, base) in STATE.iter().zip(self.state) {
            if self.requests.is_multiple_of(state.every) {
                for line in 0..state.stored + state.loaded {
                    let at = base + state.offset_of(line);
                    if line < state.stored {
                        c.store(at, self.requests).await;
                    } else {
                        c.load(at).await;
                    }
                }
            }
        }
        self.requests += 1;
    }

    /// The object of a record.
    async fn find(&self, c: &Context, key: u64) -> u64 {
        let mut entry = c.load(self.bucket(key)).await;
        while entry != 0 {
            let mut name = [0; (HEADER + NAME) as usize];
            let at = c.load(entry).await;
            c.cpu.load_bytes(at, &mut name).await;
            if name[8..16] == key.to_le_bytes() {
                return c.load(entry + 8).await;
            }
            entry = c.load(entry + 16).await;
        }
        0
    }

    /// HGETALL.
    async fn read(&mut self, c: &Context, key: u64) {
        self.serve(c).await;
        c.executes(TO_BUCKET).await;
        let object = self.find(c, key).await;
        if object == 0 {
            return c.cpu.fail(format!("record {key} is gone"));
        }
        // When it was read last.
        c.cpu.store_sized(object + 1, 3, 0).await;
        let hash = c.load(object + 8).await;
        c.load(hash + 24).await;
        c.executes(TO_TABLE).await;
        c.load(hash + 64).await;
        let table = c.load(hash + 8).await;
        let mut fields = 0;
        for word in 0..TABLE {
            let mut entry = c.load(table + word * 8).await;
            while entry != 0 {
                self.copy(c, key, entry, fields).await;
                entry = c.load(entry + 16).await;
                fields += 1;
            }
        }
        if fields != FIELDS {
            c.cpu.fail(format!("record {key} has {fields} fields"));
        }
        c.executes(TO_END).await;
    }

    /// One field goes into the reply.
    async fn copy(&self, c: &Context, key: u64, entry: u64, nth: u64) {
        let name = c.load(entry).await;
        let mut field = [0; (SHORT_HEADER + FIELD) as usize];
        c.cpu.load_bytes(name, &mut field).await;
        c.executes(TO_VALUE).await;
        let value = c.load(entry + 8).await;
        c.cpu.load_sized(value + HEADER - 1, 1).await;
        c.executes(TO_COPY).await;
        let mut bytes = [0; VALUE as usize];
        c.cpu.load_bytes(value + HEADER, &mut bytes).await;
        let wanted = byte(key, u64::from(field[0]));
        if bytes.iter().any(|b| *b != wanted) {
            c.cpu.fail(format!("field {} of record {key} is not what was stored", field[0]));
        }
        c.cpu.store_bytes(self.reply + nth * (VALUE + 20), &bytes).await;
        c.executes(TO_NEXT).await;
    }
}

async fn run(c: Context) {
    let keys = c.share(c.settings.number("workload.keys")).max(1);
    let popularity = Popularity::ycsb(keys);
    let mut store = Store::new(&c, keys);
    let mut random = c.random();
    for key in 0..keys {
        store.insert(&c, key).await;
    }
    for _ in 0..c.share(c.settings.number("workload.warm")) {
        store.read(&c, popularity.next(&mut random)).await;
    }
    sync::start(&c).await;
    for _ in 0..c.share(c.settings.number("workload.operations")) {
        let begins = c.cpu.now();
        store.read(&c, popularity.next(&mut random)).await;
        c.cpu.took(c.cpu.now().since(begins));
        c.cpu.moved(FIELDS * VALUE);
        c.cpu.operation_done();
    }
    sync::finish(&c).await;
}
