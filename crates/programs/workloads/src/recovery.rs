//! What a workload's recovery is given after a power failure.

use crate::context::Layout;
use protocol::{PM_BASE, Settings};
use units::Random;

/// Persistent memory as a power failure left it.
pub trait Persistent {
    /// Eight bytes, little endian, at a multiple of eight.
    fn word(&mut self, address: u64) -> u64;
}

/// What is known about the run that the power failure ended.
#[derive(Clone, Copy, Debug)]
pub struct Crashed<'a> {
    /// The workload's parameters.
    pub settings: &'a Settings,
    /// The seed of the run.
    pub seed: u64,
    /// For each thread: operations that had ended, and so are durable where the workload waits for that.
    pub ended: &'a [u64],
}

/// Recovers, and checks what a program that goes on would rely on.
///
/// # Errors
/// What does not hold.
pub type Recover = fn(&mut dyn Persistent, &Crashed<'_>) -> Result<(), String>;

impl Crashed<'_> {
    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.ended.len()
    }

    /// The stream of random numbers that every thread had alike.
    pub(crate) fn common_random(&self) -> Random {
        Random::new(self.seed, u64::MAX)
    }

    /// The stream of random numbers that a thread had.
    fn random(&self, thread: usize) -> Random {
        Random::new(self.seed, thread as u64)
    }

    /// For workloads whose threads insert the numbers of their share, or look one up: those that must be there.
    pub(crate) fn inserted(&self, total: u64) -> Vec<u64> {
        let reads = self.settings.number("workload.read_percent") * 10;
        let mut inserted = Vec::new();
        for thread in (0..self.threads()).filter(|_| self.durable()) {
            let (from, count) = self.share(total, thread);
            let mut random = self.random(thread);
            for n in from..from + count.min(self.ended[thread]) {
                if random.chance(reads) {
                    random.below(n + 1);
                } else {
                    inserted.push(n);
                }
            }
        }
        inserted
    }

    /// A thread's share of `total` things: the first one, and how many.
    pub(crate) fn share(&self, total: u64, thread: usize) -> (u64, u64) {
        let (n, t) = (self.threads() as u64, thread as u64);
        (total / n * t + t.min(total % n), total / n + u64::from(t < total % n))
    }

    /// Where a thread's own persistent memory begins.
    pub(crate) fn arena(&self, thread: usize) -> u64 {
        let layout = Layout::USUAL;
        PM_BASE + layout.common_bytes + thread as u64 * layout.arena_bytes
    }

    /// Whether an operation that had ended must be there.
    pub(crate) fn durable(&self) -> bool {
        self.settings.flag("workload.durable")
    }
}
