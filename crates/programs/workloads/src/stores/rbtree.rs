//! A red-black tree, after PMDK's rbtree_map.
//!
//! A node, in words: key, value, parent, left, right, whether it is red. Zero is the end.

use super::{Store, Value, visit};
use crate::pm::{Pm, Recovered};
use crate::workload::{N, Workload, params};
use protocol::Settings;
use std::collections::BTreeMap;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "rbtree",
    meaning: "PMDK's red-black tree map: random keys are inserted",
    source: "PMDK rbtree_map; NearPM (EuroSys 2023) Table 4",
    params: params! {
        library "29000";
        "operations" N, "10000", "artifact: 10,000 inserts", "transactions of all threads";
    },
    check: Some(super::fits::<RbTree>),
    program: |c| Box::pin(super::run::<RbTree>(c)),
    recover: Some(super::recover::<RbTree>),
};

const NODE: u64 = 48;
const VALUE: u64 = 8;
const PARENT: u64 = 16;
const LEFT: u64 = 24;
const RIGHT: u64 = 32;
const RED: u64 = 40;

pub(crate) struct RbTree;

fn other(side: u64) -> u64 {
    LEFT + RIGHT - side
}

async fn is_red(pm: &Pm, node: u64) -> bool {
    node != 0 && pm.get(node + RED).await == 1
}

async fn paint(pm: &Pm, node: u64, red: bool) {
    pm.add(node, NODE).await;
    pm.set(node + RED, red.into()).await;
}

/// Whoever pointed to `old` points to `new`.
async fn replace_child(pm: &Pm, parent: u64, old: u64, new: u64) {
    if parent == 0 {
        return pm.put(pm.root(), new).await;
    }
    let side = if pm.get(parent + LEFT).await == old { LEFT } else { RIGHT };
    pm.add(parent, NODE).await;
    pm.set(parent + side, new).await;
}

/// Turns `node` down to `side`; its child on the other side takes its place.
async fn rotate(pm: &Pm, node: u64, side: u64) {
    let up = pm.get(node + other(side)).await;
    let middle = pm.get(up + side).await;
    let parent = pm.get(node + PARENT).await;
    for changed in [node, up] {
        pm.add(changed, NODE).await;
    }
    pm.set(node + other(side), middle).await;
    if middle != 0 {
        pm.add(middle, NODE).await;
        pm.set(middle + PARENT, node).await;
    }
    pm.set(up + PARENT, parent).await;
    replace_child(pm, parent, node, up).await;
    pm.set(up + side, node).await;
    pm.set(node + PARENT, up).await;
}

/// No red node keeps a red parent.
async fn repair(pm: &Pm, mut node: u64) {
    loop {
        let parent = pm.get(node + PARENT).await;
        if !is_red(pm, parent).await {
            break;
        }
        let grand = pm.get(parent + PARENT).await;
        let side = if pm.get(grand + LEFT).await == parent { LEFT } else { RIGHT };
        let uncle = pm.get(grand + other(side)).await;
        if is_red(pm, uncle).await {
            paint(pm, parent, false).await;
            paint(pm, uncle, false).await;
            paint(pm, grand, true).await;
            node = grand;
            continue;
        }
        if pm.get(parent + other(side)).await == node {
            rotate(pm, parent, side).await;
            node = parent;
        }
        let parent = pm.get(node + PARENT).await;
        paint(pm, parent, false).await;
        paint(pm, grand, true).await;
        rotate(pm, grand, other(side)).await;
        break;
    }
    let root = pm.get(pm.root()).await;
    if is_red(pm, root).await {
        paint(pm, root, false).await;
    }
}

impl Store for RbTree {
    async fn create(pm: &Pm, _: &Settings) {
        pm.put(pm.root(), 0).await;
    }

    async fn put(pm: &Pm, key: u64, new: Value) {
        let (mut parent, mut side, mut at) = (0, LEFT, pm.get(pm.root()).await);
        while at != 0 {
            let here = pm.get(at).await;
            if here == key {
                let value = pm.get(at + VALUE).await;
                return new.replace(pm, value).await;
            }
            (parent, side) = (at, if key < here { LEFT } else { RIGHT });
            at = pm.get(at + side).await;
        }
        let value = new.alloc(pm).await;
        let node = pm.alloc(NODE).await;
        for (i, word) in (0..).zip([key, value, parent, 0, 0, 1]) {
            pm.set(node + i * 8, word).await;
        }
        if parent == 0 {
            pm.put(pm.root(), node).await;
        } else {
            pm.add(parent, NODE).await;
            pm.set(parent + side, node).await;
        }
        repair(pm, node).await;
    }

    fn walk(m: &mut Recovered<'_>, _: &Settings) -> Result<BTreeMap<u64, u64>, String> {
        let (mut all, mut visited) = (BTreeMap::new(), 0);
        let root = m.get(m.root())?;
        // Node, its parent, the range of its keys, black nodes above it.
        let mut nodes = vec![(root, 0, 0, u64::MAX, 0)];
        let mut blacks = None;
        while let Some((node, parent, low, high, black)) = nodes.pop() {
            if node == 0 {
                if *blacks.get_or_insert(black) != black {
                    return Err("two ways down pass different numbers of black nodes".into());
                }
                continue;
            }
            visit(&mut visited)?;
            let [key, value, up, left, right, red] =
                [0, 8, 16, 24, 32, 40].map(|i| m.get(node + i).unwrap_or(u64::MAX));
            if key <= low || key >= high || up != parent || red > 1 {
                return Err(format!("the node at {node:#x} is out of order"));
            }
            if red == 1 && parent != 0 && m.get(parent + RED)? == 1 {
                return Err(format!("the node at {node:#x} is red, and so is its parent"));
            }
            all.insert(key, value);
            nodes.push((left, node, low, key, black + 1 - red));
            nodes.push((right, node, key, high, black + 1 - red));
        }
        Ok(all)
    }
}
