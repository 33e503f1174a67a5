//! Conservative flushing and polling.

use super::HopsCore;
use super::HopsSpec;
use crate::spec::{CrossCore, Dependences, PathSpec};
use protocol::{
    AddressMap, CoreOrdering, EpochTag, FenceKind, LineWrite, Mask, Msg, Outbox, PM_BASE, Peer, line_of,
};
use units::{Dur, Time};

fn core(flush_trigger: usize) -> HopsCore {
    let map = AddressMap::new(2, 1, 64);
    let path = PathSpec {
        core: 0,
        map,
        persist_buffer: 8,
        epoch_table: 4,
        flush_issue: Dur::ns(1),
        flush_trigger,
        flush_timer: Dur::ns(2000),
        cross_core: CrossCore::Acquires,
        dependences: Dependences::Accesses,
    };
    HopsCore::new(path, HopsSpec { poll: Dur::ns(250) })
}

fn at(ns: u64) -> Time {
    Time::ZERO + Dur::ns(ns)
}

fn write(n: u64) -> LineWrite {
    LineWrite { line: line_of(PM_BASE + n * 64), mask: Mask::MAX, data: [1; 64] }
}

#[test]
fn an_epoch_waits_until_the_one_before_is_acknowledged() {
    let (mut h, mut out) = (core(1), Outbox::default());
    h.store(at(0), &write(0), &mut out).unwrap();
    h.fence(at(0), FenceKind::Ofence, &mut out).unwrap();
    h.store(at(0), &write(1), &mut out).unwrap();
    h.tick(at(0), &mut out);
    assert_eq!(h.next(), Time::NEVER);
    h.on(at(100), Peer::Controller(0), &Msg::Ack { slot: 0 }, &mut out);
    assert_eq!((h.next(), h.committed()), (at(100), 1));
}

#[test]
fn below_the_trigger_one_entry_goes_after_the_timer() {
    let (mut h, mut out) = (core(4), Outbox::default());
    h.store(at(10), &write(0), &mut out).unwrap();
    assert_eq!(h.next(), at(2010));
    assert!(h.fence(at(20), FenceKind::Dfence, &mut out).is_err());
    assert_eq!(h.next(), at(20), "a dfence drains");
}

#[test]
fn a_dependence_is_polled_at_multiples_of_the_period() {
    let (mut h, mut out) = (core(1), Outbox::default());
    let tag = EpochTag { core: 1, epoch: 5 };
    h.received(at(10), write(9).line, tag, true, &mut out).unwrap();
    h.acquire(at(10), write(9).line, &mut out).unwrap();
    h.store(at(10), &write(0), &mut out).unwrap();
    assert_eq!(h.next(), at(250));
    h.tick(at(250), &mut out);
    assert!(matches!(out.0.last(), Some((_, Peer::TimestampRegister, Msg::Poll { core: 1 }))));
    h.on(at(275), Peer::TimestampRegister, &Msg::Timestamp { tag: EpochTag { core: 1, epoch: 4 } }, &mut out);
    assert_eq!(h.next(), at(500));
    h.tick(at(500), &mut out);
    h.on(at(525), Peer::TimestampRegister, &Msg::Timestamp { tag }, &mut out);
    assert_eq!(h.next(), at(525));
}
