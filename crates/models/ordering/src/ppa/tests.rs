//! What a region's end waits for, and what every interleaving keeps.

use super::{Ppa, PpaCore};
use crate::explore::PathSpace;
use crate::spec::{CrossCore, Dependences, PathSpec};
use explore::Held;
use protocol::{
    AddressMap, CoreOrdering, FenceKind, LineWrite, Mask, Msg, Outbox, PM_BASE, Peer, WouldBlock, line_of,
};
use units::{Dur, Time};

fn at(ns: u64) -> Time {
    Time::ZERO + Dur::ns(ns)
}

fn write(n: u64) -> LineWrite {
    LineWrite { line: line_of(PM_BASE + n * 64), mask: Mask::MAX, data: [n as u8 + 1; 64] }
}

#[test]
fn the_next_region_begins_when_the_last_acknowledgement_is_there_and_what_is_under_way_is_saved() {
    let path = PathSpec {
        core: 0,
        map: AddressMap::new(1, 1, 64),
        persist_buffer: 4,
        epoch_table: 2,
        flush_issue: Dur::ns(1),
        flush_trigger: 4,
        flush_timer: Dur::ns(500),
        cross_core: CrossCore::Acquires,
        dependences: Dependences::Accesses,
    };
    let (mut core, mut out) = (PpaCore::new(path, 2, None), Outbox::default());
    (0..2).for_each(|n| assert!(core.store(at(n), &write(n), &mut out).is_ok()));
    assert_eq!(core.fence(at(2), FenceKind::Dfence, &mut out), Ok(()), "what is visible is durable");
    assert_eq!(core.next(), at(501), "a region that goes on is in no hurry");
    assert_eq!(core.store(at(9), &write(2), &mut out), Err(WouldBlock));
    while core.next() != Time::NEVER {
        core.tick(core.next(), &mut out);
    }
    assert_eq!(out.0.iter().map(|(sent, ..)| *sent).collect::<Vec<_>>(), [at(9), at(10)]);
    let mut saved = Vec::new();
    core.power_fail(&mut |_, w| saved.push(w.data[0]));
    assert_eq!(saved, [1, 2]);
    core.on(at(70), Peer::Controller(0), &Msg::Ack { slot: 0 }, &mut out);
    assert_eq!(core.store(at(70), &write(2), &mut out), Err(WouldBlock));
    core.on(at(71), Peer::Controller(0), &Msg::Ack { slot: 1 }, &mut out);
    assert!(core.store(at(71), &write(2), &mut out).is_ok());
}

#[test]
fn whatever_is_visible_is_durable_and_every_mutant_is_caught() {
    let model = Ppa { region_stores: 2, mutant: None };
    let small = PathSpace { persist_buffer: 2, ..PathSpace::small(model) };
    Held {
        clean: vec![
            (small, 16_011),
            (PathSpace { lines: 1, persist_buffer: 3, ..small }, 2_011),
            (PathSpace { cores: 3, epochs: 1, controllers: 1, ..small }, 6_865),
        ],
        seeded: |mutant| {
            let model = Ppa { region_stores: 1, mutant: Some(mutant) };
            PathSpace { persist_buffer: 2, ..PathSpace::small(model) }
        },
        wrong: &["a power failure"],
    }
    .holds();
}
