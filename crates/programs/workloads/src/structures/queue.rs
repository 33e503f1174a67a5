//! A persistent FIFO queue with one lock for each end (Michael and Scott's two-lock queue).
//!
//! Root line: head at 0, tail at 64. A node: next at 0, length at 8, value from 16 on. An element is durable
//! before the link to it is; the links are changed under an undo log.

use super::log::{LOG_BYTES, UndoLog};
use crate::context::Context;
use crate::recovery::{Crashed, Persistent, filled_with, is_place};
use crate::sync::{self, Lock};
use crate::workload::{Count, Flag, N, PERCENT, Workload, params};
use protocol::PM_BASE;
use units::Random;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "queue",
    meaning: "a FIFO queue with one lock for each end and an undo log",
    source: "Michael and Scott (PODC 1996); ASAP's atlas_queue",
    params: params! {
        "operations" N, "8000", "artifact: queue_nvm 4 8000 0.5", "insertions and removals of all threads";
        "insert_percent" PERCENT, "50", "artifact: queue_nvm 4 8000 0.5", "operations that insert";
        "value_size" Count { min: 8, max: 4096 }, "64", "paper: ASAP §VII (16 to 128 B)", "bytes of an element";
        "log_instructions" Count { min: 0, max: 100_000 }, "330", "measured: ATLAS 17ef750, a store", "instructions of the logging library for a range that it saves";
        "transaction_instructions" Count { min: 0, max: 100_000 }, "1595", "measured: ATLAS 17ef750, a lock taken and given back", "instructions of the logging library for a transaction besides";
        "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

struct Queue {
    head: u64,
    tail: u64,
    head_lock: Lock,
    tail_lock: Lock,
}

const VALUE: u64 = 16;

impl Queue {
    fn new() -> Queue {
        let (pm, dram) = (Context::common_pm(), Context::common_dram());
        let root = pm.lines(2);
        Queue { head: root, tail: root + 64, head_lock: Lock(dram.lines(1)), tail_lock: Lock(dram.lines(1)) }
    }

    /// An empty queue: head and tail at a node without a value.
    async fn create(&self, c: &Context) {
        let dummy = c.pm.lines(1);
        c.cpu.store(dummy, 0).await;
        c.persist(dummy, 8).await;
        c.cpu.store(self.head, dummy).await;
        c.cpu.store(self.tail, dummy).await;
        c.cpu.clwb_range(self.head, 128).await;
        c.cpu.dfence().await;
    }

    async fn insert(&self, c: &Context, log: &UndoLog, value: &[u8]) {
        let size = VALUE + value.len() as u64;
        let node = c.pm.alloc(size, 64);
        c.cpu.store(node, 0).await;
        c.cpu.store(node + 8, value.len() as u64).await;
        c.cpu.store_bytes(node + VALUE, value).await;
        c.persist(node, size).await;
        self.tail_lock.acquire(c).await;
        let last = c.cpu.load(self.tail).await;
        log.store(c, last, node).await;
        log.store(c, self.tail, node).await;
        log.commit(c).await;
        self.tail_lock.release(c).await;
    }

    async fn remove(&self, c: &Context, log: &UndoLog, value: &mut [u8]) -> bool {
        self.head_lock.acquire(c).await;
        let first = c.cpu.load(self.head).await;
        let next = c.cpu.load_acquire(first).await;
        let found = next != 0;
        if found {
            c.cpu.load_bytes(next + VALUE, value).await;
            log.store(c, self.head, next).await;
            log.commit(c).await;
        }
        self.head_lock.release(c).await;
        found
    }
}

/// The insertions of one thread, by the place of their nodes.
struct Inserter {
    nodes: u64,
    node_size: u64,
    /// For each insertion that had begun: the byte that its value is made of, and whether it must be there.
    values: Vec<(u8, bool)>,
    /// Elements of this thread before the first that is left: they were removed.
    gone: u64,
    /// Where the next element of this thread has to be.
    next: Option<u64>,
}

impl Inserter {
    fn of(crashed: &Crashed<'_>, thread: usize) -> (Inserter, u64) {
        let total = crashed.settings.number("workload.operations");
        let inserts = crashed.settings.number("workload.insert_percent") * 10;
        let size = VALUE + crashed.settings.number("workload.value_size");
        let mut random = crashed.random(thread);
        let (mut values, mut removals) = (Vec::new(), 0);
        for (n, persisted) in crashed.begun(crashed.share(total, thread).1, thread) {
            if random.chance(inserts) {
                values.push((n as u8, persisted));
            } else {
                removals += 1;
            }
        }
        // Behind the log, and on the first thread behind the node without a value.
        let nodes = crashed.arena(thread) + LOG_BYTES + if thread == 0 { 64 } else { 0 };
        let node_size = size.next_multiple_of(64);
        (Inserter { nodes, node_size, values, gone: 0, next: None }, removals)
    }

    fn has(&self, node: u64) -> bool {
        (self.nodes..self.nodes + self.values.len() as u64 * self.node_size).contains(&node)
    }

    /// An element of this thread, in the order of the queue.
    fn element(&mut self, memory: &mut dyn Persistent, node: u64, size: u64) -> Result<(), String> {
        let index = (node - self.nodes) / self.node_size;
        if self.next.is_none() {
            self.gone = index;
        }
        if self.next.is_some_and(|next| next != index) {
            return Err(format!("the element at {node:#x} is out of its order"));
        }
        self.next = Some(index + 1);
        let wanted = self.values.get(index as usize).map(|v| v.0);
        if memory.word(node + 8) != size || filled_with(memory, node + VALUE, size) != wanted {
            return Err(format!("the element at {node:#x} is not the one that was inserted"));
        }
        Ok(())
    }

    /// Elements that were removed, if all that must be there were inserted.
    fn removed(&self) -> Result<u64, String> {
        let persisted = self.values.iter().filter(|v| v.1).count() as u64;
        match self.next {
            None => Ok(persisted),
            Some(next) if next < persisted => {
                Err(format!("{} elements were committed and are missing", persisted - next))
            }
            Some(_) => Ok(self.gone),
        }
    }
}

/// Recovery takes the links as they are, since an element is durable before the link to it is: the tail is the last
/// element that the head leads to. Every thread's elements are there in their order, none lacks but those removed.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let size = crashed.settings.number("workload.value_size");
    let (mut threads, removals): (Vec<_>, Vec<_>) =
        (0..crashed.threads()).map(|t| Inserter::of(crashed, t)).unzip();
    let longest: usize = threads.iter().map(|t| t.values.len()).sum();
    let mut node = memory.word(PM_BASE);
    if !is_place(node) {
        return Err(format!("the head leads to {node:#x}, which is no element"));
    }
    for _ in 0..=longest {
        node = memory.word(node);
        if node == 0 {
            break;
        }
        let Some(thread) = threads.iter_mut().find(|t| t.has(node)) else {
            return Err(format!("a link leads to {node:#x}, which is no element"));
        };
        thread.element(memory, node, size)?;
    }
    if node != 0 {
        return Err("the queue does not end".into());
    }
    let (mut gone, removals) = (0, removals.iter().sum::<u64>());
    for thread in &threads {
        gone += thread.removed()?;
    }
    if gone > removals {
        return Err(format!("{gone} elements were committed and are missing, but {removals} were removed"));
    }
    Ok(())
}

pub(crate) async fn run(c: Context) {
    let queue = Queue::new();
    let operations = c.share(c.settings.number("workload.operations"));
    let inserts = c.settings.number("workload.insert_percent") * 10;
    let mut value = vec![0; c.settings.count("workload.value_size")];
    let mut random: Random = c.random();
    let log = UndoLog::new(&c);
    if c.thread == 0 {
        queue.create(&c).await;
    }
    sync::start(&c).await;
    for n in 0..operations {
        if random.chance(inserts) {
            value.fill(n as u8);
            queue.insert(&c, &log, &value).await;
        } else {
            queue.remove(&c, &log, &mut value).await;
        }
        c.end_operation().await;
        c.compute(100).await;
    }
    sync::finish(&c).await;
}
