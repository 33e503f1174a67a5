//! A hash table with every mistake that persistent programs are known for, each to be chosen with `workload.bug`.
//!
//! Each thread has a table, an allocator and two accounts of its own. Root: magic number at 0, buckets at 8, the
//! allocator's next free block at 16. A log line: valid at 0, then two pairs of address and old value. Two lines of
//! accounts. A bucket: a word of tokens, one bit a slot, in a line of its own, then eight slots of key and block
//! address. A block, one line, holds a value. A token is set after its slot and block are durable, and an update
//! moves a key to another slot by changing the word of tokens once.

use crate::context::Context;
use crate::recovery::{Crashed, Persistent};
use crate::sync;
use std::collections::BTreeMap;
use units::mix;

/// Values of `workload.bug`.
pub(crate) const BUGS: &[&str] = &[
    "none",
    "token-before-data",
    "flush-predicate",
    "flush-address",
    "unfenced-flush",
    "two-word-commit",
    "allocator-unflushed",
    "constructor-unflushed",
    "nontemporal-unfenced",
    "missing-log",
    "double-flush",
];

const MAGIC: u64 = 0x706d_6861_7368_6d70;
const LOG: u64 = 64;
const ACCOUNTS: u64 = 128;
const TABLE: u64 = 256;
const BUCKET: u64 = 192;
const SLOTS: u64 = 8;
const OPENING: u64 = 1000;

fn buckets(operations: u64) -> u64 {
    (operations / 3).next_power_of_two().max(8)
}

/// The first block of the allocator.
fn heap(root: u64, buckets: u64) -> u64 {
    root + TABLE + buckets * BUCKET
}

fn value(key: u64, version: u64, word: u64) -> u64 {
    mix(key ^ mix(version) ^ word)
}

/// What the `n`th operation of a thread does.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Insert(u64),
    Update(u64),
    Remove(u64),
    Transfer(u64),
}

fn operation(seed: u64, n: u64) -> Operation {
    let earlier = mix(seed ^ n) % n.max(1);
    match n % 8 {
        5 => Operation::Update(earlier),
        6 => Operation::Remove(earlier),
        7 => Operation::Transfer(1 + mix(n) % 50),
        _ => Operation::Insert(n),
    }
}

fn key(seed: u64, n: u64) -> u64 {
    mix(seed ^ n) | 1
}

/// Key and version of what a table must hold after operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    keys: BTreeMap<u64, u64>,
}

impl Model {
    fn after(seed: u64, operations: u64) -> Model {
        let mut model = Model::default();
        (0..operations).for_each(|n| model.apply(seed, n));
        model
    }

    fn apply(&mut self, seed: u64, n: u64) {
        match operation(seed, n) {
            Operation::Insert(k) => _ = self.keys.insert(key(seed, k), n),
            Operation::Update(k) => {
                if let Some(version) = self.keys.get_mut(&key(seed, k)) {
                    *version = n;
                }
            }
            Operation::Remove(k) => _ = self.keys.remove(&key(seed, k)),
            Operation::Transfer(_) => {}
        }
    }
}

struct Table {
    root: u64,
    buckets: u64,
    bug: String,
    seed: u64,
}

impl Table {
    fn has(&self, bug: &str) -> bool {
        self.bug == bug
    }

    fn bucket(&self, hash: u64) -> u64 {
        self.root + TABLE + hash % self.buckets * BUCKET
    }

    fn slot(bucket: u64, index: u64) -> u64 {
        bucket + 64 + index * 16
    }

    async fn create(&self, c: &Context) {
        c.store(self.root, MAGIC).await;
        c.store(self.root + 8, self.buckets).await;
        c.store(self.root + 16, heap(self.root, self.buckets)).await;
        c.store(self.root + ACCOUNTS, OPENING).await;
        c.store(self.root + ACCOUNTS + 64, OPENING).await;
        if !self.has("constructor-unflushed") {
            c.persist(self.root, 64).await;
        }
        c.persist(self.root + ACCOUNTS, 128).await;
    }

    async fn allocate(&self, c: &Context) -> u64 {
        let block = c.load(self.root + 16).await;
        c.store(self.root + 16, block + 64).await;
        if !self.has("allocator-unflushed") {
            c.persist(self.root + 16, 8).await;
        }
        block
    }

    /// A free slot of the key's bucket, or of one after it.
    async fn free_slot(&self, c: &Context, key: u64) -> (u64, u64) {
        let mut hash = mix(key);
        loop {
            let tokens = c.load(self.bucket(hash)).await;
            let used = (tokens.trailing_ones() as u64).min(64);
            if used < SLOTS {
                return (self.bucket(hash), used);
            }
            hash = hash.wrapping_add(1);
        }
    }

    /// The bucket and slot of a key. A bucket that is not full ends the search, unless keys were removed from it:
    /// removal leaves its slot's key in place, so that a search knows.
    async fn find(&self, c: &Context, key: u64) -> Option<(u64, u64)> {
        for step in 0..self.buckets {
            let hash = mix(key).wrapping_add(step);
            let tokens = c.load(self.bucket(hash)).await;
            let mut touched = 0;
            for index in 0..SLOTS {
                let held = c.load(Table::slot(self.bucket(hash), index)).await;
                touched += u64::from(held != 0);
                if held == key && tokens >> index & 1 == 1 {
                    return Some((self.bucket(hash), index));
                }
            }
            if touched < SLOTS {
                return None;
            }
        }
        None
    }

    async fn write_block(&self, c: &Context, block: u64, key: u64, version: u64) {
        for word in 0..4 {
            let (at, v) = (block + 8 + word * 8, value(key, version, word));
            if self.has("nontemporal-unfenced") {
                c.cpu.store_nontemporal(at, v).await;
            } else {
                c.store(at, v).await;
            }
        }
        if self.has("nontemporal-unfenced") {
            c.cpu.store_nontemporal(block, version).await;
        } else {
            c.store(block, version).await;
            c.persist(block, 64).await;
        }
    }

    /// Fills a slot; what the token says next is the caller's.
    async fn fill(&self, c: &Context, slot: u64, key: u64, block: u64) {
        c.store(slot, key).await;
        c.store(slot + 8, block).await;
        if self.has("nontemporal-unfenced") || self.has("unfenced-flush") {
            c.cpu.clwb(slot).await;
        } else if self.has("flush-address") {
            // The line of the tokens, not of the slot.
            c.persist(slot / 64 * 64 - 64, 8).await;
        } else if self.has("flush-predicate") {
            if slot.is_multiple_of(64) {
                c.persist(slot, 16).await;
            }
        } else {
            c.persist(slot, 16).await;
            if self.has("double-flush") {
                c.persist(slot, 16).await;
            }
        }
    }

    async fn insert(&self, c: &Context, key: u64, version: u64, old: Option<(u64, u64)>) {
        let block = self.allocate(c).await;
        self.write_block(c, block, key, version).await;
        let (bucket, index) = match old {
            Some((bucket, old)) => match self.free_in(c, bucket, old).await {
                Some(index) => (bucket, index),
                None => return self.replace(c, Table::slot(bucket, old), block).await,
            },
            None => self.free_slot(c, key).await,
        };
        let slot = Table::slot(bucket, index);
        let tokens = c.load(bucket).await;
        let after = (tokens | 1 << index) & !old.map_or(0, |(_, old)| 1 << old);
        if self.has("token-before-data") {
            c.store(slot, key).await;
            c.store(slot + 8, block).await;
            c.store(bucket, after).await;
            c.persist(slot, 16).await;
            c.persist(bucket, 8).await;
            return;
        }
        self.fill(c, slot, key, block).await;
        if self.has("two-word-commit") && old.is_some() {
            // First the new token, then the old one.
            c.publish(bucket, tokens | 1 << index).await;
        }
        c.publish(bucket, after).await;
    }

    async fn free_in(&self, c: &Context, bucket: u64, not: u64) -> Option<u64> {
        let tokens = c.load(bucket).await;
        (0..SLOTS).find(|i| *i != not && tokens >> i & 1 == 0)
    }

    /// A full bucket: the slot's block address changes in one word.
    async fn replace(&self, c: &Context, slot: u64, block: u64) {
        c.cpu.ofence().await;
        c.publish(slot + 8, block).await;
    }

    /// Moves money between the accounts, which lie in different lines, under an undo log.
    async fn transfer(&self, c: &Context, amount: u64) {
        let (log, from, to) = (self.root + LOG, self.root + ACCOUNTS, self.root + ACCOUNTS + 64);
        let (a, b) = (c.load(from).await, c.load(to).await);
        c.store(log + 8, from).await;
        c.store(log + 16, a).await;
        let logged = if self.has("missing-log") { 0 } else { to };
        c.store(log + 24, logged).await;
        c.store(log + 32, b).await;
        c.persist(log, 64).await;
        c.publish(log, 1).await;
        c.store(from, a.wrapping_sub(amount)).await;
        c.store(to, b.wrapping_add(amount)).await;
        c.cpu.clwb(from).await;
        c.persist(to, 8).await;
        c.publish(log, 0).await;
    }

    async fn carry_out(&self, c: &Context, n: u64) {
        match operation(self.seed, n) {
            Operation::Insert(k) => self.insert(c, key(self.seed, k), n, None).await,
            Operation::Update(k) => {
                if let Some(old) = self.find(c, key(self.seed, k)).await {
                    self.insert(c, key(self.seed, k), n, Some(old)).await;
                }
            }
            Operation::Remove(k) => {
                if let Some((bucket, index)) = self.find(c, key(self.seed, k)).await {
                    let tokens = c.load(bucket).await;
                    c.publish(bucket, tokens & !(1 << index)).await;
                }
            }
            Operation::Transfer(amount) => self.transfer(c, amount).await,
        }
    }
}

pub(crate) async fn run(c: Context) {
    let count = c.share(c.settings.number("workload.operations"));
    let buckets = buckets(count);
    let seed = mix(c.common_random().next_u64() ^ c.thread as u64);
    // The table, its blocks, and nothing else are in the thread's arena.
    let root = c.pm.alloc(TABLE + buckets * BUCKET + (count + 1) * 64, 64);
    let table = Table { root, buckets, bug: c.settings.text("workload.bug").to_string(), seed };
    table.create(&c).await;
    sync::start(&c).await;
    for n in 0..count {
        c.compute(60).await;
        table.carry_out(&c, n).await;
        c.end_operation().await;
    }
    sync::finish(&c).await;
}

/// Each thread's table holds what its ended operations say, the one under way either wholly or not at all.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let total = crashed.settings.number("workload.operations");
    let common = crashed.common_random().next_u64();
    for thread in 0..crashed.threads() {
        let (_, count) = crashed.share(total, thread);
        let found = Found { root: crashed.arena(thread), buckets: buckets(count) };
        let seed = mix(common ^ thread as u64);
        let ended = crashed.ended[thread].min(count);
        found.check(memory, seed, ended, crashed.durable()).map_err(|e| format!("thread {thread}: {e}"))?;
    }
    Ok(())
}

struct Found {
    root: u64,
    buckets: u64,
}

impl Found {
    fn check(&self, m: &mut dyn Persistent, seed: u64, ended: u64, durable: bool) -> Result<(), String> {
        if m.word(self.root) != MAGIC || m.word(self.root + 8) != self.buckets {
            return Err("the table's header is not there".into());
        }
        self.accounts(m)?;
        let held = self.keys(m)?;
        let mut model = Model::after(seed, ended);
        if held == model.keys {
            return Ok(());
        }
        let before = model.clone();
        model.apply(seed, ended);
        if held == model.keys {
            return Ok(());
        }
        // Without a fence at the end of each operation, the last ones may be missing.
        if !durable && (0..ended).rev().any(|n| Model::after(seed, n).keys == held) {
            return Ok(());
        }
        Err(difference(&before.keys, &held))
    }

    fn accounts(&self, m: &mut dyn Persistent) -> Result<(), String> {
        let places = [self.root + ACCOUNTS, self.root + ACCOUNTS + 64];
        let log = self.root + LOG;
        let valid = m.word(log) == 1;
        let mut sum: u64 = 0;
        for (index, place) in places.into_iter().enumerate() {
            let entry = log + 8 + index as u64 * 16;
            let undone = valid && m.word(entry) == place;
            sum = sum.wrapping_add(if undone { m.word(entry + 8) } else { m.word(place) });
        }
        if sum == 2 * OPENING { Ok(()) } else { Err(format!("the accounts hold {sum}, not {}", 2 * OPENING)) }
    }

    fn keys(&self, m: &mut dyn Persistent) -> Result<BTreeMap<u64, u64>, String> {
        let first = heap(self.root, self.buckets);
        let next = m.word(self.root + 16);
        let mut held = BTreeMap::new();
        for bucket in (0..self.buckets).map(|b| self.root + TABLE + b * BUCKET) {
            let tokens = m.word(bucket);
            for index in (0..SLOTS).filter(|i| tokens >> i & 1 == 1) {
                let slot = Table::slot(bucket, index);
                let (key, block) = (m.word(slot), m.word(slot + 8));
                if key == 0 || block < first || !block.is_multiple_of(64) {
                    return Err(format!("the slot at {slot:#x} is in use and holds no key and block"));
                }
                if block >= next {
                    return Err(format!("the block at {block:#x} is in use, and free for the allocator"));
                }
                let version = m.word(block);
                if (0..4).any(|w| m.word(block + 8 + w * 8) != value(key, version, w)) {
                    return Err(format!("the value of key {key:#x} is not the one that was stored"));
                }
                if held.insert(key, version).is_some() {
                    return Err(format!("key {key:#x} is there twice"));
                }
            }
        }
        Ok(held)
    }
}

fn difference(wanted: &BTreeMap<u64, u64>, held: &BTreeMap<u64, u64>) -> String {
    for (key, version) in wanted {
        match held.get(key) {
            None => return format!("key {key:#x} was committed and is missing"),
            Some(other) if other != version => {
                return format!("key {key:#x} has version {other}, but {version} was committed");
            }
            _ => {}
        }
    }
    let extra = held.keys().find(|k| !wanted.contains_key(k)).copied().unwrap_or_default();
    format!("key {extra:#x} is there and was never inserted, or was removed")
}
