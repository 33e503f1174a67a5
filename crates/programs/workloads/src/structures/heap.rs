//! A persistent binary heap in an array under one lock, its changes made atomic by an undo log.
//!
//! Line 0: number of elements. Elements of 8 bytes from line 1 on, smallest first.

use super::log::{UndoLog, Undone};
use crate::context::Context;
use crate::recovery::{Crashed, Persistent};
use crate::sync::{self, Lock};
use crate::workload::{Count, Flag, N, PERCENT, Workload, params};
use protocol::PM_BASE;
use std::collections::BTreeMap;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "heap",
    meaning: "a binary heap under one lock with an undo log",
    source: "ASAP's atlas_heap",
    params: params! {
        "operations" N, "8000", "artifact: heap_nvm 4 8000 0.5", "insertions and removals of all threads";
        "insert_percent" PERCENT, "50", "artifact: heap_nvm 4 8000 0.5", "operations that insert";
        "log_instructions" Count { min: 0, max: 100_000 }, "330", "measured: ATLAS 17ef750, a store", "instructions of the logging library for a range that it saves";
        "transaction_instructions" Count { min: 0, max: 100_000 }, "1595", "measured: ATLAS 17ef750, a lock taken and given back", "instructions of the logging library for a transaction besides";
        "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

struct Heap {
    base: u64,
    lock: Lock,
}

impl Heap {
    fn at(&self, index: u64) -> u64 {
        self.base + 64 + index * 8
    }

    async fn insert(&self, c: &Context, log: &UndoLog, value: u64) {
        let mut hole = c.load(self.base).await;
        log.store(c, self.base, hole + 1).await;
        while hole > 0 {
            let parent = (hole - 1) / 2;
            let above = c.load(self.at(parent)).await;
            if above <= value {
                break;
            }
            log.store(c, self.at(hole), above).await;
            hole = parent;
        }
        log.store(c, self.at(hole), value).await;
    }

    async fn remove_least(&self, c: &Context, log: &UndoLog) -> Option<u64> {
        let count = c.load(self.base).await;
        if count == 0 {
            return None;
        }
        let least = c.load(self.at(0)).await;
        let last = c.load(self.at(count - 1)).await;
        log.store(c, self.base, count - 1).await;
        let mut hole = 0;
        loop {
            let mut child = 2 * hole + 1;
            if child >= count - 1 {
                break;
            }
            let mut below = c.load(self.at(child)).await;
            if child + 1 < count - 1 {
                let right = c.load(self.at(child + 1)).await;
                if right < below {
                    (child, below) = (child + 1, right);
                }
            }
            if below >= last {
                break;
            }
            log.store(c, self.at(hole), below).await;
            hole = child;
        }
        log.store(c, self.at(hole), last).await;
        Some(least)
    }
}

/// The heap is one, holds what was inserted and nothing else, and lacks no more than was removed.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let mut memory = Undone::new(memory, crashed)?;
    let (mut inserted, mut removals) = (BTreeMap::new(), 0);
    let total = crashed.settings.number("workload.operations");
    let inserts = crashed.settings.number("workload.insert_percent") * 10;
    for thread in 0..crashed.threads() {
        let mut random = crashed.random(thread);
        for (_, persisted) in crashed.begun(crashed.share(total, thread).1, thread) {
            if random.chance(inserts) {
                inserted.insert(random.next_u64(), persisted);
            } else {
                random.next_u64();
                removals += 1;
            }
        }
    }
    let count = memory.word(PM_BASE);
    if count > inserted.len() as u64 {
        return Err(format!("the heap has {count} elements, but {} were inserted", inserted.len()));
    }
    let element = |index: u64| PM_BASE + 64 + index * 8;
    for index in 0..count {
        let value = memory.word(element(index));
        if index > 0 && memory.word(element((index - 1) / 2)) > value {
            return Err(format!("element {index} is smaller than the one above it"));
        }
        if inserted.remove(&value).is_none() {
            return Err(format!("element {index} was never inserted, or is there twice"));
        }
    }
    let missing = inserted.values().filter(|persisted| **persisted).count();
    if missing > removals {
        return Err(format!(
            "{missing} elements were committed and are missing, but {removals} were removed"
        ));
    }
    Ok(())
}

pub(crate) async fn run(c: Context) {
    let (pm, dram) = (Context::common_pm(), Context::common_dram());
    let heap = Heap { base: pm.alloc(32 << 20, 4096), lock: Lock(dram.lines(1)) };
    let log = UndoLog::new(&c);
    let operations = c.share(c.settings.number("workload.operations"));
    let inserts = c.settings.number("workload.insert_percent") * 10;
    let mut random = c.random();
    sync::start(&c).await;
    for _ in 0..operations {
        let (insert, value) = (random.chance(inserts), random.next_u64());
        heap.lock.acquire(&c).await;
        if insert {
            heap.insert(&c, &log, value).await;
        } else {
            heap.remove_least(&c, &log).await;
        }
        log.commit(&c).await;
        heap.lock.release(&c).await;
        c.end_operation().await;
        c.compute(100).await;
    }
    sync::finish(&c).await;
}
