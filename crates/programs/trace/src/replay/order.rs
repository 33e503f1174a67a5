//! Who comes first: turns as they were recorded, and locks that threads fight for.
//!
//! Words that say whose turn it is are the replay's, and not the program's: they order what runs, and nothing of what
//! persists. Their loads acquire nothing, and their stores release nothing, but on cores that take plain stores back.

use super::pointers::KEPT;
use super::scout::Step;
use super::settings::Options;
use super::{Arrival, Told};
use crate::record::Kind;
use protocol::{Activity, Cpu, Order};
use units::Dur;

/// Time between two looks at a word: at first, and at most.
const BACKOFF_PS: (u64, u64) = (10_000, 160_000);

/// How often the patience for a turn is the patience for a lock, whose holder may do anything.
const FOR_LOCKS: u64 = 1000;

/// Lines that a fence would wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Flushed {
    #[default]
    Nothing,
    /// By clflush alone.
    InOrder,
    /// Some by clwb or clflushopt, or stored past the caches.
    Unordered,
}

/// What a thread has at hand.
#[derive(Default)]
pub(super) struct Running {
    /// When the values of its remembered loads are there.
    pub(super) loads: [Arrival; KEPT],
    /// How lines were flushed since the last fence.
    pub(super) flushed: Flushed,
    /// The kernel wrote past the caches since.
    pub(super) written: bool,
    /// What its core has been told of the region of interest.
    pub(super) told: Told,
    /// The words of the locks that it holds, how often, and whether it really got them.
    held: Vec<(u64, u32, bool)>,
}

impl Running {
    /// At its beginning.
    pub(super) fn new(told: Told) -> Running {
        Running { told, ..Running::default() }
    }
}

/// Pauses between looks, each twice as long as the one before.
struct Pauses(u64);

impl Pauses {
    async fn pause(&mut self, cpu: &Cpu) {
        cpu.compute(Dur::ps(self.0)).await;
        self.0 = (self.0 * 2).min(BACKOFF_PS.1);
    }
}

/// Spins until what it looks at is so.
async fn spin(cpu: &Cpu, is_so: impl AsyncFn() -> bool) {
    let looks = async {
        let mut pauses = Pauses(BACKOFF_PS.0);
        while !is_so().await {
            pauses.pause(cpu).await;
        }
    };
    cpu.charged(Activity::Locks, looks).await;
}

/// Spins until a word has a value.
pub(super) async fn wait_for(cpu: &Cpu, word: u64, value: u64) {
    spin(cpu, async || cpu.load_acquire(word).await == value).await;
}

/// Waits until as many stores to a word were made as in the recording.
pub(super) async fn keep_place(cpu: &Cpu, step: &Step) {
    spin(cpu, async || cpu.load(step.word).await >= step.turn).await;
}

/// Waits for the recorded turn of an operation, whatever it takes.
pub(super) async fn wait_for_turn(cpu: &Cpu, step: &Step) {
    spin(cpu, async || cpu.load(step.word).await == step.turn).await;
}

/// Spins until a word has reached a value, or for as long as `patience`; gives what it says at last.
async fn wait_until(cpu: &Cpu, word: u64, value: u64, patience: Dur) -> u64 {
    let (mut pauses, end) = (Pauses(BACKOFF_PS.0), cpu.now() + patience);
    loop {
        let seen = cpu.load(word).await;
        if seen >= value {
            return seen;
        }
        if cpu.now() >= end {
            cpu.gave_up();
            return seen;
        }
        pauses.pause(cpu).await;
    }
}

impl Options {
    /// It is the next one's turn.
    pub(super) async fn pass_turn(&self, cpu: &Cpu, step: &Step) {
        if self.releases_turns {
            cpu.store_release(step.word, step.turn + 1).await;
        } else {
            cpu.store(step.word, step.turn + 1).await;
        }
    }

    /// The recorded turn of an operation; gives what its word says. Who holds a lock does not wait: the lock's order may
    /// be another one than recorded, and so may be that of what it guards.
    pub(super) async fn turn(&self, cpu: &Cpu, step: &Step, running: &Running) -> u64 {
        if running.held.is_empty() {
            // Bounds of the region of interest make whole windows in their order alone.
            let times = if step.record.kind == Kind::Region { FOR_LOCKS } else { 1 };
            let turn = wait_until(cpu, step.word, step.turn, self.patience * times);
            cpu.charged(Activity::Locks, turn).await
        } else {
            cpu.load(step.word).await
        }
    }

    /// Takes a lock. Its word is followed by how often it was unlocked: who comes back from a wait for a condition goes
    /// on after as many as in the recording.
    pub(super) async fn lock(&self, cpu: &Cpu, step: &Step, running: &mut Running) {
        cpu.charged(Activity::Locks, self.take(cpu, step, running)).await;
    }

    async fn take(&self, cpu: &Cpu, step: &Step, running: &mut Running) {
        if let Some(held) = running.held.iter_mut().find(|h| h.0 == step.word) {
            held.1 += 1;
            return;
        }
        if step.turn > 0 {
            wait_until(cpu, step.word + 8, step.turn, self.patience).await;
        }
        let (mut pauses, end) = (Pauses(BACKOFF_PS.0), cpu.now() + self.patience * FOR_LOCKS);
        let mut got = cpu.compare_exchange(step.word, 0, 1, Order::Acquire).await == 0;
        while !got && cpu.now() < end {
            pauses.pause(cpu).await;
            got = cpu.load_acquire(step.word).await == 0
                && cpu.compare_exchange(step.word, 0, 1, Order::Acquire).await == 0;
        }
        if !got {
            cpu.gave_up();
        }
        running.held.push((step.word, 1, got));
    }
}

/// Gives a lock back; one that another thread took is free after that too.
pub(super) async fn unlock(cpu: &Cpu, step: &Step, running: &mut Running) {
    let mut got = true;
    if let Some(index) = running.held.iter().position(|h| h.0 == step.word) {
        running.held[index].1 -= 1;
        if running.held[index].1 > 0 {
            return;
        }
        got = running.held.swap_remove(index).2;
    }
    let unlocks = cpu.load(step.word + 8).await;
    cpu.store(step.word + 8, unlocks + 1).await;
    if got {
        cpu.store_release(step.word, 0).await;
    }
}
