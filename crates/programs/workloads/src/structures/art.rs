//! P-ART: the adaptive radix tree (Leis et al., ICDE 2013) made persistent (RECIPE, SOSP 2019).
//!
//! A node: lock at 0, kind at 8 (4, 16, 48 or 256 children), count at 16. Kinds 4 and 16: key bytes from 24 on,
//! children from 64 on; kind 48: 256 index bytes from 64 on, children from 320 on; kind 256: children from 64 on.
//! A child is a node, or a leaf (its address plus one), a line of its own as in the original: value at 0, the key's
//! length at 8, key at 16. A leaf persists before the pointer to it; a node that is full is copied to the next kind,
//! which persists before it replaces the old one.
//! Keys are eight random bytes: paths are not compressed.

use crate::context::Context;
use crate::recovery::{Crashed, Persistent, is_place};
use crate::sync::{self, Lock};
use crate::workload::Workload;
use protocol::PM_BASE;
use units::mix;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "p-art",
    meaning: "P-ART: an adaptive radix tree",
    source: "Leis et al., ICDE 2013; RECIPE (SOSP 2019)",
    params: super::RECIPE_INDEX,
    check: None,
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

const KIND: u64 = 8;
const COUNT: u64 = 16;
const BYTES: u64 = 24;
const CHILDREN: u64 = 64;
const INDEX: u64 = 64;
const CHILDREN_48: u64 = 320;
const LEAF: u64 = 1;
const VALUE: u64 = 0;
const LENGTH: u64 = 8;
const KEY: u64 = 16;

/// Instructions of the original (docs/models/workloads.md): making a leaf, finding its place, and after it is in; a search.
const MAKING: u64 = 491;
const DESCENT: u64 = 442;
const RETURN: u64 = 45;
const SEARCH: u64 = 178;

fn byte(key: u64, depth: u32) -> u64 {
    key >> (56 - 8 * depth) & 0xFF
}

fn size(kind: u64) -> u64 {
    if kind == 48 { CHILDREN_48 + 48 * 8 } else { CHILDREN + kind * 8 }
}

async fn new_node(c: &Context, kind: u64) -> u64 {
    let node = c.pm.alloc(size(kind), 64);
    c.store(node + KIND, kind).await;
    node
}

/// Where the child for `byte` is, if there is one.
async fn find(c: &Context, node: u64, byte: u64) -> Option<u64> {
    match c.load(node + KIND).await {
        256 => Some(node + CHILDREN + byte * 8),
        48 => {
            let index = c.cpu.load_sized(node + INDEX + byte, 1).await;
            (index != 0).then(|| node + CHILDREN_48 + (index - 1) * 8)
        }
        _ => {
            let count = c.cpu.load_acquire(node + COUNT).await;
            for at in 0..count {
                if c.cpu.load_sized(node + BYTES + at, 1).await == byte {
                    return Some(node + CHILDREN + at * 8);
                }
            }
            None
        }
    }
}

/// Adds a child to a node with room: the pointer first, then what makes it found.
async fn add(c: &Context, node: u64, byte: u64, child: u64) {
    let (kind, count) = (c.load(node + KIND).await, c.load(node + COUNT).await);
    match kind {
        256 => return c.release(node + CHILDREN + byte * 8, child).await,
        48 => {
            c.release(node + CHILDREN_48 + count * 8, child).await;
            c.cpu.store_sized(node + INDEX + byte, 1, count + 1).await;
            c.persist(node + INDEX + byte, 1).await;
        }
        _ => {
            c.store(node + CHILDREN + count * 8, child).await;
            c.cpu.store_sized(node + BYTES + count, 1, byte).await;
            c.cpu.clwb(node + CHILDREN + count * 8).await;
            c.persist(node + BYTES, 16).await;
        }
    }
    c.release(node + COUNT, count + 1).await;
}

/// Adds a child to a node that nothing leads to yet: the whole node persists before something does.
async fn fill(c: &Context, node: u64, byte: u64, child: u64) {
    let (kind, count) = (c.load(node + KIND).await, c.load(node + COUNT).await);
    match kind {
        256 => {
            c.store(node + CHILDREN + byte * 8, child).await;
            return;
        }
        48 => {
            c.store(node + CHILDREN_48 + count * 8, child).await;
            c.cpu.store_sized(node + INDEX + byte, 1, count + 1).await;
        }
        _ => {
            c.store(node + CHILDREN + count * 8, child).await;
            c.cpu.store_sized(node + BYTES + count, 1, byte).await;
        }
    }
    c.store(node + COUNT, count + 1).await;
}

/// A copy of a full node, one kind larger, which does not persist yet.
async fn grow(c: &Context, node: u64) -> u64 {
    let (kind, count) = (c.load(node + KIND).await, c.load(node + COUNT).await);
    let new = new_node(
        c,
        if kind == 4 {
            16
        } else if kind == 16 {
            48
        } else {
            256
        },
    )
    .await;
    for at in 0..if kind == 48 { 256 } else { count } {
        let byte = if kind == 48 { at } else { c.cpu.load_sized(node + BYTES + at, 1).await };
        let Some(place) = find(c, node, byte).await else { continue };
        let child = c.load(place).await;
        match c.load(new + KIND).await {
            16 => {
                c.store(new + CHILDREN + at * 8, child).await;
                c.cpu.store_sized(new + BYTES + at, 1, byte).await;
            }
            48 => {
                c.store(new + CHILDREN_48 + at * 8, child).await;
                c.cpu.store_sized(new + INDEX + byte, 1, at + 1).await;
            }
            _ => _ = c.store(new + CHILDREN + byte * 8, child).await,
        }
    }
    c.store(new + COUNT, count).await;
    new
}

/// Inserts a key; the root is a node of 256 and never replaced. `slot` is where the pointer to `node` is.
async fn insert(c: &Context, root: u64, key: u64, value: u64) {
    let leaf = c.pm.lines(1);
    c.executes(MAKING).await;
    c.store(leaf + VALUE, value).await;
    c.store(leaf + LENGTH, 8).await;
    c.store(leaf + KEY, key).await;
    c.persist(leaf, KEY + 8).await;
    c.executes(DESCENT).await;
    'again: loop {
        let (mut node, mut parent, mut slot, mut depth) = (root, 0, 0, 0);
        loop {
            let place = find(c, node, byte(key, depth)).await;
            let child = match place {
                Some(place) => c.cpu.load_acquire(place).await,
                None => 0,
            };
            if child != 0 && child & LEAF == 0 {
                (parent, slot, node, depth) = (node, place.unwrap_or(0), child, depth + 1);
                continue;
            }
            if change(c, Spot { parent, slot, node, depth }, child, key, leaf).await {
                c.executes(RETURN).await;
                return;
            }
            c.compute(64).await;
            continue 'again;
        }
    }
}

/// Where an insertion changes the tree.
struct Spot {
    parent: u64,
    slot: u64,
    node: u64,
    depth: u32,
}

/// Adds the leaf below a node, under its lock; under its parent's too when the node has to grow, since then the
/// pointer to it changes. False when the node changed meanwhile.
async fn change(c: &Context, spot: Spot, seen: u64, key: u64, leaf: u64) -> bool {
    let Spot { parent, slot, node, depth } = spot;
    Lock(node).acquire(c).await;
    let grows = seen == 0 && is_full(c, node).await;
    if grows {
        Lock(node).release(c).await;
        Lock(parent).acquire(c).await;
        Lock(node).acquire(c).await;
    }
    let place = find(c, node, byte(key, depth)).await;
    let now = match place {
        Some(place) => c.load(place).await,
        None => 0,
    };
    // A node that grew is no longer where its parent points.
    let current = parent == 0 || c.load(slot).await == node;
    let valid = now == seen && current && (grows || seen != 0 || !is_full(c, node).await);
    if valid {
        match place {
            Some(place) if now != 0 => {
                let below = fork(c, now & !LEAF, key, leaf, depth + 1).await;
                c.release(place, below).await;
            }
            _ => add_or_grow(c, node, slot, byte(key, depth), leaf | LEAF).await,
        }
    }
    Lock(node).release(c).await;
    if grows {
        Lock(parent).release(c).await;
    }
    valid
}

/// Whether a node has no room for another child; one of 256 always has.
async fn is_full(c: &Context, node: u64) -> bool {
    let kind = c.load(node + KIND).await;
    kind != 256 && c.load(node + COUNT).await >= kind
}

async fn add_or_grow(c: &Context, node: u64, slot: u64, byte: u64, child: u64) {
    if !is_full(c, node).await {
        return add(c, node, byte, child).await;
    }
    let new = grow(c, node).await;
    fill(c, new, byte, child).await;
    let bytes = size(c.load(new + KIND).await);
    c.persist(new, bytes).await;
    c.release(slot, new).await;
}

/// Nodes for the bytes that two leaves share, from `depth` on; or the new leaf where their keys are equal.
async fn fork(c: &Context, old: u64, key: u64, leaf: u64, depth: u32) -> u64 {
    let other = c.load(old + KEY).await;
    if other == key {
        return leaf | LEAF;
    }
    let top = new_node(c, 4).await;
    let (mut node, mut depth) = (top, depth);
    while byte(other, depth) == byte(key, depth) {
        let next = new_node(c, 4).await;
        fill(c, node, byte(key, depth), next).await;
        c.cpu.clwb_range(node, size(4)).await;
        (node, depth) = (next, depth + 1);
    }
    fill(c, node, byte(other, depth), old | LEAF).await;
    fill(c, node, byte(key, depth), leaf | LEAF).await;
    c.persist(node, size(4)).await;
    top
}

async fn get(c: &Context, root: u64, key: u64) -> Option<u64> {
    c.executes(SEARCH).await;
    let (mut node, mut depth) = (root, 0);
    loop {
        let place = find(c, node, byte(key, depth)).await?;
        let child = c.cpu.load_acquire(place).await;
        if child & LEAF != 0 {
            let leaf = child & !LEAF;
            return if c.load(leaf + KEY).await == key { Some(c.load(leaf + VALUE).await) } else { None };
        }
        if child == 0 {
            return None;
        }
        (node, depth) = (child, depth + 1);
    }
}

/// The value of a key; an error when the tree is no tree. A count or an index byte that is behind hides a child that
/// was not yet in.
fn look_up(memory: &mut dyn Persistent, key: u64) -> Result<Option<u64>, String> {
    let mut node = PM_BASE;
    for depth in 0..8 {
        let child = match child(memory, node, byte(key, depth))? {
            0 => return Ok(None),
            child => child,
        };
        if child & LEAF != 0 {
            let leaf = child & !LEAF;
            if leaf < PM_BASE || !leaf.is_multiple_of(64) {
                return Err(format!("a link leads to {leaf:#x}, which is no leaf"));
            }
            return Ok((memory.word(leaf + KEY) == key).then(|| memory.word(leaf + VALUE)));
        }
        node = child;
    }
    Err(format!("the path of key {key:#x} is longer than the key"))
}

/// A node's child for `byte`, zero where there is none.
fn child(memory: &mut dyn Persistent, node: u64, byte: u64) -> Result<u64, String> {
    if !is_place(node) {
        return Err(format!("a link leads to {node:#x}, which is no node"));
    }
    let mut one = |at: u64| memory.word(at & !7) >> (at % 8 * 8) & 0xFF;
    let (kind, count) = (one(node + KIND) + (one(node + KIND + 1) << 8), one(node + COUNT));
    let place = match kind {
        256 => Some(CHILDREN + byte * 8),
        48 => one(node + INDEX + byte).checked_sub(1).map(|index| CHILDREN_48 + index * 8),
        4 | 16 => (0..count.min(kind)).find(|at| one(node + BYTES + at) == byte).map(|at| CHILDREN + at * 8),
        _ => return Err(format!("the node at {node:#x} has kind {kind}")),
    };
    Ok(place.map_or(0, |place| memory.word(node + place)))
}

/// Every key whose insertion was durable is found by a search from the root, with its value.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let total = crashed.settings.number("workload.operations");
    let seed = crashed.common_random().next_u64();
    for n in crashed.inserted(total) {
        let key = mix(seed ^ n);
        match look_up(memory, key)? {
            None => return Err(format!("key {key:#x} was committed and is missing")),
            Some(value) if value != n => return Err(format!("key {key:#x} has value {value}, not {n}")),
            Some(_) => {}
        }
    }
    for key in crashed.still_to_come(total).into_iter().map(|n| mix(seed ^ n)) {
        if look_up(memory, key)?.is_some() {
            return Err(format!("key {key:#x} is there, and its insertion had not begun"));
        }
    }
    Ok(())
}

pub(crate) async fn run(c: Context) {
    let root = Context::common_pm().alloc(size(256), 64);
    if c.thread == 0 {
        c.store(root + KIND, 256).await;
        c.persist(root, 64).await;
    }
    let total = c.settings.number("workload.operations");
    let seed = c.common_random().next_u64();
    let (from, count) = (c.share_start(total), c.share(total));
    let reads = c.settings.number("workload.read_percent") * 10;
    let mut random = c.random();
    sync::start(&c).await;
    for n in from..from + count {
        if random.chance(reads) {
            get(&c, root, mix(seed ^ random.below(n + 1))).await;
            c.cpu.operation_done();
        } else {
            insert(&c, root, mix(seed ^ n), n).await;
            c.end_operation().await;
        }
    }
    sync::finish(&c).await;
}
