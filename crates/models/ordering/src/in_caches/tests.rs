//! What leaves when, who has to wait, and what every interleaving keeps.

use super::{LinesCore, Mutant, Rules};
use crate::explore::PathSpace;
use crate::lb::Lb;
use crate::lrp::Lrp;
use crate::spec::{CrossCore, Dependences, PathSpec};
use explore::{Held, explore};
use protocol::{
    AddressMap, CoreOrdering, FenceKind, LineWrite, Mask, Msg, Outbox, PM_BASE, Peer, WouldBlock, line_of,
};
use units::{Dur, Time};

const LAZY: Rules = crate::lrp::RULES;

fn core(rules: Rules, persist_buffer: usize, cross_core: CrossCore) -> LinesCore {
    let path = PathSpec {
        core: 0,
        map: AddressMap::new(2, 1, 64),
        persist_buffer,
        epoch_table: 4,
        flush_issue: Dur::ns(1),
        flush_trigger: 1,
        flush_timer: Dur::ns(500),
        cross_core,
        dependences: Dependences::Accesses,
    };
    LinesCore::new(path, rules, None)
}

fn at(ns: u64) -> Time {
    Time::ZERO + Dur::ns(ns)
}

fn write(n: u64) -> LineWrite {
    LineWrite { line: line_of(PM_BASE + n * 64), mask: Mask::MAX, data: [1; 64] }
}

/// Stores to line 0, and in the next epoch to line 1.
fn two_epochs(rules: Rules) -> (LinesCore, Outbox) {
    let (mut core, mut out) = (core(rules, 8, CrossCore::Conflicts), Outbox::default());
    core.store(at(0), &write(0), &mut out).unwrap();
    assert_eq!(core.next(), Time::NEVER, "an epoch that is not complete stays");
    core.fence(at(5), FenceKind::Ofence, &mut out).unwrap();
    core.store(at(5), &write(1), &mut out).unwrap();
    (core, out)
}

/// What has left for controllers, by slot.
fn sent(core: &mut LinesCore, now: Time) -> Vec<u16> {
    let mut out = Outbox::default();
    let mut slots = Vec::new();
    while core.next() <= now {
        core.tick(core.next(), &mut out);
    }
    for (_, _, msg) in out.0 {
        if let Msg::Flush(request) = msg {
            slots.push(request.slot);
        }
    }
    slots
}

#[test]
fn a_complete_epoch_goes_on_its_own_and_the_next_when_it_is_durable() {
    let (mut core, mut out) = two_epochs(Lb::RULES);
    assert_eq!(core.next(), at(5));
    core.fence(at(6), FenceKind::Ofence, &mut out).unwrap();
    assert_eq!(sent(&mut core, at(50)), [0]);
    core.on(at(99), Peer::Controller(0), &Msg::Ack { slot: 0 }, &mut out);
    assert_eq!((core.committed(), core.next()), (1, at(99)));
}

#[test]
fn a_lazy_epoch_stays_until_a_dfence_asks_for_it() {
    let (mut core, mut out) = two_epochs(LAZY);
    assert_eq!(core.next(), Time::NEVER);
    assert_eq!(core.fence(at(70), FenceKind::Dfence, &mut out), Err(WouldBlock));
    assert_eq!(sent(&mut core, at(80)), [0]);
    core.on(at(99), Peer::Controller(0), &Msg::Ack { slot: 0 }, &mut out);
    assert_eq!(sent(&mut core, at(120)), [1]);
    core.on(at(150), Peer::Controller(1), &Msg::Ack { slot: 1 }, &mut out);
    assert_eq!(core.fence(at(150), FenceKind::Dfence, &mut out), Ok(()));
}

#[test]
fn a_store_to_a_line_of_an_older_epoch_waits_until_that_has_gone() {
    let (mut core, mut out) = two_epochs(LAZY);
    assert_eq!(core.store(at(10), &write(0), &mut out), Err(WouldBlock));
    assert_eq!(sent(&mut core, at(10)), [0], "the older epoch is asked for");
    assert_eq!(core.store(at(11), &write(0), &mut out), Ok(2));
}

#[test]
fn without_tracking_another_core_waits_for_what_was_released_and_for_nothing_else() {
    let (mut core, mut out) = (core(LAZY, 8, CrossCore::Acquires), Outbox::default());
    core.store(at(0), &write(0), &mut out).unwrap();
    assert_eq!(core.snooped(at(1), write(0).line, 1, 0, &mut out), Ok(None));
    assert_eq!(core.next(), at(1), "it goes all the same: others keep the line in its place until then");
    let released = core.release(at(2), write(1).line, &mut out).unwrap();
    assert_eq!(released, 1);
    let own = core.store(at(2), &write(1), &mut out).unwrap();
    assert_eq!(own, 2, "a release has an epoch of its own");
    core.store(at(2), &write(2), &mut out).unwrap();
    assert_eq!(core.snooped(at(3), write(1).line, own, own, &mut out), Err(WouldBlock));
    assert_eq!(sent(&mut core, at(9)), [0]);
    core.on(at(50), Peer::Controller(0), &Msg::Ack { slot: 0 }, &mut out);
    assert_eq!(core.snooped(at(50), write(1).line, own, own, &mut out), Err(WouldBlock));
    assert_eq!(sent(&mut core, at(60)), [1]);
    core.on(at(90), Peer::Controller(1), &Msg::Ack { slot: 1 }, &mut out);
    assert_eq!(
        core.snooped(at(90), write(1).line, own, own, &mut out),
        Ok(None),
        "what came later has still to go"
    );
    assert_eq!(core.next(), Time::NEVER);
}

#[test]
fn what_follows_a_release_goes_with_what_came_before_and_the_release_goes_last() {
    let (mut core, mut out) = (core(LAZY, 8, CrossCore::Acquires), Outbox::default());
    core.store(at(0), &write(0), &mut out).unwrap();
    core.release(at(1), write(1).line, &mut out).unwrap();
    core.store(at(1), &write(1), &mut out).unwrap();
    assert_eq!(core.store(at(2), &write(0), &mut out), Ok(1), "it joins what was stored before");
    assert_eq!(core.store(at(2), &write(2), &mut out), Ok(3));
    assert_eq!(core.fence(at(3), FenceKind::Dfence, &mut out), Err(WouldBlock));
    assert_eq!(sent(&mut core, at(20)), [0, 2]);
    core.on(at(50), Peer::Controller(0), &Msg::Ack { slot: 2 }, &mut out);
    assert_eq!(core.next(), Time::NEVER, "the release waits for what came before it");
    core.on(at(60), Peer::Controller(0), &Msg::Ack { slot: 0 }, &mut out);
    assert_eq!(sent(&mut core, at(70)), [1]);
}

#[test]
fn a_fence_orders_both_ways_and_so_do_epochs() {
    for (cross_core, fenced) in [(CrossCore::Acquires, true), (CrossCore::Conflicts, false)] {
        let (mut core, mut out) = (core(LAZY, 8, cross_core), Outbox::default());
        core.store(at(0), &write(0), &mut out).unwrap();
        if fenced {
            core.fence(at(1), FenceKind::Ofence, &mut out).unwrap();
        } else {
            core.release(at(1), write(1).line, &mut out).unwrap();
        }
        core.store(at(2), &write(1), &mut out).unwrap();
        assert_eq!(core.store(at(2), &write(0), &mut out), Err(WouldBlock), "{cross_core:?}");
        _ = core.fence(at(3), FenceKind::Dfence, &mut out);
        assert_eq!(sent(&mut core, at(20)), [0], "{cross_core:?}");
    }
}

#[test]
fn an_open_epoch_that_has_no_room_left_ends() {
    let (mut core, mut out) = (core(LAZY, 2, CrossCore::Conflicts), Outbox::default());
    (0..2).for_each(|n| assert_eq!(core.store(at(0), &write(n), &mut out), Ok(1)));
    assert_eq!(core.store(at(0), &write(2), &mut out), Err(WouldBlock));
    assert_eq!(sent(&mut core, at(9)), [0, 1]);
    core.on(at(50), Peer::Controller(0), &Msg::Ack { slot: 0 }, &mut out);
    assert_eq!(core.store(at(50), &write(2), &mut out), Ok(2));
}

#[test]
fn lb_neither_gets_stuck_nor_loses_anything_and_every_mutant_is_caught() {
    let lb = |rules, mutant| PathSpace { persist_buffer: 2, ..PathSpace::small(Lb { rules, mutant }) };
    let small = lb(Lb::RULES, None);
    Held {
        clean: vec![
            (small, 52_967),
            (PathSpace { controllers: 1, ..small }, 83_213),
            (PathSpace { epoch_table: 2, persist_buffer: 1, ..small }, 14_017),
            (PathSpace { cores: 3, epochs: 1, ..small }, 20_839),
            (lb(Rules { proactive: false, tracks: true, one_sided: false }, None), 23_159),
            (lb(Rules { proactive: true, tracks: false, one_sided: false }, None), 23_281),
            (lb(Rules { proactive: false, tracks: false, one_sided: true }, None), 5_731),
        ],
        seeded: |mutant| PathSpace {
            persist_buffer: 2,
            ..PathSpace::small(Lb { rules: Lb::RULES, mutant: Some(mutant) })
        },
        wrong: &["a power failure"],
    }
    .holds();
}

#[test]
fn lrp_neither_gets_stuck_nor_loses_anything_and_every_mutant_is_caught() {
    let small =
        PathSpace { epochs: 1, stores: 2, persist_buffer: 2, ..PathSpace::small(Lrp { mutant: None }) };
    Held {
        clean: vec![
            (small, 31_837),
            (PathSpace { epochs: 2, stores: 1, ..small }, 31_026),
            (PathSpace { controllers: 1, ..small }, 31_711),
            (PathSpace { epoch_table: 2, persist_buffer: 1, ..small }, 15_278),
            (PathSpace { cores: 1, epochs: 2, persist_buffer: 3, ..small }, 52_313),
            (PathSpace { cores: 3, lines: 3, stores: 1, ..small }, 25_993),
        ],
        seeded: |mutant| {
            let longer = [(Mutant::JoinsReleases, (1, 3)), (Mutant::PassesFences, (2, 1))];
            let longer = longer.iter().find(|(m, _)| *m == mutant);
            let (epochs, stores) = longer.map_or((2, 2), |(_, size)| *size);
            let model = Lrp { mutant: Some(mutant) };
            PathSpace { epochs, stores, persist_buffer: 2, ..PathSpace::small(model) }
        },
        wrong: &["a power failure", "deadlock"],
    }
    .holds();
}

/// Longer than fits into a minute: three stores of two cores that no fence keeps apart, and two epochs of three stores of one.
#[test]
#[ignore = "two minutes: the nightly mode of .ci/run"]
fn longer_programs_of_lrp_lose_nothing() {
    let small =
        PathSpace { epochs: 1, stores: 3, persist_buffer: 2, ..PathSpace::small(Lrp { mutant: None }) };
    let alone = PathSpace { cores: 1, epochs: 2, persist_buffer: 3, ..small };
    for (space, states) in [(small, 1_382_973), (alone, 3_936_025)] {
        let outcome = explore(&space, 8_000_000);
        assert!(outcome.complete && outcome.violation.is_none(), "{outcome:?}");
        assert_eq!(outcome.states, states);
    }
}
