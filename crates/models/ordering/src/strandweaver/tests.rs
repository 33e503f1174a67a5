//! Strands on a bench: the core side alone, with caches that answer after a while, and what each seeded mistake breaks.

use super::{Mutant, StrandCore, StrandSpec};
use protocol::{
    CoreOrdering, FenceKind, Flushed, Line, LineWrite, Mask, Msg, Outbox, PM_BASE, Peer, WouldBlock, line_of,
};
use units::{Dur, Time};

const SPEC: StrandSpec =
    StrandSpec { persist_queue: 8, strand_buffers: 2, strand_entries: 4, strand_issue_ns: Dur::ns(1) };

fn line(n: u64) -> Line {
    line_of(PM_BASE + n * 64)
}

/// A core side, and the lines that it has asked for, oldest first.
struct Bench {
    core: StrandCore,
    now: Time,
    asked: Vec<Line>,
}

impl Bench {
    fn new(mutant: Option<Mutant>) -> Bench {
        Bench { core: StrandCore::new(&SPEC, mutant), now: Time::ZERO, asked: Vec::new() }
    }

    fn clwb(&mut self, n: u64) -> Result<Flushed, WouldBlock> {
        self.core.flush(self.now, line(n), true, false, &mut Outbox::default())
    }

    fn fence(&mut self, kind: FenceKind) -> Result<(), WouldBlock> {
        self.core.fence(self.now, kind, &mut Outbox::default())
    }

    fn store(&mut self, n: u64) -> Result<u32, WouldBlock> {
        let write = LineWrite { line: line(n), mask: Mask::MAX, data: [1; 64] };
        self.core.store(self.now, &write, &mut Outbox::default())
    }

    /// Stores to a line and flushes it; gives what the store comes after.
    fn persist(&mut self, n: u64) -> u32 {
        let after = self.store(n).expect("nothing stands in the way");
        assert_eq!(self.clwb(n), Ok(Flushed::Taken));
        after
    }

    /// Time passes until nothing more is sent; what was asked for in it.
    fn run(&mut self) -> Vec<Line> {
        let before = self.asked.len();
        while self.core.next() != Time::NEVER {
            self.now = self.now.max(self.core.next());
            let mut out = Outbox::default();
            self.core.tick(self.now, &mut out);
            for (_, to, msg) in out.0 {
                let (Peer::Caches, Msg::WriteBack { line, .. }) = (to, msg) else { panic!("{to:?} {msg:?}") };
                self.asked.push(line);
            }
        }
        self.asked[before..].to_vec()
    }

    fn arrives(&mut self, n: u64) {
        self.now += Dur::ns(100);
        self.core.on(self.now, Peer::Caches, &Msg::CleanAck { line: line(n) }, &mut Outbox::default());
    }
}

#[test]
fn a_barrier_holds_the_flushes_of_its_strand_back() {
    let mut b = Bench::new(None);
    b.persist(0);
    b.fence(FenceKind::Ofence).unwrap();
    b.persist(1);
    assert_eq!(b.run(), [line(0)]);
    b.arrives(0);
    assert_eq!(b.run(), [line(1)]);
    let mut wrong = Bench::new(Some(Mutant::IgnoreBarrier));
    wrong.persist(0);
    wrong.fence(FenceKind::Ofence).unwrap();
    wrong.persist(1);
    assert_eq!(wrong.run(), [line(0), line(1)], "the seeded mistake shows");
}

#[test]
fn strands_drain_side_by_side_and_a_join_waits_for_all() {
    let mut b = Bench::new(None);
    b.persist(0);
    b.fence(FenceKind::Ofence).unwrap();
    b.persist(1);
    b.fence(FenceKind::NewStrand).unwrap();
    b.persist(2);
    assert_eq!(b.run(), [line(0), line(2)]);
    assert_eq!(b.fence(FenceKind::JoinStrand), Err(WouldBlock));
    b.arrives(2);
    b.arrives(0);
    assert_eq!((b.run(), b.fence(FenceKind::Dfence)), (vec![line(1)], Err(WouldBlock)));
    b.arrives(1);
    assert_eq!(b.fence(FenceKind::JoinStrand), Ok(()));
    let mut wrong = Bench::new(Some(Mutant::JoinNothing));
    wrong.persist(0);
    assert_eq!(wrong.fence(FenceKind::JoinStrand), Ok(()), "the seeded mistake shows");
}

#[test]
fn a_line_stays_until_what_its_last_store_comes_after_has_arrived() {
    for mutant in [None, Some(Mutant::LeaveEarly)] {
        let mut b = Bench::new(mutant);
        b.persist(0);
        b.fence(FenceKind::Ofence).unwrap();
        let written = b.store(1).unwrap();
        b.run();
        let snooped =
            |b: &mut Bench| b.core.snooped(b.now, line(1), written, 0, &mut Outbox::default()).is_ok();
        assert_eq!(snooped(&mut b), mutant.is_some(), "{mutant:?}");
        assert_eq!(written <= b.core.committed(), mutant.is_some());
        b.arrives(0);
        assert!(snooped(&mut b));
    }
}

#[test]
fn a_release_comes_after_flushes_that_no_barrier_follows() {
    let mut b = Bench::new(None);
    b.persist(0);
    let mut out = Outbox::default();
    let released = b.core.release(b.now, line(9), &mut out).unwrap();
    assert!(b.core.snooped(b.now, line(9), 0, released, &mut out).is_err());
    b.run();
    b.arrives(0);
    assert_eq!(b.core.snooped(b.now, line(9), 0, released, &mut out), Ok(None));
}

#[test]
fn a_store_waits_for_a_flush_of_its_line_that_is_held_back() {
    for mutant in [None, Some(Mutant::OverwriteWaiting)] {
        let mut b = Bench::new(mutant);
        b.persist(0);
        b.fence(FenceKind::Ofence).unwrap();
        b.persist(1);
        assert!(b.store(1).is_ok(), "no barrier lies between");
        b.fence(FenceKind::Ofence).unwrap();
        assert_eq!(b.store(1).is_ok(), mutant.is_some(), "{mutant:?}");
        b.run();
        b.arrives(0);
        b.run();
        assert!(b.store(1).is_ok(), "the bytes have been read");
    }
}

#[test]
fn two_flushes_of_a_line_without_a_barrier_between_are_one() {
    let mut b = Bench::new(None);
    b.persist(0);
    b.persist(0);
    assert_eq!((b.core.level(), b.run()), (1, vec![line(0)]));
    b.persist(0);
    assert_eq!(b.run(), [line(0)], "it was sent, and does not have what came later");
}

#[test]
fn a_full_queue_refuses_and_changes_nothing() {
    let mut b = Bench::new(None);
    let taken = (0..20).take_while(|n| b.clwb(*n).is_ok()).count();
    assert_eq!((taken, b.core.level()), (12, 12), "four in the buffer, eight in the queue");
    assert_eq!(b.fence(FenceKind::Ofence), Err(WouldBlock));
    b.run();
    b.arrives(0);
    assert_eq!(b.fence(FenceKind::Ofence), Ok(()));
}

#[test]
fn a_flush_that_drops_a_line_waits_for_one_that_needs_it() {
    let mut b = Bench::new(None);
    b.persist(0);
    b.fence(FenceKind::Ofence).unwrap();
    b.persist(1);
    let drop = |b: &mut Bench| b.core.flush(b.now, line(1), true, true, &mut Outbox::default());
    assert_eq!(drop(&mut b), Err(WouldBlock));
    b.run();
    b.arrives(0);
    b.run();
    assert_eq!(drop(&mut b), Ok(Flushed::ByCaches));
}
