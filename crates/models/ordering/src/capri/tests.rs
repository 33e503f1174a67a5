//! What a region's end makes durable, and what every interleaving keeps.

use super::{Capri, CapriCore, Mutant};
use crate::explore::PathSpace;
use crate::spec::{CrossCore, Dependences, PathSpec};
use explore::Held;
use protocol::{
    AddressMap, CoreOrdering, FenceKind, LineWrite, Mask, Msg, Outbox, PM_BASE, WouldBlock, line_of,
};
use units::{Dur, Time};

fn core(persist_buffer: usize, region_stores: usize) -> CapriCore {
    let path = PathSpec {
        core: 0,
        map: AddressMap::new(1, 1, 64),
        persist_buffer,
        epoch_table: persist_buffer + 2,
        flush_issue: Dur::ns(1),
        flush_trigger: 1,
        flush_timer: Dur::ns(500),
        cross_core: CrossCore::Acquires,
        dependences: Dependences::Accesses,
    };
    CapriCore::new(path, region_stores, None)
}

fn at(ns: u64) -> Time {
    Time::ZERO + Dur::ns(ns)
}

fn write(n: u64) -> LineWrite {
    LineWrite { line: line_of(PM_BASE + n * 64), mask: Mask::MAX, data: [n as u8 + 1; 64] }
}

fn saved(core: &CapriCore) -> Vec<u8> {
    let mut saved = Vec::new();
    core.power_fail(&mut |_, w| saved.push(w.data[0]));
    saved
}

#[test]
fn the_open_region_is_forgotten_and_a_region_that_ended_is_saved() {
    let (mut core, mut out) = (core(4, 2), Outbox::default());
    (0..2).for_each(|n| assert!(core.store(at(n), &write(n), &mut out).is_ok()));
    assert_eq!((saved(&core), core.next()), (vec![], Time::NEVER));
    core.store(at(9), &write(2), &mut out).unwrap();
    assert_eq!((saved(&core), core.next()), (vec![1, 2], at(9)));
    assert_eq!(core.fence(at(10), FenceKind::Dfence, &mut out), Ok(()), "what ended is durable");
    assert_eq!(saved(&core), [1, 2, 3]);
}

#[test]
fn another_core_takes_a_line_once_its_region_has_ended_and_its_stores_are_on_their_way() {
    let (mut core, mut out) = (core(4, 4), Outbox::default());
    let epoch = core.store(at(0), &write(0), &mut out).unwrap();
    core.store(at(0), &write(1), &mut out).unwrap();
    assert_eq!(core.snooped(at(5), write(0).line, epoch, 0, &mut out), Ok(None));
    assert!(matches!(out.0[..], [(_, _, Msg::Flush(r))] if r.write.line == write(0).line));
    assert_eq!(saved(&core), [1, 2]);
}

#[test]
fn a_region_is_no_longer_than_the_buffer() {
    let (mut core, mut out) = (core(2, 2), Outbox::default());
    (0..2).for_each(|n| assert!(core.store(at(0), &write(n), &mut out).is_ok()));
    assert_eq!(core.store(at(0), &write(2), &mut out), Err(WouldBlock));
    assert_eq!((saved(&core), core.next()), (vec![1, 2], at(0)));
}

#[test]
fn regions_survive_whole_or_not_at_all_and_every_mutant_is_caught() {
    let model = Capri { region_stores: 2, mutant: None };
    let small = PathSpace { persist_buffer: 2, ..PathSpace::small(model) };
    Held {
        clean: vec![
            (small, 16_307),
            (PathSpace { epochs: 1, stores: 2, ..small }, 11_783),
            (PathSpace { epochs: 1, stores: 3, persist_buffer: 3, cores: 1, ..small }, 196),
            (PathSpace { cores: 3, epochs: 1, controllers: 1, ..small }, 6_865),
        ],
        seeded: |mutant| {
            // Two stores of a region that has not ended, of which one has left.
            let (cores, stores) = if mutant == Mutant::SendsOpenRegion { (1, 3) } else { (2, 2) };
            let model = Capri { region_stores: stores, mutant: Some(mutant) };
            PathSpace { cores, stores, epochs: 1, persist_buffer: stores, ..PathSpace::small(model) }
        },
        wrong: &["a power failure"],
    }
    .holds();
}
