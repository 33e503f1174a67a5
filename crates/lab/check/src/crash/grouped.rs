//! Stores and changes that a power failure may leave or lose. Of a unit that is stored to again and again and never made
//! persisted, stores that nothing tells apart are taken together, so that what is in flight is bounded by the memory that the
//! program uses, and not by how long it runs. Each image that is left is one that the model allows; some are not tried.

use super::files::Change;
use super::log::{Event, block_of};
use super::unit::{KERNEL, Unit};
use protocol::{Block, Mask, Persistency, merge, offset_of};

/// A store that may be lost.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    /// Its index in the log.
    pub(super) event: usize,
    /// The store.
    pub(super) store: Event,
    pub(super) epoch: u32,
    pub(super) sequence: u64,
    /// Stores after it that are there or not as it is: all bytes.
    pub(super) grouped: Option<Box<(Mask, Block)>>,
}

/// A change of files that may be lost.
#[derive(Clone, Debug)]
pub(super) struct PendingChange {
    /// Its index in the log.
    pub(super) event: usize,
    /// The call.
    pub(super) call: Event,
    /// What it does.
    pub(super) change: Change,
}

impl InFlight {
    /// The bytes that it changes in its line, and the block that holds them.
    pub(super) fn block(&self) -> (Mask, Block) {
        self.grouped.as_deref().copied().unwrap_or_else(|| block_of(&self.store))
    }

    /// Whether it may change a byte of the word that begins at `at` in its line.
    pub(super) fn may_change(&self, at: usize) -> bool {
        // A store has eight bytes at most.
        self.grouped.is_some() || offset_of(self.store.address).abs_diff(at) < 8
    }

    /// The bytes that it changes of a unit, and the block that holds them.
    pub(super) fn block_in(&self, unit: Unit, model: Persistency) -> (Mask, Block) {
        let (mut mask, block) = self.block();
        if model.by_word() {
            mask &= 0xFF << (unit % 64);
        }
        (mask, block)
    }

    /// The store that follows comes and goes with it.
    fn join(&mut self, next: &InFlight) {
        let (mut mask, mut block) = self.block();
        let (more, new) = next.block();
        merge(&mut block, &new, more);
        mask |= more;
        self.sequence = next.sequence;
        self.grouped = Some(Box::new((mask, block)));
    }

    /// Its file is cut off at `from`; false when nothing of it is before.
    pub(super) fn cut(&mut self, from: u64) -> bool {
        let Some(group) = &mut self.grouped else { return self.store.address < from };
        let line = self.store.address / 64 * 64;
        if from < line + 64 {
            group.0 &= (1 << from.saturating_sub(line)) - 1;
        }
        group.0 != 0
    }
}

/// Stores of a unit from which on they are grouped.
const MOST_OF_UNIT: usize = 512;

/// The same where there are many units.
const LEAST_OF_UNIT: usize = 4;

/// Stores in all from which on more of them are grouped: 100 MB or so.
const MOST_HELD: usize = 1 << 20;

/// How many stores are in flight, and how many may be.
pub(super) struct Limits {
    pub(super) held: usize,
    most_held: usize,
    of_unit: usize,
    /// Stores were grouped.
    pub(super) grouped: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { held: 0, most_held: MOST_HELD, of_unit: MOST_OF_UNIT, grouped: false }
    }
}

/// What tells stores of a unit apart.
pub(super) struct Apart {
    /// Numbers of the youngest stores that a flush covers which awaits its fence.
    pub(super) flushes: Vec<u64>,
    /// Events that cut a file off.
    pub(super) cuts: Vec<usize>,
    /// Threads and epochs do.
    pub(super) by_epoch: bool,
}

impl Apart {
    fn are_one(&self, a: &InFlight, b: &InFlight) -> bool {
        let same = a.store.thread == b.store.thread && a.epoch == b.epoch;
        (if self.by_epoch { same } else { (a.epoch == KERNEL) == (b.epoch == KERNEL) })
            && !self.flushes.iter().any(|s| (a.sequence..b.sequence).contains(s))
            && !self.cuts.iter().any(|c| (a.event..b.event).contains(c))
    }
}

impl Limits {
    /// Whether it is time to group a unit's stores, whose number has just grown to `n`.
    #[inline]
    pub(super) fn are_many(&self, n: usize) -> bool {
        // What cannot be grouped is not tried again with every store.
        n >= self.of_unit && n.is_power_of_two()
    }

    /// Whether so many stores of a unit are grouped when there are many units.
    pub(super) fn are_too_many(&self, n: usize) -> bool {
        n >= self.of_unit
    }

    /// Whether it is time to group the stores of all units.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.held >= self.most_held
    }

    /// Units keep fewer stores apart.
    pub(super) fn lower(&mut self) {
        self.of_unit = (self.of_unit / 2).max(LEAST_OF_UNIT);
    }

    /// Many units have a few stores each: they are as many as the memory that the program uses.
    pub(super) fn make_room(&mut self) {
        self.most_held = self.most_held.max(self.held.saturating_mul(2));
    }

    /// Groups neighbours among a unit's stores, the youngest quarter excepted.
    pub(super) fn group(&mut self, stores: &mut Vec<InFlight>, apart: &Apart) {
        let before = stores.len();
        let old = before - before / 4;
        let mut kept: Vec<InFlight> = Vec::with_capacity(before);
        let mut joined = false;
        for (index, store) in stores.drain(..).enumerate() {
            match kept.last_mut().filter(|last| index < old && !joined && apart.are_one(last, &store)) {
                Some(last) => {
                    last.join(&store);
                    joined = true;
                }
                None => {
                    kept.push(store);
                    joined = false;
                }
            }
        }
        self.held -= before - kept.len();
        self.grouped |= kept.len() < before;
        *stores = kept;
    }
}

/// What a thread flushed and did not fence: units, and the youngest store that the flush covers.
#[derive(Clone, Debug, Default)]
pub(super) struct Flushed {
    all: Vec<(Unit, u64)>,
    room: usize,
}

impl Flushed {
    /// A unit was flushed.
    pub(super) fn push(&mut self, unit: Unit, sequence: u64) {
        self.all.push((unit, sequence));
        if self.all.len() > self.room.max(1 << 12) {
            // A later flush covers what an earlier one does.
            self.all.sort_unstable_by_key(|(unit, sequence)| (*unit, std::cmp::Reverse(*sequence)));
            self.all.dedup_by_key(|f| f.0);
            self.room = 2 * self.all.len();
        }
    }

    /// A fence.
    pub(super) fn take(&mut self) -> Vec<(Unit, u64)> {
        std::mem::take(&mut self.all)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(Unit, u64)> {
        self.all.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}
