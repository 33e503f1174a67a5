//! Table I row by row, the power failure, the core side's decisions.

use super::EarlySpec;
use super::{EarlyCore, RecoverySpec, RecoveryTable};
use crate::spec::{CrossCore, Dependences, PathSpec};
use protocol::{
    Accepted, AddressMap, ControllerOrdering, CoreOrdering, EpochTag, Evicted, FenceKind, FlushRequest,
    Image, Line, LineWrite, Mask, Msg, Outbox, PM_BASE, Peer, WouldBlock, line_of,
};
use units::{Dur, Time};

fn line(n: u64) -> Line {
    line_of(PM_BASE + n * 64)
}

fn write(n: u64, value: u8) -> LineWrite {
    LineWrite { line: line(n), mask: Mask::MAX, data: [value; 64] }
}

fn request(core: u8, epoch: u32, early: bool, write: LineWrite) -> FlushRequest {
    FlushRequest { core, slot: 0, epoch, early, retry: false, after_core: 0, after_epoch: 0, write }
}

struct Table {
    table: RecoveryTable,
    image: Image,
    retired: Vec<Line>,
}

impl Table {
    fn new(entries: usize) -> Table {
        let spec = RecoverySpec::of(entries, true);
        Table { table: RecoveryTable::new(spec), image: Image::new(PM_BASE), retired: Vec::new() }
    }

    fn early(&mut self, core: u8, epoch: u32, w: LineWrite) -> Accepted {
        self.table.flush(&request(core, epoch, true, w), &mut self.image, &mut self.retired)
    }

    fn safe(&mut self, core: u8, epoch: u32, w: LineWrite) -> Accepted {
        self.table.flush(&request(core, epoch, false, w), &mut self.image, &mut self.retired)
    }

    fn commit(&mut self, core: u8, epoch: u32) {
        self.table.commit(core, epoch, &mut self.image, &mut self.retired);
    }

    fn memory(&self, n: u64) -> u8 {
        self.image.read(line(n))[0]
    }

    fn after_power_failure(&self, n: u64) -> u8 {
        let mut image = self.image.clone();
        self.table.power_fail(&mut image);
        image.read(line(n))[0]
    }
}

#[test]
fn a_safe_flush_without_a_record_writes_memory() {
    let mut t = Table::new(4);
    assert_eq!(t.safe(0, 1, write(0, 7)), Accepted::Write);
    assert_eq!((t.memory(0), t.after_power_failure(0), t.table.level()), (7, 7, 0));
}

#[test]
fn an_early_flush_writes_memory_and_a_power_failure_takes_it_back_until_it_commits() {
    let mut t = Table::new(4);
    assert_eq!(t.early(0, 2, write(0, 9)), Accepted::ReadThenWrite);
    assert_eq!((t.memory(0), t.after_power_failure(0), t.table.level()), (9, 0, 1));
    t.commit(0, 2);
    assert_eq!((t.after_power_failure(0), t.table.level()), (9, 0));
}

#[test]
fn a_safe_flush_with_an_undo_record_updates_the_record_and_not_memory() {
    let mut t = Table::new(4);
    t.early(0, 2, write(0, 9));
    assert_eq!(t.safe(1, 1, write(0, 5)), Accepted::Absorbed);
    assert_eq!((t.memory(0), t.after_power_failure(0)), (9, 5));
}

/// Figure 5 of the paper: three threads write one address, and their flushes arrive in the wrong order.
#[test]
fn write_collision_leaves_the_last_value_and_every_crash_a_consistent_one() {
    let mut t = Table::new(4);
    t.early(2, 1, write(0, 3));
    assert_eq!(t.early(1, 1, write(0, 2)), Accepted::Absorbed);
    assert_eq!((t.memory(0), t.after_power_failure(0)), (3, 0));
    t.safe(0, 1, write(0, 1));
    assert_eq!((t.memory(0), t.after_power_failure(0)), (3, 1));
    t.commit(1, 1);
    assert_eq!((t.memory(0), t.after_power_failure(0)), (3, 2));
    t.commit(2, 1);
    assert_eq!((t.memory(0), t.after_power_failure(0), t.table.level()), (3, 3, 0));
}

#[test]
fn a_delay_record_that_outlives_the_undo_record_reaches_memory_at_its_commit() {
    let mut t = Table::new(4);
    t.early(0, 2, write(0, 3));
    t.early(0, 3, write(0, 4));
    t.commit(0, 2);
    assert_eq!((t.memory(0), t.after_power_failure(0)), (3, 3));
    t.commit(0, 3);
    assert_eq!((t.memory(0), t.retired.as_slice()), (4, &[line(0)][..]));
}

#[test]
fn a_safe_flush_writes_what_its_epoch_left_in_delay_records() {
    let mut t = Table::new(4);
    t.early(1, 2, write(0, 3));
    t.early(0, 3, write(0, 4));
    t.commit(1, 2);
    t.safe(0, 3, write(1, 5));
    assert_eq!((t.memory(0), t.retired.as_slice()), (4, &[line(0)][..]));
}

#[test]
fn delays_of_one_epoch_and_line_coalesce() {
    let mut t = Table::new(2);
    t.early(0, 2, write(0, 3));
    t.early(0, 3, write(0, 4));
    assert_eq!((t.early(0, 3, write(0, 5)), t.table.level()), (Accepted::Absorbed, 2));
}

#[test]
fn a_full_table_refuses_early_flushes_and_never_safe_ones() {
    let mut t = Table::new(1);
    t.early(0, 2, write(0, 3));
    assert_eq!(t.early(0, 2, write(1, 3)), Accepted::Refused);
    assert_eq!(t.safe(1, 1, write(1, 4)), Accepted::Write);
}

#[test]
fn records_respect_bytes_that_another_core_wrote() {
    let mut t = Table::new(4);
    let half = |mask, value| LineWrite { line: line(0), mask, data: [value; 64] };
    t.early(0, 2, half(0xFF, 1));
    t.safe(1, 1, half(0xFF00, 2));
    let image = |t: &Table| (t.image.read(line(0))[0], t.image.read(line(0))[8]);
    assert_eq!(image(&t), (1, 2));
    t.table.power_fail(&mut t.image);
    assert_eq!(image(&t), (0, 2));
}

#[test]
fn the_eviction_of_a_refused_line_is_held_until_the_retry() {
    let mut t = Table::new(0);
    t.early(0, 2, write(0, 3));
    assert_eq!(t.table.evict(&write(0, 3), &mut t.image), Evicted::Held);
    assert_eq!(t.table.held(line(0)), Some([3; 64]));
    let retry = FlushRequest { retry: true, ..request(0, 2, false, write(0, 3)) };
    t.table.flush(&retry, &mut t.image, &mut t.retired);
    assert_eq!(t.table.held(line(0)), None);
    assert_eq!(t.table.evict(&write(0, 3), &mut t.image), Evicted::Dropped);
}

// The core side.

fn core(persist_buffer: usize) -> EarlyCore {
    core_of(persist_buffer, EarlySpec::EAGER)
}

fn core_of(persist_buffer: usize, spec: EarlySpec) -> EarlyCore {
    let map = AddressMap::new(2, 1, 64);
    let path = PathSpec {
        core: 0,
        map,
        persist_buffer,
        epoch_table: 4,
        flush_issue: Dur::ns(1),
        flush_trigger: 1,
        flush_timer: Dur::ns(500),
        cross_core: CrossCore::Acquires,
        dependences: Dependences::Accesses,
    };
    EarlyCore::new(path, spec)
}

fn at(ns: u64) -> Time {
    Time::ZERO + Dur::ns(ns)
}

/// The flushes sent so far: slot, epoch, early.
fn flushes(out: &Outbox) -> Vec<(u16, u32, bool)> {
    let flush = |m: &Msg| if let Msg::Flush(f) = m { Some((f.slot, f.epoch, f.early)) } else { None };
    out.0.iter().filter_map(|(_, _, m)| flush(m)).collect()
}

fn commits(out: &Outbox) -> usize {
    out.0.iter().filter(|(_, _, m)| matches!(m, Msg::Commit { .. })).count()
}

#[test]
fn a_later_epoch_is_flushed_early_and_commits_after_its_predecessor() {
    let (mut h, mut out) = (core(8), Outbox::default());
    h.store(at(0), &write(0, 1), &mut out).unwrap();
    h.fence(at(0), FenceKind::Ofence, &mut out).unwrap();
    h.store(at(0), &write(1, 2), &mut out).unwrap();
    h.fence(at(0), FenceKind::Ofence, &mut out).unwrap();
    assert_eq!(h.next(), at(0));
    h.tick(at(0), &mut out);
    assert_eq!(h.next(), at(1), "one flush a nanosecond");
    h.tick(at(1), &mut out);
    assert_eq!(flushes(&out), [(0, 1, false), (1, 2, true)]);
    h.on(at(90), Peer::Controller(1), &Msg::Ack { slot: 1 }, &mut out);
    assert_eq!((h.committed(), commits(&out)), (0, 0));
    h.on(at(100), Peer::Controller(0), &Msg::Ack { slot: 0 }, &mut out);
    assert_eq!(
        (h.committed(), commits(&out)),
        (1, 1),
        "an epoch without early flushes needs no commit message"
    );
    h.on(at(160), Peer::Controller(1), &Msg::CommitAck { epoch: 2 }, &mut out);
    assert_eq!(h.committed(), 2);
}

#[test]
fn after_a_nack_only_the_safe_epoch_is_flushed_until_that_of_the_refused_write_has_committed() {
    let (mut h, mut out) = (core(8), Outbox::default());
    for n in 0..4 {
        h.store(at(0), &write(n, 1), &mut out).unwrap();
        if n < 3 {
            h.fence(at(0), FenceKind::Ofence, &mut out).unwrap();
        }
    }
    h.tick(at(0), &mut out);
    h.tick(at(1), &mut out);
    h.on(at(50), Peer::Controller(1), &Msg::Nack { slot: 1 }, &mut out);
    assert_eq!(h.next(), Time::NEVER, "epoch 1 is in flight, 2 and 3 are not safe");
    h.on(at(100), Peer::Controller(0), &Msg::Ack { slot: 0 }, &mut out);
    h.tick(at(100), &mut out);
    assert_eq!(flushes(&out), [(0, 1, false), (1, 2, true), (1, 2, false)], "it goes again as safe");
    h.on(at(200), Peer::Controller(1), &Msg::Ack { slot: 1 }, &mut out);
    assert_eq!((h.next(), commits(&out)), (Time::NEVER, 1), "epoch 2 is committing, 3 and 4 are not safe");
    h.on(at(250), Peer::Controller(1), &Msg::CommitAck { epoch: 2 }, &mut out);
    h.tick(at(250), &mut out);
    h.tick(at(251), &mut out);
    assert_eq!(flushes(&out)[3..], [(2, 3, false), (3, 4, true)], "eager again");
}

#[test]
fn a_full_persist_buffer_refuses_stores_until_an_acknowledgement() {
    let (mut h, mut out) = (core(1), Outbox::default());
    h.store(at(0), &write(0, 1), &mut out).unwrap();
    h.tick(at(0), &mut out);
    assert_eq!(h.store(at(1), &write(1, 1), &mut out), Err(WouldBlock));
    h.on(at(100), Peer::Controller(0), &Msg::Ack { slot: 0 }, &mut out);
    assert!(h.store(at(100), &write(1, 1), &mut out).is_ok());
}

#[test]
fn an_acquire_waits_for_the_releasing_core_and_a_release_tells_it() {
    let (mut h, mut out) = (core(8), Outbox::default());
    let tag = EpochTag { core: 1, epoch: 5 };
    h.received(at(0), line(9), tag, true, &mut out).unwrap();
    h.acquire(at(0), line(9), &mut out).unwrap();
    h.store(at(0), &write(0, 1), &mut out).unwrap();
    h.tick(at(0), &mut out);
    assert_eq!(flushes(&out), [(0, 1, true)], "not safe while core 1's epoch is open");
    let released = h.release(at(1), line(9), &mut out).unwrap();
    assert_eq!(h.snooped(at(2), line(9), 0, released, &mut out), Ok(Some(EpochTag { core: 0, epoch: 1 })));
    h.on(at(3), Peer::Directory, &Msg::AddDependent { epoch: 1, dependent: 3 }, &mut out);
    h.on(at(100), Peer::Controller(0), &Msg::Ack { slot: 0 }, &mut out);
    assert_eq!(commits(&out), 0);
    h.on(at(120), Peer::Core(1), &Msg::CrossDependencyResolved { tag }, &mut out);
    h.on(at(180), Peer::Controller(0), &Msg::CommitAck { epoch: 1 }, &mut out);
    let told =
        |m: &(Time, Peer, Msg)| m.1 == Peer::Core(3) && matches!(m.2, Msg::CrossDependencyResolved { .. });
    assert!(out.0.iter().any(told));
}
