//! FAST & FAIR: a persistent B+-tree whose nodes are kept sorted by shifts that are always readable
//! (Hwang et al., FAST 2018).
//!
//! A node of 512 bytes: lock at 0, level at 8, count at 16, sibling at 24, leftmost child at 32, high key at 40;
//! 28 pairs of key and pointer from 64 on. A shift orders the pairs of one line before those of the next.
//!
//! What a power failure leaves is read without the count: the first pointer of zero behind the first pair ends a
//! node, and a pair whose pointer is its left neighbour's is not there. Every step of a shift keeps that readable.

use crate::context::Context;
use crate::recovery::{Crashed, Persistent, is_place};
use crate::sync::{self, Lock};
use crate::workload::{Count, Flag, N, Workload, params};
use protocol::PM_BASE;
use units::mix;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "fast-fair",
    meaning: "FAST & FAIR: a B+-tree with always readable shifts",
    source: "Hwang et al., FAST 2018",
    params: params! {
        "operations" N, "24000", "artifact: -n 24000", "keys; the first half is inserted beforehand";
        "searches" Count { min: 0, max: 64 }, "4", "artifact: mixed mode", "searches after each insertion; every fourth key is deleted";
        "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

const NODE: u64 = 512;
const PAIRS: u64 = 28;
const LEVEL: u64 = 8;
const COUNT: u64 = 16;
const SIBLING: u64 = 24;
const LEFTMOST: u64 = 32;
const HIGH: u64 = 40;
const FIRST: u64 = 64;

/// Instructions of the original (docs/models/workloads.md): a search; an insertion until its first flush, around each
/// flush after that, and after the last.
const SEARCH: u64 = 310;
const DESCENT: u64 = 520;
const STEP: u64 = 100;
const RETURN: u64 = 90;

struct Tree {
    root: u64,
    root_lock: Lock,
}

fn key(seed: u64, n: u64) -> u64 {
    mix(seed ^ n) >> 1 | 1
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
            c.compute(64).await;
            node = c.cpu.load_acquire(self.root).await;
        }
        loop {
            node = self.move_right(c, node, key).await;
            if c.load(node + LEVEL).await == level {
                return node;
            }
            let at = self.position(c, node, key).await;
            let child = self.left_of(c, node, at).await;
            // Zero where the node was split meanwhile: its high key says where to go on.
            node = if child == 0 { node } else { child };
        }
    }

    /// The pointer left of a place: of the pair before, or the leftmost child.
    async fn left_of(&self, c: &Context, node: u64, at: u64) -> u64 {
        c.load(if at == 0 { node + LEFTMOST } else { pair(node, at - 1) + 8 }).await
    }

    async fn search(&self, c: &Context, key: u64) -> Option<u64> {
        c.executes(SEARCH).await;
        let leaf = self.descend(c, key, 0).await;
        let at = self.position(c, leaf, key).await;
        if at > 0 && c.load(pair(leaf, at - 1)).await == key {
            return Some(c.load(pair(leaf, at - 1) + 8).await);
        }
        None
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
        if c.load(node + COUNT).await == PAIRS {
            self.split(c, node, key, value).await;
            return;
        }
        self.shift_in(c, node, key, value).await;
        Lock(node).release(c).await;
    }

    /// FAST: pairs move up one by one, pointer before key, behind an end that moves first; the line that was finished
    /// is flushed before the next is touched. The new pair has its left neighbour's pointer until its key is there.
    async fn shift_in(&self, c: &Context, node: u64, key: u64, value: u64) {
        let at = self.position(c, node, key).await;
        let count = c.load(node + COUNT).await;
        if at > 0 && c.load(pair(node, at - 1)).await == key {
            return c.publish(pair(node, at - 1) + 8, value).await;
        }
        let end = pair(node, count + 1);
        if count + 1 < PAIRS && c.load(end + 8).await != 0 {
            c.store(end + 8, 0).await;
            if end.is_multiple_of(64) {
                c.executes(STEP).await;
                c.persist(end, 16).await;
            }
        }
        for index in (at..count).rev() {
            let (from, to) = (pair(node, index), pair(node, index + 1));
            let (k, v) = (c.load(from).await, c.load(from + 8).await);
            c.store(to + 8, v).await;
            c.store(to, k).await;
            if to % 64 == 0 {
                c.executes(STEP).await;
                c.persist(to, 16).await;
            }
        }
        let (to, left) = (pair(node, at), self.left_of(c, node, at).await);
        c.store(to + 8, left).await;
        c.store(to, key).await;
        c.store(to + 8, value).await;
        c.persist(to, 16).await;
        c.executes(STEP).await;
        c.cpu.store_release(node + COUNT, count + 1).await;
        c.persist(node, 64).await;
        c.executes(RETURN).await;
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
        c.publish(pair(node, half) + 8, 0).await;
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
            c.release(self.root, root).await;
            self.root_lock.release(c).await;
            return;
        }
        self.root_lock.release(c).await;
        Box::pin(self.insert(c, key, sibling, level)).await;
    }

    /// Takes a pair out: it gets its left neighbour's pointer, then those behind it move down, key before pointer.
    async fn remove(&self, c: &Context, key: u64) {
        c.executes(DESCENT).await;
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
            let left = self.left_of(c, leaf, at - 1).await;
            c.store(pair(leaf, at - 1) + 8, left).await;
            for index in at..count {
                let (from, to) = (pair(leaf, index), pair(leaf, index - 1));
                let (k, v) = (c.load(from).await, c.load(from + 8).await);
                c.store(to, k).await;
                c.store(to + 8, v).await;
                if from % 64 == 0 {
                    c.executes(STEP).await;
                    c.persist(to, 16).await;
                }
            }
            c.executes(STEP).await;
            c.publish(pair(leaf, count - 1) + 8, 0).await;
            c.cpu.store_release(leaf + COUNT, count - 1).await;
            c.persist(leaf, 64).await;
        }
        Lock(leaf).release(c).await;
    }
}

/// The pointer that belongs to `key` in a node, and the key of its pair; the leftmost pointer has none.
fn below(memory: &mut dyn Persistent, node: u64, key: u64) -> (u64, Option<u64>) {
    let leftmost = memory.word(node + LEFTMOST);
    let (mut left, mut found) = (leftmost, (leftmost, None));
    for index in 0..PAIRS {
        let (held, pointer) = (memory.word(pair(node, index)), memory.word(pair(node, index) + 8));
        if pointer == 0 && index > 0 {
            break;
        }
        if pointer != left && held <= key {
            found = (pointer, Some(held));
        }
        left = pointer;
    }
    found
}

/// The value of a key; an error when the tree is no tree.
fn look_up(memory: &mut dyn Persistent, key: u64, total: u64) -> Result<Option<u64>, String> {
    let mut node = memory.word(PM_BASE);
    // No way through a sound tree is longer than its keys are many.
    for _ in 0..total + 64 {
        if !is_place(node) {
            return Err(format!("a link leads to {node:#x}, which is no node"));
        }
        if key >= memory.word(node + HIGH) {
            node = memory.word(node + SIBLING);
            continue;
        }
        let (pointer, held) = below(memory, node, key);
        if memory.word(node + LEVEL) == 0 {
            return Ok((held == Some(key)).then_some(pointer));
        }
        node = pointer;
    }
    Err("a search does not end".into())
}

/// Every key whose insertion was durable is found with its value, and none whose removal was.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let total = crashed.settings.number("workload.operations");
    let (warm, seed) = (total / 2, crashed.common_random().next_u64());
    let check = |memory: &mut dyn Persistent, n: u64, there: bool, certain: bool| {
        let key = key(seed, n);
        match look_up(memory, key, total)? {
            Some(value) if value != n + 1 => Err(format!("key {key:#x} has value {value}, not {}", n + 1)),
            None if there && certain => Err(format!("key {key:#x} was committed and is missing")),
            Some(_) if !there && certain => Err(format!("key {key:#x} is there and was removed")),
            _ => Ok(()),
        }
    };
    (0..warm).try_for_each(|n| check(memory, n, true, true))?;
    for thread in 0..crashed.threads() {
        let (from, count) = crashed.share(total - warm, thread);
        let mut ended = crashed.ended[thread];
        for n in warm + from..warm + from + count {
            // An insertion, and after it the removal of every fourth key.
            let operations = if n % 4 == 0 { 2 } else { 1 };
            let done = ended.min(operations);
            let in_between = done == 1 && operations == 2;
            check(memory, n, done == 1, crashed.durable() && done > 0 && !in_between)?;
            ended -= done;
            if done < operations {
                let key = key(seed, n + 1);
                if n + 1 < warm + from + count && look_up(memory, key, total)?.is_some() {
                    return Err(format!("key {key:#x} is there, and its insertion had not begun"));
                }
                break;
            }
        }
    }
    Ok(())
}

pub(crate) async fn run(c: Context) {
    let tree = Tree { root: Context::common_pm().lines(1), root_lock: Lock(Context::common_dram().lines(1)) };
    let total = c.settings.number("workload.operations");
    let seed = c.common_random().next_u64();
    let key = |n: u64| key(seed, n);
    let warm = total / 2;
    if c.thread == 0 {
        let leaf = tree.new_node(&c, 0).await;
        c.persist(leaf, NODE).await;
        c.publish(tree.root, leaf).await;
        for n in 0..warm {
            tree.insert(&c, key(n), n + 1, 0).await;
        }
    }
    sync::start(&c).await;
    let (from, count) = (warm + c.share_start(total - warm), c.share(total - warm));
    for n in from..from + count {
        tree.insert(&c, key(n), n + 1, 0).await;
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
