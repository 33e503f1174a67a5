//! A skip list of four levels, after PMDK's skiplist_map.
//!
//! A node, in words: key, value, the next node on each level.

use super::{Store, Value, visit};
use crate::pm::{Pm, Recovered};
use crate::workload::{N, Workload, params};
use protocol::Settings;
use std::collections::BTreeMap;
use units::mix;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "pm-skiplist",
    meaning: "PMDK's skip list map: random keys are inserted",
    source: "PMDK skiplist_map; NearPM (EuroSys 2023) Table 4",
    params: params! {
        library "16700";
        "operations" N, "10000", "artifact: 10,000 inserts", "transactions of all threads";
    },
    check: Some(super::fits::<SkipList>),
    program: |c| Box::pin(super::run::<SkipList>(c)),
    recover: Some(super::recover::<SkipList>),
};

const LEVELS: u64 = 4;
const NODE: u64 = 8 * (2 + LEVELS);

pub(crate) struct SkipList;

fn next(node: u64, level: u64) -> u64 {
    node + 16 + level * 8
}

/// Levels of a key's node: each one more with half the chance.
fn height(key: u64) -> u64 {
    u64::from(mix(key).trailing_zeros()).min(LEVELS - 1) + 1
}

impl Store for SkipList {
    async fn create(pm: &Pm, _: &Settings) {
        let head = pm.alloc(NODE).await;
        for word in 0..NODE / 8 {
            pm.set(head + word * 8, 0).await;
        }
        pm.put(pm.root(), head).await;
    }

    async fn put(pm: &Pm, key: u64, new: Value) {
        let mut node = pm.get(pm.root()).await;
        let mut before = [0; LEVELS as usize];
        for level in (0..LEVELS).rev() {
            loop {
                let ahead = pm.get(next(node, level)).await;
                if ahead == 0 || pm.get(ahead).await >= key {
                    break;
                }
                node = ahead;
            }
            before[level as usize] = node;
        }
        let found = pm.get(next(before[0], 0)).await;
        if found != 0 && pm.get(found).await == key {
            let at = pm.get(found + 8).await;
            return new.replace(pm, at).await;
        }
        let value = new.alloc(pm).await;
        let node = pm.alloc(NODE).await;
        pm.set(node, key).await;
        pm.set(node + 8, value).await;
        for (level, before) in (0..).zip(before) {
            let ahead = if level < height(key) { pm.get(next(before, level)).await } else { 0 };
            pm.set(next(node, level), ahead).await;
            if level < height(key) {
                pm.put(next(before, level), node).await;
            }
        }
    }

    fn walk(m: &mut Recovered<'_>, _: &Settings) -> Result<BTreeMap<u64, u64>, String> {
        let head = m.get(m.root())?;
        let (mut all, mut visited) = (BTreeMap::new(), 0);
        for level in 0..LEVELS {
            let (mut node, mut last, mut found) = (m.get(next(head, level))?, 0, 0);
            while node != 0 {
                visit(&mut visited)?;
                let key = m.get(node)?;
                if key <= last {
                    return Err(format!("key {key:#x} is out of order on level {level}"));
                }
                if level == 0 {
                    all.insert(key, m.get(node + 8)?);
                } else if !all.contains_key(&key) {
                    return Err(format!("key {key:#x} is on level {level} and not on the lowest"));
                }
                (last, found, node) = (key, found + 1, m.get(next(node, level))?);
            }
            if found != all.keys().filter(|k| height(**k) > level).count() {
                return Err(format!("level {level} misses a key"));
            }
        }
        Ok(all)
    }
}
