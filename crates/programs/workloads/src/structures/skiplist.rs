//! A persistent skip list (Pugh 1990) under one lock, its changes made atomic by an undo log.
//!
//! A node: key at 0, value at 8, height at 16, next pointers from 24 on.

use super::log::{UndoLog, Undone};
use crate::context::Context;
use crate::recovery::{Crashed, Expected, Persistent, is_place};
use crate::sync::{self, Lock};
use crate::workload::{Count, Flag, N, PERCENT, Workload, params};
use protocol::PM_BASE;
use std::collections::BTreeMap;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "skiplist",
    meaning: "a skip list under one lock with an undo log",
    source: "Pugh (CACM 1990); ASAP's atlas_skiplist",
    params: params! {
        "operations" N, "2000", "artifact: skiplist_nvm 4 2000 0.8", "insertions and removals of all threads";
        "insert_percent" PERCENT, "80", "artifact: skiplist_nvm 4 2000 0.8", "operations that insert";
        "log_instructions" Count { min: 0, max: 100_000 }, "330", "measured: ATLAS 17ef750, a store", "instructions of the logging library for a range that it saves";
        "transaction_instructions" Count { min: 0, max: 100_000 }, "1595", "measured: ATLAS 17ef750, a lock taken and given back", "instructions of the logging library for a transaction besides";
        "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

const HEIGHT: usize = 12;
const NEXT: u64 = 24;

struct SkipList {
    head: u64,
    lock: Lock,
}

impl SkipList {
    /// The last node before `key` on every level.
    async fn find(&self, c: &Context, key: u64) -> [u64; HEIGHT] {
        let mut before = [self.head; HEIGHT];
        let mut node = self.head;
        for level in (0..HEIGHT).rev() {
            loop {
                let next = c.load(node + NEXT + level as u64 * 8).await;
                if next == 0 || c.load(next).await >= key {
                    break;
                }
                node = next;
            }
            before[level] = node;
        }
        before
    }

    async fn insert(&self, c: &Context, log: &UndoLog, key: u64, height: usize) {
        let before = self.find(c, key).await;
        let next = c.load(before[0] + NEXT).await;
        if next != 0 && c.load(next).await == key {
            log.store(c, next + 8, key ^ 1).await;
            return;
        }
        let size = NEXT + height as u64 * 8;
        let node = c.pm.alloc(size, 64);
        c.store(node, key).await;
        c.store(node + 8, key).await;
        c.store(node + 16, height as u64).await;
        for (level, from) in before.iter().enumerate().take(height) {
            let after = c.load(from + NEXT + level as u64 * 8).await;
            c.store(node + NEXT + level as u64 * 8, after).await;
        }
        c.persist(node, size).await;
        for (level, from) in before.iter().enumerate().take(height) {
            log.store(c, from + NEXT + level as u64 * 8, node).await;
        }
    }

    async fn remove(&self, c: &Context, log: &UndoLog, key: u64) {
        let before = self.find(c, key).await;
        let node = c.load(before[0] + NEXT).await;
        if node == 0 || c.load(node).await != key {
            return;
        }
        let height = c.load(node + 16).await;
        for (level, from) in before.iter().enumerate().take(height as usize) {
            let after = c.load(node + NEXT + level as u64 * 8).await;
            log.store(c, from + NEXT + level as u64 * 8, after).await;
        }
    }
}

/// What the operations that had begun say, a key being its own value.
fn expected(crashed: &Crashed<'_>) -> Expected {
    let total = crashed.settings.number("workload.operations");
    let inserts = crashed.settings.number("workload.insert_percent") * 10;
    let mut expected = Expected::default();
    for thread in 0..crashed.threads() {
        let mut random = crashed.random(thread);
        for (_, persisted) in crashed.begun(crashed.share(total, thread).1, thread) {
            let (insert, key) = (random.chance(inserts), 1 + random.below(total * 2));
            random.next_u64();
            expected.note(thread, key, insert.then_some(key), persisted);
        }
    }
    expected
}

/// Every level is sorted and leads through nodes of the level below, and the keys are those that must be there.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let mut memory = Undone::new(memory, crashed)?;
    let mut below: Option<BTreeMap<u64, u64>> = None;
    for level in 0..HEIGHT as u64 {
        let (mut keys, mut last) = (BTreeMap::new(), 0);
        let mut node = memory.word(PM_BASE + NEXT + level * 8);
        while node != 0 {
            let wrong = || Err(format!("level {level} leads to {node:#x}, which is no node of it"));
            if !is_place(node) {
                return wrong();
            }
            let (key, value) = (memory.word(node), memory.word(node + 8));
            if memory.word(node + 16) <= level || (value | 1) != (key | 1) {
                return wrong();
            }
            if key <= last || below.as_ref().is_some_and(|b| !b.contains_key(&key)) {
                return Err(format!(
                    "level {level} has key {key}, which is out of order or not on the level below"
                ));
            }
            keys.insert(key, key);
            (last, node) = (key, memory.word(node + NEXT + level * 8));
        }
        if level == 0 {
            expected(crashed).check(&keys)?;
        }
        below = Some(keys);
    }
    Ok(())
}

pub(crate) async fn run(c: Context) {
    let (pm, dram) = (Context::common_pm(), Context::common_dram());
    let list = SkipList { head: pm.lines(4), lock: Lock(dram.lines(1)) };
    let log = UndoLog::new(&c);
    let operations = c.share(c.settings.number("workload.operations"));
    let inserts = c.settings.number("workload.insert_percent") * 10;
    let keys = c.settings.number("workload.operations") * 2;
    let mut random = c.random();
    sync::start(&c).await;
    for _ in 0..operations {
        let (insert, key) = (random.chance(inserts), 1 + random.below(keys));
        let height = 1 + (random.next_u64().trailing_zeros() as usize).min(HEIGHT - 1);
        list.lock.acquire(&c).await;
        if insert {
            list.insert(&c, &log, key, height).await;
        } else {
            list.remove(&c, &log, key).await;
        }
        log.commit(&c).await;
        list.lock.release(&c).await;
        c.end_operation().await;
        c.compute(100).await;
    }
    sync::finish(&c).await;
}
