//! A B-tree of order 8, after PMDK's btree_map: nodes split on the way down.
//!
//! A node, in words: how many keys; seven keys; seven values; eight children.

use super::{Store, Value, visit};
use crate::pm::{Pm, Recovered};
use crate::workload::{N, Workload, params};
use protocol::Settings;
use std::collections::BTreeMap;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "btree",
    meaning: "PMDK's B-tree map: random keys are inserted",
    source: "PMDK btree_map; NearPM (EuroSys 2023) Table 4",
    params: params! {
        library "21200";
        "operations" N, "10000", "artifact: 10,000 inserts", "transactions of all threads";
    },
    check: Some(super::fits::<BTree>),
    program: |c| Box::pin(super::run::<BTree>(c)),
    recover: Some(super::recover::<BTree>),
};

const ORDER: u64 = 8;
const KEYS: u64 = ORDER - 1;
const NODE: u64 = 8 * (1 + 2 * KEYS + ORDER);
const MIDDLE: u64 = KEYS / 2;

pub(crate) struct BTree;

fn key(node: u64, i: u64) -> u64 {
    node + 8 * (1 + i)
}

fn value(node: u64, i: u64) -> u64 {
    node + 8 * (1 + KEYS + i)
}

fn child(node: u64, i: u64) -> u64 {
    node + 8 * (1 + 2 * KEYS + i)
}

async fn new_node(pm: &Pm) -> u64 {
    let node = pm.alloc(NODE).await;
    for word in 0..NODE / 8 {
        pm.set(node + word * 8, 0).await;
    }
    node
}

/// Moves an entry and the child right of it.
async fn move_entry(pm: &Pm, from: (u64, u64), to: (u64, u64)) {
    let (k, v) = (pm.get(key(from.0, from.1)).await, pm.get(value(from.0, from.1)).await);
    let right = pm.get(child(from.0, from.1 + 1)).await;
    pm.set(key(to.0, to.1), k).await;
    pm.set(value(to.0, to.1), v).await;
    pm.set(child(to.0, to.1 + 1), right).await;
}

/// Splits the full child `i` of `parent`: its upper half goes to a new node, its middle entry up.
async fn split(pm: &Pm, parent: u64, i: u64) {
    let left = pm.get(child(parent, i)).await;
    let right = new_node(pm).await;
    pm.add(left, NODE).await;
    pm.add(parent, NODE).await;
    let first = pm.get(child(left, MIDDLE + 1)).await;
    pm.set(child(right, 0), first).await;
    for j in MIDDLE + 1..KEYS {
        move_entry(pm, (left, j), (right, j - MIDDLE - 1)).await;
    }
    pm.set(right, KEYS - MIDDLE - 1).await;
    let count = pm.get(parent).await;
    for j in (i..count).rev() {
        move_entry(pm, (parent, j), (parent, j + 1)).await;
    }
    let (k, v) = (pm.get(key(left, MIDDLE)).await, pm.get(value(left, MIDDLE)).await);
    pm.set(key(parent, i), k).await;
    pm.set(value(parent, i), v).await;
    pm.set(child(parent, i + 1), right).await;
    pm.set(parent, count + 1).await;
    pm.set(left, MIDDLE).await;
}

impl Store for BTree {
    async fn create(pm: &Pm, _: &Settings) {
        let root = new_node(pm).await;
        pm.put(pm.root(), root).await;
    }

    async fn put(pm: &Pm, k: u64, new: Value) {
        let mut node = pm.get(pm.root()).await;
        if pm.get(node).await == KEYS {
            let above = new_node(pm).await;
            pm.set(child(above, 0), node).await;
            split(pm, above, 0).await;
            pm.put(pm.root(), above).await;
            node = above;
        }
        loop {
            let count = pm.get(node).await;
            let mut i = 0;
            while i < count && pm.get(key(node, i)).await < k {
                i += 1;
            }
            if i < count && pm.get(key(node, i)).await == k {
                let at = pm.get(value(node, i)).await;
                return new.replace(pm, at).await;
            }
            let below = pm.get(child(node, i)).await;
            if below == 0 {
                let at = new.alloc(pm).await;
                pm.add(node, NODE).await;
                for j in (i..count).rev() {
                    move_entry(pm, (node, j), (node, j + 1)).await;
                }
                pm.set(key(node, i), k).await;
                pm.set(value(node, i), at).await;
                return pm.set(node, count + 1).await;
            }
            if pm.get(below).await == KEYS {
                split(pm, node, i).await;
            } else {
                node = below;
            }
        }
    }

    fn walk(m: &mut Recovered<'_>, _: &Settings) -> Result<BTreeMap<u64, u64>, String> {
        let (mut all, mut visited) = (BTreeMap::new(), 0);
        let root = m.get(m.root())?;
        let mut nodes = vec![(root, 0, u64::MAX)];
        while let Some((node, low, high)) = nodes.pop() {
            visit(&mut visited)?;
            let count = m.get(node)?;
            if count > KEYS {
                return Err(format!("the node at {node:#x} has {count} keys"));
            }
            let leaf = m.get(child(node, 0))? == 0;
            let mut from = low;
            for i in 0..count {
                let k = m.get(key(node, i))?;
                if k <= from || k >= high {
                    return Err(format!("key {k:#x} of the node at {node:#x} is out of order"));
                }
                all.insert(k, m.get(value(node, i))?);
                if !leaf {
                    nodes.push((m.get(child(node, i))?, from, k));
                }
                from = k;
            }
            if !leaf {
                nodes.push((m.get(child(node, count))?, from, high));
            }
        }
        Ok(all)
    }
}
