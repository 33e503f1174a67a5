//! FAST & FAIR: a persistent B+-tree whose nodes are kept sorted by shifts that are always readable
//! (Hwang et al., FAST 2018).
//!
//! A node of 512 bytes: lock at 0, level at 8, count at 16, sibling at 24, leftmost child at 32, high key at 40;
//! 28 pairs of key and pointer from 64 on. A shift orders the pairs of one line before those of the next.

use crate::context::Context;
use crate::sync::{self, Lock};
use units::mix;

const NODE: u64 = 512;
const PAIRS: u64 = 28;
const LEVEL: u64 = 8;
const COUNT: u64 = 16;
const SIBLING: u64 = 24;
const LEFTMOST: u64 = 32;
const HIGH: u64 = 40;
const FIRST: u64 = 64;

struct Tree {
    root: u64,
    root_lock: Lock,
}

fn pair(node: u64, index: u64) -> u64 {
    node + FIRST + index * 16
}

impl Tree {
    async fn new_node(&self, c: &Context, level: u64) -> u64 {
        let node = c.pm.alloc(NODE, 64);
        c.store(node + LEVEL, level).await;
        c.store(node + HIGH, u64::MAX).await;
        node
    }

    /// Moves right while the key is beyond the node: a split may have happened.
    async fn move_right(&self, c: &Context, mut node: u64, key: u64) -> u64 {
        while key >= c.load(node + HIGH).await {
            node = c.load(node + SIBLING).await;
        }
        node
    }

    /// The number of keys not greater than `key`.
    async fn position(&self, c: &Context, node: u64, key: u64) -> u64 {
        let (mut low, mut high) = (0, c.cpu.load_acquire(node + COUNT).await);
        while low < high {
            let middle = (low + high) / 2;
            if c.load(pair(node, middle)).await <= key {
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
            c.work(64).await;
            node = c.cpu.load_acquire(self.root).await;
        }
        loop {
            node = self.move_right(c, node, key).await;
            if c.load(node + LEVEL).await == level {
                return node;
            }
            let at = self.position(c, node, key).await;
            node = if at == 0 { c.load(node + LEFTMOST).await } else { c.load(pair(node, at - 1) + 8).await };
        }
    }

    async fn search(&self, c: &Context, key: u64) -> Option<u64> {
        let leaf = self.descend(c, key, 0).await;
        let at = self.position(c, leaf, key).await;
        if at > 0 && c.load(pair(leaf, at - 1)).await == key {
            return Some(c.load(pair(leaf, at - 1) + 8).await);
        }
        None
    }

    async fn insert(&self, c: &Context, key: u64, value: u64, level: u64) {
        let mut node = self.descend(c, key, level).await;
        Lock(node).acquire(c).await;
        while key >= c.load(node + HIGH).await {
            let next = c.load(node + SIBLING).await;
            Lock(node).release(c).await;
            node = next;
            Lock(node).acquire(c).await;
        }
        if c.load(node + COUNT).await == PAIRS {
            self.split(c, node, key, value).await;
            return;
        }
        self.shift_in(c, node, key, value).await;
        Lock(node).release(c).await;
    }

    /// FAST: pairs move up one by one; the line that was finished is flushed before the next is touched.
    async fn shift_in(&self, c: &Context, node: u64, key: u64, value: u64) {
        let at = self.position(c, node, key).await;
        let count = c.load(node + COUNT).await;
        if at > 0 && c.load(pair(node, at - 1)).await == key {
            return c.publish(pair(node, at - 1) + 8, value).await;
        }
        for index in (at..count).rev() {
            let (from, to) = (pair(node, index), pair(node, index + 1));
            let (k, v) = (c.load(from).await, c.load(from + 8).await);
            c.store(to + 8, v).await;
            c.store(to, k).await;
            if to % 64 == 0 {
                c.persist(to, 16).await;
            }
        }
        let to = pair(node, at);
        c.store(to + 8, value).await;
        c.store(to, key).await;
        c.persist(to, 16).await;
        c.cpu.store_release(node + COUNT, count + 1).await;
        c.persist(node, 64).await;
    }

    /// FAIR: the upper half is copied to a sibling that is linked in before the lower half shrinks.
    async fn split(&self, c: &Context, node: u64, key: u64, value: u64) {
        let level = c.load(node + LEVEL).await;
        let sibling = self.new_node(c, level).await;
        // Others reach it as soon as it is linked, before the new key is in its place.
        Lock(sibling).acquire(c).await;
        let half = PAIRS / 2;
        let middle = c.load(pair(node, half)).await;
        // An inner node's middle key moves up; its child becomes the sibling's leftmost.
        let first = if level == 0 { half } else { half + 1 };
        if level > 0 {
            let child = c.load(pair(node, half) + 8).await;
            c.store(sibling + LEFTMOST, child).await;
        }
        for index in first..PAIRS {
            let (k, v) = (c.load(pair(node, index)).await, c.load(pair(node, index) + 8).await);
            c.store(pair(sibling, index - first), k).await;
            c.store(pair(sibling, index - first) + 8, v).await;
        }
        c.store(sibling + COUNT, PAIRS - first).await;
        let (next, high) = (c.load(node + SIBLING).await, c.load(node + HIGH).await);
        c.store(sibling + SIBLING, next).await;
        c.store(sibling + HIGH, high).await;
        c.persist(sibling, NODE).await;
        c.store(node + SIBLING, sibling).await;
        c.store(node + HIGH, middle).await;
        c.persist(node, 64).await;
        c.publish(node + COUNT, half).await;
        if key < middle {
            self.shift_in(c, node, key, value).await;
        } else {
            self.shift_in(c, sibling, key, value).await;
        }
        Lock(sibling).release(c).await;
        Lock(node).release(c).await;
        self.add_to_parent(c, node, middle, sibling, level + 1).await;
    }

    async fn add_to_parent(&self, c: &Context, node: u64, key: u64, sibling: u64, level: u64) {
        self.root_lock.acquire(c).await;
        if c.load(self.root).await == node {
            let root = self.new_node(c, level).await;
            c.store(root + LEFTMOST, node).await;
            c.store(pair(root, 0), key).await;
            c.store(pair(root, 0) + 8, sibling).await;
            c.store(root + COUNT, 1).await;
            c.persist(root, NODE).await;
            c.cpu.store_release(self.root, root).await;
            c.persist(self.root, 8).await;
            self.root_lock.release(c).await;
            return;
        }
        self.root_lock.release(c).await;
        Box::pin(self.insert(c, key, sibling, level)).await;
    }

    /// Takes a pair out by shifting down.
    async fn remove(&self, c: &Context, key: u64) {
        let mut leaf = self.descend(c, key, 0).await;
        Lock(leaf).acquire(c).await;
        while key >= c.load(leaf + HIGH).await {
            let next = c.load(leaf + SIBLING).await;
            Lock(leaf).release(c).await;
            leaf = next;
            Lock(leaf).acquire(c).await;
        }
        let at = self.position(c, leaf, key).await;
        let count = c.load(leaf + COUNT).await;
        if at > 0 && c.load(pair(leaf, at - 1)).await == key {
            for index in at..count {
                let (from, to) = (pair(leaf, index), pair(leaf, index - 1));
                let (k, v) = (c.load(from).await, c.load(from + 8).await);
                c.store(to, k).await;
                c.store(to + 8, v).await;
                if from % 64 == 0 {
                    c.persist(to, 16).await;
                }
            }
            c.cpu.clwb(pair(leaf, count - 1)).await;
            c.cpu.ofence().await;
            c.cpu.store_release(leaf + COUNT, count - 1).await;
            c.persist(leaf, 64).await;
        }
        Lock(leaf).release(c).await;
    }
}

pub(crate) async fn run(c: Context) {
    let tree = Tree { root: Context::common_pm().lines(1), root_lock: Lock(Context::common_dram().lines(1)) };
    let total = c.settings.number("workload.operations");
    let seed = c.common_random().next_u64();
    let key = |n: u64| mix(seed ^ n) >> 1 | 1;
    let warm = total / 2;
    if c.thread == 0 {
        let leaf = tree.new_node(&c, 0).await;
        c.persist(leaf, NODE).await;
        c.publish(tree.root, leaf).await;
        for n in 0..warm {
            tree.insert(&c, key(n), n, 0).await;
        }
    }
    sync::start(&c).await;
    let (from, count) = (warm + c.share_start(total - warm), c.share(total - warm));
    for n in from..from + count {
        c.work(60).await;
        tree.insert(&c, key(n), n, 0).await;
        c.end_operation().await;
        for back in 1..=c.settings.number("workload.searches") {
            tree.search(&c, key(n.saturating_sub(back * 7))).await;
        }
        if n % 4 == 0 {
            tree.remove(&c, key(n)).await;
            c.end_operation().await;
        }
    }
    sync::finish(&c).await;
}
