//! A persistent FIFO queue with one lock for each end (Michael and Scott's two-lock queue).
//!
//! Root line: head at 0, tail at 64. A node: next at 0, length at 8, value from 16 on. An element is durable
//! before the link to it is; the links are changed under an undo log.

use super::log::UndoLog;
use crate::context::Context;
use crate::sync::{self, Lock};
use units::Random;

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
        c.work(100).await;
    }
    sync::finish(&c).await;
}
