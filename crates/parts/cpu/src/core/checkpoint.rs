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
    persisted: u64,
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
            persisted: 0,
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
        if self.next_place() < self.persisted {
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
        let Some(Waiting { checkpoint: Some(persisted), .. }) = self.waiting.pop_front() else {
            return false;
        };
        self.persisted = persisted;
        while self.first < persisted && self.log.pop_front().is_some() {
            self.first += 1;
        }
        while self.undo.front().is_some_and(|(place, _)| *place < persisted) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::PM_BASE;

    fn kept() -> Checkpoint {
        Checkpoint::new(Checkpoints { operations: 4, interrupt: Dur::ns(1) })
    }

    fn op(kind: OpKind, order: Order, value: u64) -> Op {
        Op { kind, address: PM_BASE, size: 8, order, value }
    }

    /// A store enters the store buffer and ends for its program.
    fn stores(kept: &mut Checkpoint, order: Order, value: u64) {
        kept.enters(Kind::Store, order);
        kept.ended(&op(OpKind::Store, order, value), 0);
    }

    /// The oldest one becomes visible over `old` bytes; whether a checkpoint follows.
    fn becomes_visible(kept: &mut Checkpoint, order: Order, old: u64) -> bool {
        let (ready, progress) = (Time::ZERO, 0);
        kept.writes(
            &Entry {
                kind: Kind::Store,
                address: PM_BASE,
                size: 8,
                order,
                value: 0,
                ready,
                progress,
                refused: false,
                untold: 0,
            },
            old,
        );
        kept.leaves()
    }

    fn values(kept: &Checkpoint) -> (Vec<u64>, Vec<u64>) {
        (
            kept.log.iter().map(|(op, _)| op.value).collect(),
            kept.undo.iter().map(|(_, op)| op.value).collect(),
        )
    }

    #[test]
    fn a_store_is_taken_back_once_it_is_visible_and_until_a_release_has_passed() {
        let mut kept = kept();
        for (value, order) in [(1, Order::Plain), (2, Order::Plain), (3, Order::Release), (4, Order::Plain)] {
            stores(&mut kept, order, value);
        }
        assert_eq!(values(&kept), (vec![1, 2, 3, 4], vec![]));
        assert!(
            !becomes_visible(&mut kept, Order::Plain, 10) && !becomes_visible(&mut kept, Order::Plain, 20)
        );
        assert_eq!(values(&kept), (vec![1, 2, 3, 4], vec![10, 20]));
        assert!(becomes_visible(&mut kept, Order::Release, 30), "the release itself is never taken back");
        assert_eq!(values(&kept), (vec![4], vec![]));
        assert!(!becomes_visible(&mut kept, Order::Plain, 40));
        assert_eq!(values(&kept), (vec![4], vec![40]));
    }

    #[test]
    fn an_operation_that_has_passed_before_its_program_hears_of_it_is_not_kept() {
        let mut kept = kept();
        stores(&mut kept, Order::Plain, 1);
        kept.enters(Kind::Fence(FenceKind::Dfence), Order::Plain);
        assert!(!becomes_visible(&mut kept, Order::Plain, 10));
        assert!(kept.leaves());
        kept.ended(&op(OpKind::Fence(FenceKind::Dfence), Order::Plain, 0), 0);
        assert_eq!(values(&kept), (vec![], vec![]));
        stores(&mut kept, Order::Plain, 2);
        assert!(!becomes_visible(&mut kept, Order::Plain, 20));
        assert_eq!(values(&kept), (vec![2], vec![20]));
    }

    #[test]
    fn a_region_is_full_when_as_much_is_kept_as_a_core_keeps() {
        let mut kept = kept();
        (0..3).for_each(|value| stores(&mut kept, Order::Plain, value));
        assert!(!kept.is_full());
        stores(&mut kept, Order::Plain, 3);
        assert!(kept.is_full());
    }
}
