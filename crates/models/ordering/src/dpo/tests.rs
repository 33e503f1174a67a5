//! What leaves when, and what every interleaving keeps.

use super::{Dpo, DpoCore};
use crate::explore::PathSpace;
use crate::spec::{CrossCore, Dependences, PathSpec};
use explore::Held;
use protocol::{
    AddressMap, CoreOrdering, EpochTag, FenceKind, LineWrite, Mask, Msg, Outbox, PM_BASE, Peer, line_of,
};
use units::{Dur, Time};

fn core(controllers: usize) -> DpoCore {
    DpoCore::new(PathSpec {
        core: 0,
        map: AddressMap::new(controllers, 1, 64),
        persist_buffer: 8,
        epoch_table: 4,
        flush_issue: Dur::ns(1),
        flush_trigger: 1,
        flush_timer: Dur::ns(500),
        cross_core: CrossCore::Conflicts,
        dependences: Dependences::Accesses,
    })
}

fn at(ns: u64) -> Time {
    Time::ZERO + Dur::ns(ns)
}

fn write(n: u64) -> LineWrite {
    LineWrite { line: line_of(PM_BASE + n * 64), mask: Mask::MAX, data: [1; 64] }
}

/// Stores to line 0, and in the next epoch to line 1; the first has left.
fn two_epochs(controllers: usize) -> (DpoCore, Outbox) {
    let (mut core, mut out) = (core(controllers), Outbox::default());
    core.store(at(0), &write(0), &mut out).unwrap();
    core.fence(at(0), FenceKind::Ofence, &mut out).unwrap();
    core.store(at(0), &write(1), &mut out).unwrap();
    core.tick(at(0), &mut out);
    (core, out)
}

#[test]
fn the_next_epoch_follows_at_once_to_the_same_controller() {
    let (core, out) = two_epochs(1);
    assert_eq!((out.0.len(), core.next(), core.committed()), (1, at(1), 0));
}

#[test]
fn the_next_epoch_waits_for_what_went_to_another_controller() {
    let (mut core, mut out) = two_epochs(2);
    assert_eq!(core.next(), Time::NEVER);
    core.on(at(100), Peer::Controller(0), &Msg::Ack { slot: 0 }, &mut out);
    assert_eq!((core.next(), core.committed()), (at(100), 1));
}

#[test]
fn an_epoch_goes_when_the_one_that_it_depends_on_is_durable() {
    let (mut core, mut out) = (core(1), Outbox::default());
    let tag = EpochTag { core: 1, epoch: 5 };
    core.received(at(10), write(9).line, tag, true, &mut out).unwrap();
    core.store(at(10), &write(0), &mut out).unwrap();
    assert_eq!(core.next(), Time::NEVER);
    core.on(at(50), Peer::Core(1), &Msg::CrossDependencyResolved { tag }, &mut out);
    assert_eq!(core.next(), at(50));
}

#[test]
fn whoever_waits_for_an_epoch_is_told_when_it_is_durable() {
    let (mut core, mut out) = two_epochs(1);
    core.on(at(5), Peer::Directory, &Msg::AddDependent { epoch: 1, dependent: 3 }, &mut out);
    assert!(core.has_pending_replies());
    out.0.clear();
    core.on(at(100), Peer::Controller(0), &Msg::Ack { slot: 0 }, &mut out);
    assert!(matches!(out.0[0], (_, Peer::Core(3), Msg::CrossDependencyResolved { tag }) if tag.epoch == 1));
    assert!(!core.has_pending_replies());
}

#[test]
fn cores_neither_get_stuck_nor_lose_anything_and_every_mutant_is_caught() {
    let small = PathSpace { persist_buffer: 2, ..PathSpace::small(Dpo { mutant: None }) };
    Held {
        clean: vec![
            (small, 32_487),
            (PathSpace { controllers: 1, ..small }, 55_247),
            (PathSpace { epoch_table: 2, persist_buffer: 3, ..small }, 28_657),
            (PathSpace { cores: 3, epochs: 1, ..small }, 14_878),
            (PathSpace { epochs: 1, stores: 2, ..small }, 30_535),
        ],
        seeded: |mutant| {
            let small = PathSpace::small(Dpo { mutant: Some(mutant) });
            PathSpace { persist_buffer: 2, ..small }
        },
        wrong: &["a power failure"],
    }
    .holds();
}
