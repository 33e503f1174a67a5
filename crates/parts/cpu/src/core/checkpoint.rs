//! What a core keeps since its last checkpoint, to go back there.
//!
//! ```text
//!   operations --kept--> log      stores that become visible --old bytes--> undo
//!   told that it read too early: empties its store buffer, waits until all is durable and the line is nowhere,
//!   stores the old bytes, youngest first, and carries the log out once more
//! ```
//!
//! A checkpoint follows every locked operation, release and waiting fence, none of which passes before nothing can turn out
//! to be wrong; so none of them is ever taken back, and nobody else has rightly seen what is. The program itself keeps the
//! values that it had: its core repeats what it asked for. That is an order that x86-TSO allows, the stores being late.

use super::store_buffer::{Entry, Kind};
use params::{Dur, Statistics};
use protocol::{Activity, Checkpoints, FenceKind, Op, OpKind, Order};
use std::collections::VecDeque;
use units::Time;

/// What a core that can go back counts.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(crate) struct RollbackStats {
    /// times that a core was told that it had read too early
    pub(super) misreads: u64,
    /// times that a core went back to its checkpoint
    pub(super) rollbacks: u64,
    /// stores that were taken back
    pub(super) undone_stores: u64,
    /// operations that were carried out once more
    pub(super) replayed_operations: u64,
    /// plain loads that gave another value when they were replayed: the program races, or is wrong
    pub(super) replayed_otherwise: u64,
    /// regions that ended because they were as long as a core keeps
    pub(super) full_regions: u64,
    /// time from going back until the program went on, summed over cores
    pub(super) rollback: Dur,
}

/// Where a core is that goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Going {
    /// Nowhere.
    On,
    /// It waits until its stores are durable, and the line is in no cache.
    Draining,
    Undoing,
    /// It carries the log out once more; the place of the next operation.
    Again(u64),
}

/// An operation that has ended, with what it gave.
pub(super) type Kept = (Op, u64);

/// What is known of an entry of the store buffer.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    /// The place of its operation in the program; none of a store that takes one back.
    place: Option<u64>,
    /// Where the checkpoint is once it is carried out.
    checkpoint: Option<u64>,
}

/// What a core keeps.
pub(super) struct Checkpoint {
    pub(super) spec: Checkpoints,
    pub(super) log: VecDeque<Kept>,
    /// The place of the first operation that is kept, or the next one.
    pub(super) first: u64,
    /// Nothing before this place is ever taken back.
    sure: u64,
    pub(super) waiting: VecDeque<Waiting>,
    /// Stores of the old bytes, oldest first, with the places of those that they take back.
    pub(super) undo: VecDeque<(u64, Op)>,
    /// The program waits until its region has ended, because it is long.
    pub(super) ending: bool,
    pub(super) going: Going,
    /// Lines that are still being taken out of caches.
    pub(super) recalls: u32,
    /// The core has gone back since the last checkpoint.
    pub(super) careful: bool,
    /// What the operation that the program is in had come to, and what the program was about.
    pub(super) resumed: bool,
    pub(super) activity: Option<Activity>,
    pub(super) since: Time,
    pub(super) stats: RollbackStats,
}

impl Checkpoint {
    pub(super) fn new(spec: Checkpoints) -> Checkpoint {
        Checkpoint {
            spec,
            log: VecDeque::new(),
            first: 0,
            sure: 0,
            waiting: VecDeque::new(),
            undo: VecDeque::new(),
            ending: false,
            going: Going::On,
            recalls: 0,
            careful: false,
            resumed: false,
            activity: None,
            since: Time::ZERO,
            stats: RollbackStats::default(),
        }
    }

    pub(super) fn next_place(&self) -> u64 {
        self.first + self.log.len() as u64
    }

    /// An operation of the program has ended.
    pub(super) fn ended(&mut self, op: &Op, value: u64) {
        if self.next_place() < self.sure {
            self.first += 1;
        } else {
            self.log.push_back((*op, value));
        }
    }

    /// An operation enters the store buffer.
    pub(super) fn enters(&mut self, kind: Kind, order: Order) {
        let place = match self.going {
            Going::On => Some(self.next_place()),
            Going::Again(next) => Some(next),
            Going::Draining | Going::Undoing => None,
        };
        let ends = match kind {
            Kind::Rmw(_) | Kind::Fence(FenceKind::Dfence | FenceKind::Mfence) => true,
            Kind::Store | Kind::NonTemporal => order.releases(),
            Kind::Fence(_) | Kind::Flush(_) | Kind::Register | Kind::RegisterLoad | Kind::Acquired => false,
        };
        let after = |place: u64| place + u64::from(!self.ending);
        self.waiting.push_back(Waiting { place, checkpoint: place.filter(|_| ends).map(after) });
    }

    /// The store buffer's head has been carried out; true when a checkpoint follows.
    pub(super) fn leaves(&mut self) -> bool {
        let Some(Waiting { checkpoint: Some(sure), .. }) = self.waiting.pop_front() else { return false };
        self.sure = sure;
        while self.first < sure && self.log.pop_front().is_some() {
            self.first += 1;
        }
        while self.undo.front().is_some_and(|(place, _)| *place < sure) {
            self.undo.pop_front();
        }
        true
    }

    /// The store buffer's head changes bytes that were `old`.
    pub(super) fn writes(&mut self, entry: &Entry, old: u64) {
        if let Some(Waiting { place: Some(place), checkpoint: None }) = self.waiting.front() {
            let op = Op {
                kind: OpKind::Store,
                address: entry.address,
                size: entry.size,
                order: Order::Plain,
                value: old,
            };
            self.undo.push_back((*place, op));
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.log.len() >= self.spec.operations && self.going == Going::On
    }
}
