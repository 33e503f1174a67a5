//! N-Store (Arulraj et al., SIGMOD 2015) with its write-ahead-logging engine, running YCSB. Keys and transactions
//! are partitioned among executors, so no two threads share a tuple.
//!
//! A tuple: its key, then a pointer to each field. Fields, log entries and the nodes of the log's list are objects of a
//! persistent allocator: a header line (size with a state, the size before it) and bytes. A transaction makes new fields,
//! logs where the old ones are, points the tuple to the new ones, frees the old ones, and empties the log. Every step of the
//! allocator persists, which is most of the fifty epochs of an update.

use crate::context::Context;
use crate::recovery::{Crashed, Persistent, filled_with};
use crate::sync;
use crate::workload::{Count, Flag, N, PERCENT, Workload, params};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "nstore",
    meaning: "N-Store's write-ahead-logging engine running YCSB; tuples are partitioned among threads",
    source: "Arulraj et al., SIGMOD 2015; WHISPER (ASPLOS 2017)",
    params: params! {
        "operations" N, "40000", "artifact: -x40000", "transactions of all threads";
        "keys" N, "4000", "artifact: -k4000", "tuples of all threads";
        "fields" Count { min: 1, max: 64 }, "5", "artifact: ycsb_benchmark", "fields of a tuple";
        "value_size" Count { min: 8, max: 4096 }, "100", "artifact: ycsb_benchmark", "bytes of a field";
        "update_percent" PERCENT, "80", "artifact: -p0.8", "transactions that update";
        "durable" Flag, "true", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

const HEADER: u64 = 64;
const FREE: u64 = 0;
const RESERVED: u64 = 1;
const ACTIVE: u64 = 2;
/// Objects of a transaction beside fields: a record that is thrown away, a log entry, a node.
const OTHERS: u64 = 3;

/// Instructions of the original (docs/models/workloads.md): an update until its first flush, between two, and after the
/// last. A read does the first of these: it builds a record and looks its key up.
const BEGIN: u64 = 1490;
const STEP: u64 = 500;
const RETURN: u64 = 429;

/// The sizes of an executor's part of persistent memory.
#[derive(Clone, Copy)]
struct Shape {
    keys: u64,
    fields: u64,
    field_size: u64,
}

impl Shape {
    fn tuple_size(self) -> u64 {
        (8 + self.fields * 8).next_multiple_of(64)
    }

    /// From an object to the next: room for a field, or for an entry that names every field.
    fn stride(self) -> u64 {
        HEADER + self.field_size.max(16 + self.fields * 8).next_multiple_of(64)
    }

    /// Two sets of every field that a transaction may hold, and what else it needs.
    fn objects(self) -> u64 {
        self.keys * self.fields + 2 * (self.fields + OTHERS)
    }

    fn bytes(self) -> u64 {
        64 + self.keys * self.tuple_size() + self.objects() * self.stride()
    }
}

struct Executor {
    /// The first node of the log; zero while nothing is to be undone.
    head: u64,
    tuples: u64,
    objects: u64,
    index: u64,
    shape: Shape,
    /// Objects that are free, those that were freed first in front.
    free: RefCell<VecDeque<u64>>,
}

impl Executor {
    fn new(c: &Context) -> Executor {
        let (fields, field_size) =
            (c.settings.number("workload.fields"), c.settings.number("workload.value_size"));
        let shape = Shape { keys: c.share(c.settings.number("workload.keys")).max(1), fields, field_size };
        let head = c.pm.alloc(shape.bytes(), 64);
        let tuples = head + 64;
        let objects = tuples + shape.keys * shape.tuple_size();
        let free = (shape.keys * fields..shape.objects()).map(|n| objects + n * shape.stride()).collect();
        Executor {
            head,
            tuples,
            objects,
            index: c.dram.alloc(shape.keys * 8, 64),
            shape,
            free: RefCell::new(free),
        }
    }

    /// A header and its neighbour's are written, each before what follows.
    async fn set_state(&self, c: &Context, object: u64, state: u64) {
        let stride = self.shape.stride();
        c.executes(STEP).await;
        c.publish(object, stride << 2 | state).await;
        let last = object + stride == self.objects + self.shape.objects() * stride;
        if !last {
            c.executes(STEP).await;
            c.publish(object + stride + 8, stride).await;
        }
    }

    /// An object that nothing leads to yet; gives the place of its bytes.
    async fn reserve(&self, c: &Context) -> u64 {
        let object = self.free.borrow_mut().pop_front().expect("as many are freed as are made");
        c.load(object).await;
        self.set_state(c, object, RESERVED).await;
        object + HEADER
    }

    /// What was written into an object persists, then that it is one.
    async fn activate(&self, c: &Context, bytes: u64, size: u64) {
        c.executes(STEP).await;
        c.persist(bytes, size).await;
        c.executes(STEP).await;
        c.publish(bytes - HEADER, self.shape.stride() << 2 | ACTIVE).await;
    }

    async fn give_back(&self, c: &Context, bytes: u64) {
        self.set_state(c, bytes - HEADER, FREE).await;
        self.free.borrow_mut().push_back(bytes - HEADER);
    }

    fn tuple(&self, key: u64) -> u64 {
        self.tuples + key * self.shape.tuple_size()
    }

    async fn load_table(&self, c: &Context) {
        let Shape { keys, fields, field_size } = self.shape;
        let zeros = vec![0; field_size as usize];
        for key in 0..keys {
            let tuple = self.tuple(key);
            c.store(tuple, key).await;
            for field in 0..fields {
                let bytes = self.objects + (key * fields + field) * self.shape.stride() + HEADER;
                c.cpu.store_bytes(bytes, &zeros).await;
                c.cpu.clwb_range(bytes, field_size).await;
                c.store(tuple + 8 + field * 8, bytes).await;
            }
            c.persist(tuple, self.shape.tuple_size()).await;
            c.store(self.index + key * 8, tuple).await;
        }
    }

    async fn update(&self, c: &Context, key: u64, bytes: &mut [u8]) {
        let Shape { fields, field_size, .. } = self.shape;
        c.executes(BEGIN).await;
        let record = self.reserve(c).await;
        let mut new = Vec::new();
        for field in 0..fields {
            let at = self.reserve(c).await;
            bytes.fill(key as u8 ^ field as u8);
            c.cpu.store_bytes(at, bytes).await;
            new.push(at);
        }
        let tuple = c.load(self.index + key * 8).await;
        let (entry, node) = (self.reserve(c).await, self.reserve(c).await);
        let mut old = Vec::new();
        for field in 0..fields {
            let pointer = c.load(tuple + 8 + field * 8).await;
            c.store(entry + 16 + field * 8, pointer).await;
            old.push(pointer);
        }
        c.store(entry, tuple).await;
        c.store(entry + 8, fields).await;
        self.activate(c, entry, 16 + fields * 8).await;
        c.store(node, entry).await;
        self.activate(c, node, 16).await;
        // New fields are whole before anything leads to them.
        for at in &new {
            self.activate(c, *at, field_size).await;
        }
        c.executes(STEP).await;
        c.publish(self.head, node).await;
        for (field, at) in (0..).zip(&new) {
            c.store(tuple + 8 + field * 8, *at).await;
        }
        c.executes(STEP).await;
        c.persist(tuple, self.shape.tuple_size()).await;
        for pointer in old {
            self.give_back(c, pointer).await;
        }
        c.executes(RETURN).await;
        c.publish(self.head, 0).await;
        // The log's own objects go once nothing leads to them.
        for at in [entry, node, record] {
            self.give_back(c, at).await;
        }
    }

    async fn read(&self, c: &Context, key: u64, bytes: &mut [u8]) {
        c.executes(BEGIN).await;
        let tuple = c.load(self.index + key * 8).await;
        for field in 0..self.shape.fields {
            let at = c.load(tuple + 8 + field * 8).await;
            c.cpu.load_bytes(at, bytes).await;
        }
    }
}

/// A thread's tuples after a power failure.
struct Left {
    root: u64,
    shape: Shape,
}

impl Left {
    /// Whether an address is that of an object's bytes.
    fn is_object(&self, bytes: u64) -> bool {
        let first = self.root + 64 + self.shape.keys * self.shape.tuple_size() + HEADER;
        let last = first + (self.shape.objects() - 1) * self.shape.stride();
        (first..=last).contains(&bytes) && (bytes - first).is_multiple_of(self.shape.stride())
    }

    /// The pointers that the log holds, by where they stand: the transaction under way is undone.
    fn logged(&self, memory: &mut dyn Persistent) -> Result<BTreeMap<u64, u64>, String> {
        let (node, mut logged) = (memory.word(self.root), BTreeMap::new());
        if node == 0 {
            return Ok(logged);
        }
        if !self.is_object(node) || !self.is_object(memory.word(node)) {
            return Err(format!("the log leads to {node:#x}, which is no entry"));
        }
        let entry = memory.word(node);
        if memory.word(entry + 8) != self.shape.fields {
            return Err(format!("the log entry at {entry:#x} names no fields"));
        }
        let tuple = memory.word(entry);
        for field in 0..self.shape.fields {
            logged.insert(tuple + 8 + field * 8, memory.word(entry + 16 + field * 8));
        }
        Ok(logged)
    }

    /// Whether a tuple was updated, all its fields alike.
    fn updated(&self, m: &mut dyn Persistent, log: &BTreeMap<u64, u64>, key: u64) -> Result<bool, String> {
        let tuple = self.root + 64 + key * self.shape.tuple_size();
        if m.word(tuple) != key {
            return Err(format!("tuple {key} has key {}", m.word(tuple)));
        }
        let (mut old, mut new) = (true, true);
        for field in 0..self.shape.fields {
            let place = tuple + 8 + field * 8;
            let at = log.get(&place).copied().unwrap_or_else(|| m.word(place));
            if !self.is_object(at) {
                return Err(format!("field {field} of tuple {key} is at {at:#x}, which is no object"));
            }
            let filled = filled_with(m, at, self.shape.field_size);
            old &= filled == Some(0);
            new &= filled == Some(key as u8 ^ field as u8);
        }
        if old || new { Ok(new) } else { Err(format!("tuple {key} is half updated")) }
    }

    fn check(&self, memory: &mut dyn Persistent, crashed: &Crashed<'_>, thread: usize) -> Result<(), String> {
        let updates = crashed.settings.number("workload.update_percent") * 10;
        let count = crashed.share(crashed.settings.number("workload.operations"), thread).1;
        let mut random = crashed.random(thread);
        // Tuples that a transaction changed, and whether one must be there.
        let mut changed: BTreeMap<u64, bool> = BTreeMap::new();
        for (_, persisted) in crashed.begun(count, thread) {
            let key = random.below(self.shape.keys);
            if random.chance(updates) {
                *changed.entry(key).or_default() |= persisted;
            }
        }
        let log = self.logged(memory)?;
        for (key, persisted) in changed {
            if !self.updated(memory, &log, key)? && persisted {
                return Err(format!("an update of tuple {key} was committed and is missing"));
            }
        }
        Ok(())
    }
}

/// The transaction under way is undone; every tuple that was changed is whole, and every committed update is there.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let number = |key: &str| crashed.settings.number(key);
    for thread in 0..crashed.threads() {
        let keys = crashed.share(number("workload.keys"), thread).1.max(1);
        let shape =
            Shape { keys, fields: number("workload.fields"), field_size: number("workload.value_size") };
        let left = Left { root: crashed.arena(thread), shape };
        left.check(memory, crashed, thread).map_err(|e| format!("thread {thread}: {e}"))?;
    }
    Ok(())
}

pub(crate) async fn run(c: Context) {
    let executor = Executor::new(&c);
    let operations = c.share(c.settings.number("workload.operations"));
    let updates = c.settings.number("workload.update_percent") * 10;
    let mut bytes = vec![0; executor.shape.field_size as usize];
    let mut random = c.random();
    executor.load_table(&c).await;
    sync::start(&c).await;
    for _ in 0..operations {
        let key = random.below(executor.shape.keys);
        if random.chance(updates) {
            executor.update(&c, key, &mut bytes).await;
            c.end_operation().await;
        } else {
            executor.read(&c, key, &mut bytes).await;
            c.cpu.operation_done();
        }
    }
    sync::finish(&c).await;
}
