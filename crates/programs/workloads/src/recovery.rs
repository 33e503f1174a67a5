//! What a workload's recovery is given after a power failure.

use crate::context::Layout;
use protocol::{PM_BASE, Settings};
use std::collections::BTreeMap;
use units::Random;

/// Persistent memory as a power failure left it.
pub trait Persistent {
    /// Eight bytes, little endian, at a multiple of eight.
    fn word(&mut self, address: u64) -> u64;

    /// Whether an address is in a line that was still on its way to the memory, and that the machine does not promise
    /// to save: a write pending queue outside the persistence domain. What a dump lost is no such thing.
    fn may_be_older(&self, address: u64) -> bool {
        let _ = address;
        false
    }
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
    pub(crate) fn random(&self, thread: usize) -> Random {
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

    /// For workloads whose threads insert the numbers of their share in order: whether `n` may be there, since its
    /// insertion had begun.
    pub(crate) fn had_begun(&self, total: u64, n: u64) -> bool {
        (0..self.threads()).any(|thread| {
            let (from, count) = self.share(total, thread);
            (from..from + count.min(self.ended[thread] + 1)).contains(&n)
        })
    }

    /// For the same workloads: the next numbers of each thread, whose insertion had not begun and which nobody may see.
    pub(crate) fn still_to_come(&self, total: u64) -> Vec<u64> {
        const LOOKED_FOR: u64 = 4;
        let next = |thread: usize| {
            let (from, count) = self.share(total, thread);
            let first = self.ended[thread] + 1;
            from + first.min(count)..from + (first + LOOKED_FOR).min(count)
        };
        (0..self.threads()).flat_map(next).collect()
    }

    /// The operations of a thread's share that had begun: how many, and whether each had ended and must be there.
    pub(crate) fn begun(&self, count: u64, thread: usize) -> impl Iterator<Item = (u64, bool)> + use<> {
        let (ended, durable) = (self.ended[thread], self.durable());
        (0..count.min(ended + 1)).map(move |n| (n, durable && n < ended))
    }

    /// A thread's share of `total` things: the first one, and how many.
    pub(crate) fn share(&self, total: u64, thread: usize) -> (u64, u64) {
        let (n, t) = (self.threads() as u64, thread as u64);
        (total / n * t + t.min(total % n), total / n + u64::from(t < total % n))
    }

    /// Where a thread's own persistent memory begins.
    pub(crate) fn arena(&self, thread: usize) -> u64 {
        let layout = Layout::of(self.settings);
        PM_BASE + layout.common_bytes + thread as u64 * layout.arena_bytes
    }

    /// Whether an operation that had ended must be there: a workload that has no such parameter waits for that.
    pub(crate) fn durable(&self) -> bool {
        self.settings.get("workload.durable").is_none() || self.settings.flag("workload.durable")
    }
}

/// The byte that every one of `size` bytes is; none when they differ. Reads each word once.
pub(crate) fn filled_with(memory: &mut dyn Persistent, address: u64, size: u64) -> Option<u8> {
    let first = (memory.word(address & !7) >> (address % 8 * 8)) as u8;
    let end = address + size;
    let same = (address & !7..end).step_by(8).all(|at| {
        let (from, to) = (address.saturating_sub(at), (end - at).min(8));
        let mask = u64::MAX >> (64 - 8 * (to - from)) << (8 * from);
        (memory.word(at) ^ u64::from_ne_bytes([first; 8])) & mask == 0
    });
    same.then_some(first)
}

/// Whether a word can be the address of something made of lines in persistent memory.
pub(crate) fn is_place(address: u64) -> bool {
    address >= PM_BASE && address.is_multiple_of(64)
}

/// What a set that threads share must hold after the operations that had begun. The order of two threads is not
/// known, so a key that both changed may be either way.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    keys: BTreeMap<u64, Wanted>,
}

#[derive(Debug)]
struct Wanted {
    thread: usize,
    /// The value, none when the key must not be there.
    value: Option<u64>,
    /// Nothing is left open: all changes had ended, and one thread made them.
    certain: bool,
}

impl Expected {
    /// `thread` gave `key` a value, or took it out; `persisted` when that must be there.
    pub(crate) fn note(&mut self, thread: usize, key: u64, value: Option<u64>, persisted: bool) {
        let fresh = Wanted { thread, value: None, certain: true };
        let wanted = self.keys.entry(key).or_insert(fresh);
        wanted.certain &= wanted.thread == thread && (persisted || wanted.value == value);
        wanted.value = value;
    }

    /// Nothing is there that was never put there, and what must be there is.
    pub(crate) fn check(&self, held: &BTreeMap<u64, u64>) -> Result<(), String> {
        if let Some(key) = held.keys().find(|k| !self.keys.contains_key(k)) {
            return Err(format!("key {key:#x} is there and was never inserted"));
        }
        for (key, wanted) in self.keys.iter().filter(|(_, w)| w.certain) {
            match (held.get(key), wanted.value) {
                (None, Some(_)) => return Err(format!("key {key:#x} was committed and is missing")),
                (Some(_), None) => return Err(format!("key {key:#x} is there and was removed")),
                (Some(has), Some(value)) if *has != value => {
                    return Err(format!("key {key:#x} has value {has}, but {value} was committed"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
