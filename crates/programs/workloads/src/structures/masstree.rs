//! P-Masstree: one layer of Masstree (Mao et al., EuroSys 2012) made persistent (RECIPE, SOSP 2019).
//!
//! A node: lock at 0, level at 8, permutation at 16, sibling at 24, leftmost child at 32, high key at 40; 14 keys
//! from 64 on, 14 values or children from 192 on. The permutation holds the number of keys in its low four bits
//! and their sorted order above; an insertion writes a free place and then that one word.

use crate::context::Context;
use crate::recovery::{Crashed, Persistent};
use crate::sync::{self, Lock};
use crate::workload::Workload;
use protocol::PM_BASE;
use units::mix;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "p-masstree",
    meaning: "P-Masstree: a B+-tree with permutation words",
    source: "Mao et al., EuroSys 2012; RECIPE (SOSP 2019)",
    params: super::RECIPE_INDEX,
    check: None,
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

const LEVEL: u64 = 8;
const ORDER: u64 = 16;
const SIBLING: u64 = 24;
const LEFTMOST: u64 = 32;
const HIGH: u64 = 40;
const KEYS: u64 = 64;
const VALUES: u64 = 192;
const NODE: u64 = 320;
const WIDTH: u64 = 14;

/// Instructions of the original (docs/models/workloads.md): an insertion until its first flush, until its second, and
/// after it; a search.
const DESCENT: u64 = 652;
const STEP: u64 = 34;
const RETURN: u64 = 37;
const SEARCH: u64 = 445;

/// The sorted order of a node's places.
#[derive(Clone, Copy)]
struct Permutation(u64);

impl Permutation {
    fn count(self) -> u64 {
        self.0 & 15
    }

    fn place(self, index: u64) -> u64 {
        self.0 >> (4 + index * 4) & 15
    }

    fn first(self, count: u64) -> Permutation {
        Permutation(self.0 & !15 | count)
    }

    /// A place that no key uses.
    fn free(self) -> u64 {
        let used = (0..self.count()).fold(0u64, |used, i| used | 1 << self.place(i));
        u64::from((!used).trailing_zeros())
    }

    fn with(self, index: u64, place: u64) -> Permutation {
        let shift = 4 + index * 4;
        let low = self.0 & ((1 << shift) - 1);
        let high = (self.0 >> shift << shift) << 4;
        Permutation((low | place << shift | high) + 1)
    }
}

struct Tree {
    root: u64,
    root_lock: Lock,
}

impl Tree {
    async fn new_node(&self, c: &Context, level: u64) -> u64 {
        let node = c.pm.alloc(NODE, 64);
        c.store(node + LEVEL, level).await;
        c.store(node + HIGH, u64::MAX).await;
        node
    }

    async fn order(&self, c: &Context, node: u64) -> Permutation {
        Permutation(c.cpu.load_acquire(node + ORDER).await)
    }

    /// The number of keys not greater than `key`.
    async fn position(&self, c: &Context, node: u64, order: Permutation, key: u64) -> u64 {
        let (mut low, mut high) = (0, order.count());
        while low < high {
            let middle = (low + high) / 2;
            if c.load(node + KEYS + order.place(middle) * 8).await <= key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    async fn descend(&self, c: &Context, key: u64, level: u64) -> u64 {
        let mut node = c.cpu.load_acquire(self.root).await;
        // The level above a split root is made by whoever split it first.
        while c.load(node + LEVEL).await < level {
            c.compute(64).await;
            node = c.cpu.load_acquire(self.root).await;
        }
        loop {
            while key >= c.load(node + HIGH).await {
                node = c.load(node + SIBLING).await;
            }
            if c.load(node + LEVEL).await == level {
                return node;
            }
            let order = self.order(c, node).await;
            let at = self.position(c, node, order, key).await;
            let from = if at == 0 { node + LEFTMOST } else { node + VALUES + order.place(at - 1) * 8 };
            node = c.load(from).await;
        }
    }

    async fn get(&self, c: &Context, key: u64) -> Option<u64> {
        c.executes(SEARCH).await;
        let node = self.descend(c, key, 0).await;
        let order = self.order(c, node).await;
        let at = self.position(c, node, order, key).await.checked_sub(1)?;
        let place = order.place(at) * 8;
        if c.load(node + KEYS + place).await == key {
            Some(c.load(node + VALUES + place).await)
        } else {
            None
        }
    }

    async fn insert(&self, c: &Context, key: u64, value: u64, level: u64) {
        c.executes(DESCENT).await;
        let mut node = self.descend(c, key, level).await;
        Lock(node).acquire(c).await;
        while key >= c.load(node + HIGH).await {
            let next = c.load(node + SIBLING).await;
            Lock(node).release(c).await;
            node = next;
            Lock(node).acquire(c).await;
        }
        if self.order(c, node).await.count() == WIDTH {
            return self.split(c, node, key, value).await;
        }
        self.insert_into(c, node, key, value).await;
        Lock(node).release(c).await;
    }

    async fn insert_into(&self, c: &Context, node: u64, key: u64, value: u64) {
        let order = self.order(c, node).await;
        let at = self.position(c, node, order, key).await;
        let place = order.free();
        c.store(node + KEYS + place * 8, key).await;
        c.store(node + VALUES + place * 8, value).await;
        c.cpu.clwb(node + KEYS + place * 8).await;
        c.persist(node + VALUES + place * 8, 8).await;
        c.executes(STEP).await;
        c.release(node + ORDER, order.with(at, place).0).await;
        c.executes(RETURN).await;
    }

    async fn split(&self, c: &Context, node: u64, key: u64, value: u64) {
        let (level, order) = (c.load(node + LEVEL).await, self.order(c, node).await);
        let sibling = self.new_node(c, level).await;
        // Others reach it as soon as it is linked, before the new key is in its place.
        Lock(sibling).acquire(c).await;
        let half = WIDTH / 2;
        let middle = c.load(node + KEYS + order.place(half) * 8).await;
        let first = if level == 0 { half } else { half + 1 };
        if level > 0 {
            let child = c.load(node + VALUES + order.place(half) * 8).await;
            c.store(sibling + LEFTMOST, child).await;
        }
        let mut sorted = Permutation(0);
        for index in first..WIDTH {
            let (from, to) = (order.place(index) * 8, index - first);
            let (k, v) = (c.load(node + KEYS + from).await, c.load(node + VALUES + from).await);
            c.store(sibling + KEYS + to * 8, k).await;
            c.store(sibling + VALUES + to * 8, v).await;
            sorted = sorted.with(to, to);
        }
        c.store(sibling + ORDER, sorted.0).await;
        let (next, high) = (c.load(node + SIBLING).await, c.load(node + HIGH).await);
        c.store(sibling + SIBLING, next).await;
        c.store(sibling + HIGH, high).await;
        c.persist(sibling, NODE).await;
        c.store(node + SIBLING, sibling).await;
        c.store(node + HIGH, middle).await;
        c.persist(node, 64).await;
        c.publish(node + ORDER, order.first(half).0).await;
        let target = if key < middle { node } else { sibling };
        self.insert_into(c, target, key, value).await;
        Lock(sibling).release(c).await;
        Lock(node).release(c).await;
        self.add_to_parent(c, node, middle, sibling, level + 1).await;
    }

    async fn add_to_parent(&self, c: &Context, node: u64, key: u64, sibling: u64, level: u64) {
        self.root_lock.acquire(c).await;
        if c.load(self.root).await == node {
            let root = self.new_node(c, level).await;
            c.store(root + LEFTMOST, node).await;
            c.store(root + KEYS, key).await;
            c.store(root + VALUES, sibling).await;
            c.store(root + ORDER, Permutation(0).with(0, 0).0).await;
            c.persist(root, NODE).await;
            c.release(self.root, root).await;
            return self.root_lock.release(c).await;
        }
        self.root_lock.release(c).await;
        Box::pin(self.insert(c, key, sibling, level)).await;
    }
}

/// Every key whose insertion was durable is found by a search from the root, with its value.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let total = crashed.settings.number("workload.operations");
    let seed = crashed.common_random().next_u64();
    for n in crashed.inserted(total) {
        let key = mix(seed ^ n) >> 1;
        match look_up(memory, key, total)? {
            None => return Err(format!("key {key:#x} was committed and is missing")),
            Some(value) if value != n => return Err(format!("key {key:#x} has value {value}, not {n}")),
            Some(_) => {}
        }
    }
    for key in crashed.still_to_come(total).into_iter().map(|n| mix(seed ^ n) >> 1) {
        if look_up(memory, key, total)?.is_some() {
            return Err(format!("key {key:#x} is there, and its insertion had not begun"));
        }
    }
    Ok(())
}

/// The value of a key; an error when the tree is no tree.
fn look_up(memory: &mut dyn Persistent, key: u64, total: u64) -> Result<Option<u64>, String> {
    let mut node = memory.word(PM_BASE);
    // No way through a sound tree is longer than its keys are many.
    for _ in 0..total + 64 {
        if node < PM_BASE || !node.is_multiple_of(64) {
            return Err(format!("a link leads to {node:#x}, which is no node"));
        }
        if key >= memory.word(node + HIGH) {
            node = memory.word(node + SIBLING);
            continue;
        }
        let order = Permutation(memory.word(node + ORDER));
        let keys = order.count().min(WIDTH);
        let at =
            (0..keys).take_while(|i| memory.word(node + KEYS + order.place(*i) * 8) <= key).count() as u64;
        let place = at.checked_sub(1).map(|i| order.place(i) * 8);
        if memory.word(node + LEVEL) == 0 {
            let held = place.filter(|p| memory.word(node + KEYS + p) == key);
            return Ok(held.map(|p| memory.word(node + VALUES + p)));
        }
        node = memory.word(place.map_or(node + LEFTMOST, |p| node + VALUES + p));
    }
    Err("a search does not end".into())
}

pub(crate) async fn run(c: Context) {
    let tree = Tree { root: Context::common_pm().lines(1), root_lock: Lock(Context::common_dram().lines(1)) };
    if c.thread == 0 {
        let leaf = tree.new_node(&c, 0).await;
        c.persist(leaf, NODE).await;
        c.publish(tree.root, leaf).await;
    }
    let total = c.settings.number("workload.operations");
    let seed = c.common_random().next_u64();
    let (from, count) = (c.share_start(total), c.share(total));
    let reads = c.settings.number("workload.read_percent") * 10;
    let mut random = c.random();
    sync::start(&c).await;
    for n in from..from + count {
        if random.chance(reads) {
            tree.get(&c, mix(seed ^ random.below(n + 1)) >> 1).await;
            c.cpu.operation_done();
        } else {
            tree.insert(&c, mix(seed ^ n) >> 1, n, 0).await;
            c.end_operation().await;
        }
    }
    sync::finish(&c).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_keeps_the_order_and_finds_free_places() {
        let p = Permutation(0).with(0, 0).with(0, 1).with(1, 2);
        assert_eq!((p.count(), p.place(0), p.place(1), p.place(2), p.free()), (3, 1, 2, 0, 3));
        assert_eq!((p.first(1).count(), p.first(1).free()), (1, 0));
    }
}
