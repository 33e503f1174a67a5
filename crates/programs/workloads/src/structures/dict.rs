//! Redis's dictionary as its memory sees it: a client's requests are parsed into one buffer and answered from another,
//! a SET stores a new value where an older one was freed last and frees the old one, a GET notes when it came. The server's
//! own state is stored to as measured. Nothing is persistent, and every value that is read is checked.
//!
//! Allocations come in jemalloc's size classes, the last freed first. An entry: key at 0, object at 8, next at 16. An
//! object: type and time at 0, value at 8.
//!
//! Source: Redis 7.0's dict.c, object.c and networking.c, by what they write; memtier's load; stores of Redis 7.0.15, traced.

use super::classes::Class;
use super::popularity::Popularity;
use crate::context::Context;
use crate::sync;
use crate::workload::{Count, N, PERCENT, THREAD_MIB, Workload, params};
use params::{Kind, Plain, Words};

/// The parameters of both, which differ in the order of keys.
macro_rules! load {
    ($pattern:literal) => {
        params! {
            threads "1", "datasheet: Redis serves from one thread";
            "keys" Count { min: 1, max: 1_000_000 }, "40000", "open 40000: what is asked of the program", "keys, there before the region of interest";
            "thread_mib" THREAD_MIB, "64", "open 64: what is asked of the program", "MiB of memory that each thread has, persistent and volatile each";
            "operations" N, "20000", "open 20000: what is asked of the program", "requests of all threads";
            "value_size" Count { min: 8, max: 4096 }, "300", "artifact: memtier -d 300 (KCacheSim)", "bytes of a value";
            "set_percent" PERCENT, "50", "paper: PBerry §7, memtier 1:1", "share of requests that set, in random order";
            "pattern" KEYS, $pattern, "paper: PBerry §7", "order of keys; zipfian: the n-th most wanted is wanted an n-th as often as the first, as in YCSB but for its exponent of 0.99";
            "clients" Count { min: 1, max: 10_000 }, "1", "artifact: 200 (memtier -t 10 -c 20), with 2,380 requests each in a second at random and 5,800 in order; one in windows of 1 ms", "connections, each with buffers of its own; in order all go over the keys in step";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "1400", "open 700..2800: table 3 of PBerry has 69 s in order, .86 us for each of 80 million requests (of the artifact's load), less what memory takes; half to twice", "cycles of computation before each request";
        }
    };
}

/// In which order keys are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
enum Keys {
    Random,
    Sequential,
    Zipfian,
}

const KEYS: Kind = Keys::KIND;

pub(crate) const REDIS_RANDOM: Workload = Workload {
    name: "redis-random",
    meaning: "a Redis-like dictionary under memtier's load, keys at random; nothing is persistent, every value read is checked",
    source: "Redis 7.0, by what it writes; PBerry (HotOS 2019) §2, §7",
    params: load!("random"),
    check: None,
    program: |c| Box::pin(run(c)),
    recover: None,
};

pub(crate) const REDIS_SEQ: Workload = Workload {
    name: "redis-seq",
    meaning: "a Redis-like dictionary under memtier's load, keys in order; nothing is persistent, every value read is checked",
    source: "Redis 7.0, by what it writes; PBerry (HotOS 2019) §2, §7",
    params: load!("sequential"),
    check: None,
    program: |c| Box::pin(run(c)),
    recover: None,
};

/// Bytes of an allocator's slab.
const SLAB: u64 = 16 << 10;
const BUFFER: u64 = 16 << 10;
const KEY: u64 = 20;
/// Header and end of a string.
const STRING: u64 = 6;

/// Lines of the server's own state that every so many requests store to: stack, counters, events, free lists, arguments.
struct Touched {
    every: u64,
    pages: u64,
    lines: u64,
    bytes: u64,
}

/// Measured on Redis 7.0.15 under valgrind's lackey (batches of 20 requests on one connection, SET and GET in turn): of the lines
/// outside keys, values and buffers those of at least nine in ten requests, of about each second, and of about each fourth.
const STATE: [Touched; 3] = [
    Touched { every: 1, pages: 8, lines: 28, bytes: 32 },
    Touched { every: 2, pages: 4, lines: 12, bytes: 16 },
    Touched { every: 4, pages: 7, lines: 15, bytes: 18 },
];

/// A connection's buffers.
struct Client {
    query: u64,
    reply: u64,
    reply_at: u64,
}

impl Client {
    fn new(c: &Context) -> Client {
        Client { query: c.pm.alloc(BUFFER, 4096), reply: c.pm.alloc(BUFFER, 4096), reply_at: 0 }
    }
}

struct Dict {
    buckets: u64,
    entries: Class,
    keys: Class,
    objects: Class,
    values: Class,
    /// Where the lines of each part of [`STATE`] begin.
    state: [u64; STATE.len()],
    requests: u64,
    clients: Vec<Client>,
    value_size: u64,
    /// For each key the byte that its value is made of; 0 for none.
    versions: Vec<u8>,
}

impl Dict {
    fn new(c: &Context, keys: u64, clients: u64) -> Dict {
        let value_size = c.settings.number("workload.value_size");
        Dict {
            buckets: c.pm.alloc(keys.next_power_of_two() * 8, 4096),
            entries: Class::in_slabs(24, SLAB),
            keys: Class::in_slabs(KEY, SLAB),
            objects: Class::in_slabs(16, SLAB),
            values: Class::in_slabs(value_size + STRING, SLAB),
            state: STATE.map(|touched| c.pm.alloc(touched.pages * 4096, 4096)),
            requests: 0,
            clients: (0..clients).map(|_| Client::new(c)).collect(),
            value_size,
            versions: vec![0; keys as usize],
        }
    }

    /// The connection whose turn it is: each asks twice, then the next.
    fn client(&mut self) -> &mut Client {
        let turn = self.requests / 2 % self.clients.len() as u64;
        &mut self.clients[turn as usize]
    }

    fn bucket(&self, key: u64) -> u64 {
        self.buckets + units::mix(key) % (self.versions.len() as u64).next_power_of_two() * 8
    }

    /// The request arrives in its client's buffer, and the server goes through its state.
    async fn parse(&mut self, c: &Context, bytes: u64) {
        c.cpu.store_bytes(self.client().query, &vec![b'q'; bytes as usize]).await;
        for (touched, base) in STATE.iter().zip(self.state) {
            if self.requests.is_multiple_of(touched.every) {
                for line in 0..touched.lines {
                    let at = base + line % touched.pages * 4096 + line / touched.pages * 64;
                    c.cpu.store_bytes(at, &vec![self.requests as u8; touched.bytes as usize]).await;
                }
            }
        }
    }

    async fn answer(&mut self, c: &Context, bytes: &[u8]) {
        let client = self.client();
        if client.reply_at + bytes.len() as u64 > BUFFER {
            client.reply_at = 0;
        }
        let at = client.reply + client.reply_at;
        client.reply_at = (client.reply_at + bytes.len() as u64).next_multiple_of(8);
        c.cpu.store_bytes(at, bytes).await;
        self.requests += 1;
    }

    /// The entry of a key, 0 for none.
    async fn find(&self, c: &Context, key: u64) -> u64 {
        let mut entry = c.load(self.bucket(key)).await;
        while entry != 0 {
            let at = c.load(entry).await;
            if c.load(at + 8).await == key {
                break;
            }
            entry = c.load(entry + 16).await;
        }
        entry
    }

    /// A key that is there when the server begins, as from a snapshot: no request comes for it.
    async fn restore(&mut self, c: &Context, key: u64) {
        let object = self.object(c, 1, 0).await;
        self.insert(c, key, object).await;
        self.versions[key as usize] = 1;
    }

    async fn object(&mut self, c: &Context, version: u8, now: u64) -> u64 {
        let (value, object) = (self.values.take(&c.pm), self.objects.take(&c.pm));
        c.cpu.store_sized(value, 4, self.value_size).await;
        c.cpu.store_bytes(value + 8, &vec![version; self.value_size as usize - 2]).await;
        c.store(object, now << 8).await;
        c.store(object + 8, value).await;
        object
    }

    async fn set(&mut self, c: &Context, key: u64, version: u8, now: u64) {
        self.parse(c, self.value_size + 40).await;
        let object = self.object(c, version, now).await;
        let entry = self.find(c, key).await;
        if entry == 0 {
            self.insert(c, key, object).await;
        } else {
            let old = c.load(entry + 8).await;
            let old_value = c.load(old + 8).await;
            c.store(entry + 8, object).await;
            self.objects.free(old);
            self.values.free(old_value);
        }
        self.versions[key as usize] = version;
        self.answer(c, b"+OK\r\n").await;
    }

    async fn insert(&mut self, c: &Context, key: u64, object: u64) {
        let (entry, name) = (self.entries.take(&c.pm), self.keys.take(&c.pm));
        c.cpu.store_bytes(name, b"memtier-").await;
        c.store(name + 8, key).await;
        let bucket = self.bucket(key);
        let first = c.load(bucket).await;
        c.store(entry, name).await;
        c.store(entry + 8, object).await;
        c.store(entry + 16, first).await;
        c.store(bucket, entry).await;
    }

    async fn get(&mut self, c: &Context, key: u64, now: u64) {
        self.parse(c, 40).await;
        let entry = self.find(c, key).await;
        if entry == 0 {
            return c.cpu.fail(format!("key {key} is gone"));
        }
        let object = c.load(entry + 8).await;
        c.cpu.store_sized(object + 1, 3, now & 0xFF_FFFF).await;
        let value = c.load(object + 8).await;
        let mut bytes = vec![0; self.value_size as usize - 2];
        c.cpu.load_bytes(value + 8, &mut bytes).await;
        let wanted = self.versions[key as usize];
        if bytes.iter().any(|b| *b != wanted) {
            c.cpu.fail(format!("the value of key {key} is not the one that was set last ({wanted})"));
        }
        self.answer(c, &bytes).await;
    }
}

pub(crate) async fn run(c: Context) {
    let keys = c.share(c.settings.number("workload.keys")).max(1);
    let sets = c.settings.number("workload.set_percent") * 10;
    let order: Keys = c.settings.read("workload.pattern");
    let sequential = order == Keys::Sequential;
    let wanted = (order == Keys::Zipfian).then(|| Popularity::by_rank(keys));
    let clients = c.settings.number("workload.clients");
    let think = c.settings.number("workload.think_cycles");
    let mut dict = Dict::new(&c, keys, clients);
    let mut random = c.random();
    for key in 0..keys {
        dict.restore(&c, key).await;
    }
    sync::start(&c).await;
    for n in 0..c.share(c.settings.number("workload.operations")) {
        c.compute(think).await;
        let begins = c.cpu.now();
        let key = match &wanted {
            _ if sequential => n / (2 * clients) % keys,
            Some(wanted) => wanted.next(&mut random),
            None => random.below(keys),
        };
        // As memtier does: for each key that is set one that is read.
        let is_set = if sequential { n % 2 == 0 } else { random.chance(sets) };
        // Seconds, as an object keeps them.
        let now = n >> 17;
        if is_set {
            dict.set(&c, key, 2 + (n % 250) as u8, now).await;
        } else {
            dict.get(&c, key, now).await;
        }
        c.cpu.took(c.cpu.now().since(begins));
        c.cpu.operation_done();
    }
    sync::finish(&c).await;
}
