//! pmemkv's store: a B+-tree whose leaves are linked.
//!
//! A node, in words: keys below, 1 << 32 for a leaf above; the next leaf; 14 keys; 15 values or children. A child holds
//! keys below the key right of it.

use super::{Store, Value, visit};
use crate::pm::{Pm, Recovered};
use crate::workload::{N, Workload, params};
use protocol::Settings;
use std::collections::BTreeMap;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "pmemkv",
    meaning: "pmemkv's B+-tree filled with random keys",
    source: "pmemkv; NearPM (EuroSys 2023) Table 4",
    params: params! {
        library "17200";
        "operations" N, "10000", "artifact: fillrandom num=10,000", "transactions of all threads";
    },
    check: Some(super::fits::<BPlus>),
    program: |c| Box::pin(super::run::<BPlus>(c)),
    recover: Some(super::recover::<BPlus>),
};

const KEYS: u64 = 14;
const NODE: u64 = 8 * (2 + KEYS + KEYS + 1);
const LEAF: u64 = 1 << 32;

pub(crate) struct BPlus;

fn key(node: u64, i: u64) -> u64 {
    node + 8 * (2 + i)
}

fn below(node: u64, i: u64) -> u64 {
    node + 8 * (2 + KEYS + i)
}

async fn new_node(pm: &Pm, kind: u64) -> u64 {
    let node = pm.alloc(NODE).await;
    for word in 0..NODE / 8 {
        pm.set(node + word * 8, 0).await;
    }
    pm.set(node, kind).await;
    node
}

async fn set_count(pm: &Pm, node: u64, count: u64) {
    let kind = pm.get(node).await & LEAF;
    pm.set(node, kind | count).await;
}

/// Opens a gap at `i`: a key, and the value at its place or the child right of it.
async fn insert(pm: &Pm, node: u64, i: u64, k: u64, value: u64) {
    let head = pm.get(node).await;
    let (count, right) = (head & !LEAF, u64::from(head & LEAF == 0));
    pm.add(node, NODE).await;
    for j in (i..count).rev() {
        let (k, v) = (pm.get(key(node, j)).await, pm.get(below(node, j + right)).await);
        pm.set(key(node, j + 1), k).await;
        pm.set(below(node, j + 1 + right), v).await;
    }
    pm.set(key(node, i), k).await;
    pm.set(below(node, i + right), value).await;
    set_count(pm, node, count + 1).await;
}

/// Splits the full node `node`, the child `i` of `parent`.
async fn split(pm: &Pm, parent: u64, i: u64, node: u64) {
    let kind = pm.get(node).await & LEAF;
    let right = new_node(pm, kind).await;
    pm.add(node, NODE).await;
    let half = KEYS / 2;
    let up = pm.get(key(node, half)).await;
    // A leaf keeps the key that goes up; an inner node gives it away.
    let from = if kind == LEAF { half } else { half + 1 };
    for j in from..KEYS {
        let (k, v) = (pm.get(key(node, j)).await, pm.get(below(node, j)).await);
        pm.set(key(right, j - from), k).await;
        pm.set(below(right, j - from), v).await;
    }
    if kind == LEAF {
        let next = pm.get(node + 8).await;
        pm.set(right + 8, next).await;
        pm.set(node + 8, right).await;
    } else {
        let last = pm.get(below(node, KEYS)).await;
        pm.set(below(right, KEYS - from), last).await;
    }
    set_count(pm, right, KEYS - from).await;
    set_count(pm, node, half).await;
    insert(pm, parent, i, up, right).await;
}

impl Store for BPlus {
    async fn create(pm: &Pm, _: &Settings) {
        let root = new_node(pm, LEAF).await;
        pm.put(pm.root(), root).await;
    }

    async fn put(pm: &Pm, k: u64, new: Value) {
        let mut node = pm.get(pm.root()).await;
        if pm.get(node).await & !LEAF == KEYS {
            let above = new_node(pm, 0).await;
            pm.set(below(above, 0), node).await;
            split(pm, above, 0, node).await;
            pm.put(pm.root(), above).await;
            node = above;
        }
        loop {
            let head = pm.get(node).await;
            let (count, leaf) = (head & !LEAF, head & LEAF != 0);
            let mut i = 0;
            loop {
                let here = if i < count { pm.get(key(node, i)).await } else { u64::MAX };
                if leaf && here == k {
                    let at = pm.get(below(node, i)).await;
                    return new.replace(pm, at).await;
                }
                if k < here {
                    break;
                }
                i += 1;
            }
            if leaf {
                let at = new.alloc(pm).await;
                return insert(pm, node, i, k, at).await;
            }
            let child = pm.get(below(node, i)).await;
            if pm.get(child).await & !LEAF == KEYS {
                split(pm, node, i, child).await;
            } else {
                node = child;
            }
        }
    }

    fn walk(m: &mut Recovered<'_>, _: &Settings) -> Result<BTreeMap<u64, u64>, String> {
        let (mut all, mut visited, mut leaves) = (BTreeMap::new(), 0, Vec::new());
        let root = m.get(m.root())?;
        let mut nodes = vec![(root, 0, u64::MAX)];
        while let Some((node, low, high)) = nodes.pop() {
            visit(&mut visited)?;
            let head = m.get(node)?;
            let (count, leaf) = (head & !LEAF, head & LEAF != 0);
            if count > KEYS {
                return Err(format!("the node at {node:#x} has {count} keys"));
            }
            let mut bounds = vec![low];
            for i in 0..count {
                let k = m.get(key(node, i))?;
                if k < low || k >= high || i > 0 && k <= bounds[i as usize] {
                    return Err(format!("key {k:#x} of the node at {node:#x} is out of order"));
                }
                bounds.push(k);
                if leaf {
                    all.insert(k, m.get(below(node, i))?);
                }
            }
            bounds.push(high);
            if leaf {
                leaves.push((low, node));
                continue;
            }
            for i in 0..=count {
                nodes.push((m.get(below(node, i))?, bounds[i as usize], bounds[i as usize + 1]));
            }
        }
        leaves.sort_unstable();
        for (i, (_, leaf)) in leaves.iter().enumerate() {
            let next = leaves.get(i + 1).map_or(0, |l| l.1);
            if m.get(leaf + 8)? != next {
                return Err(format!("the leaf at {leaf:#x} does not lead to the next one"));
            }
        }
        Ok(all)
    }
}
