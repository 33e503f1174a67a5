//! What leaves when, what a controller finds, and what every interleaving keeps.

use super::{Mutant, SpecCore, SpecParameters, SpecSpace, SpeculationBuffer};
use explore::Held;
use params::Parameters;
use protocol::{
    AddressMap, ControllerOrdering, CoreOrdering, FenceKind, FlushRequest, Image, LineWrite, Mask, Msg,
    Outbox, PM_BASE, Peer, Settings, WouldBlock, line_of,
};
use units::{Dur, Time};

fn spec() -> SpecParameters {
    SpecParameters::from_settings(&Settings::defaults(SpecParameters::TABLE))
}

fn core(controllers: usize) -> SpecCore {
    SpecCore::new(0, AddressMap::new(controllers, 1, 64), spec(), None)
}

fn at(ns: u64) -> Time {
    Time::ZERO + Dur::ns(ns)
}

fn write(n: u64, value: u8) -> LineWrite {
    LineWrite { line: line_of(PM_BASE + n * 64), mask: Mask::MAX, data: [value; 64] }
}

fn flush(n: u64, value: u8) -> FlushRequest {
    FlushRequest {
        core: 0,
        slot: 0,
        epoch: 1,
        early: false,
        retry: false,
        after_core: 0,
        after_epoch: 0,
        write: write(n, value),
    }
}

/// What a core sends from `now` on, as far as nothing answers, and when.
fn sent(core: &mut SpecCore) -> Vec<(Time, u64)> {
    let mut out = Outbox::default();
    while core.next() != Time::NEVER {
        core.tick(core.next(), &mut out);
    }
    let line = |msg: Msg| {
        let Msg::Flush(request) = msg else { panic!("{msg:?}") };
        request.write.line.0 - line_of(PM_BASE).0
    };
    out.0.into_iter().map(|(at, _, msg)| (at, line(msg))).collect()
}

fn acknowledge(core: &mut SpecCore, now: Time, slot: u16) {
    core.on(now, Peer::Controller(0), &Msg::Ack { slot }, &mut Outbox::default());
}

#[test]
fn stores_follow_each_other_without_a_fence_and_take_the_paths_time() {
    let (mut core, mut out) = (core(1), Outbox::default());
    (0..3).for_each(|n| assert_eq!(core.store(at(10), &write(n, 1), &mut out), Ok(0)));
    let way = spec().persist_path_ns;
    assert_eq!(sent(&mut core), [(at(10) + way, 0), (at(11) + way, 1), (at(12) + way, 2)]);
    assert_eq!(core.fence(at(20), FenceKind::Ofence, &mut out), Ok(()));
    assert_eq!(core.fence(at(20), FenceKind::Dfence, &mut out), Err(WouldBlock));
}

#[test]
fn a_store_waits_for_those_under_way_to_another_controller() {
    let (mut core, mut out) = (core(2), Outbox::default());
    (0..3).for_each(|n| assert_eq!(core.store(at(10), &write(n, 1), &mut out), Ok(0)));
    assert_eq!(sent(&mut core).len(), 1);
    assert!(core.holds(write(1, 1).line) && !core.holds(write(0, 1).line), "what is not under way stays");
    acknowledge(&mut core, at(100), 0);
    assert_eq!(sent(&mut core), [(at(100) + spec().persist_path_ns, 1)]);
}

#[test]
fn a_release_waits_for_every_store_and_is_durable_before_anybody_has_it() {
    let (mut core, mut out) = (core(1), Outbox::default());
    let word = write(9, 1);
    core.store(at(0), &write(0, 1), &mut out).unwrap();
    sent(&mut core);
    assert_eq!(core.release(at(5), word.line, &mut out), Err(WouldBlock));
    acknowledge(&mut core, at(50), 0);
    assert_eq!(core.release(at(50), word.line, &mut out), Ok(0));
    core.store(at(50), &word, &mut out).unwrap();
    sent(&mut core);
    assert!(core.snooped(at(51), word.line, 0, 0, &mut out).is_err() && core.holds(word.line));
    acknowledge(&mut core, at(100), 0);
    assert_eq!(core.snooped(at(100), word.line, 0, 0, &mut out), Ok(None));
}

#[test]
fn a_core_that_goes_back_keeps_its_lines_until_they_are_durable() {
    let (mut core, mut out) = (core(1), Outbox::default());
    core.goes_back(at(0), true);
    core.store(at(0), &write(0, 1), &mut out).unwrap();
    sent(&mut core);
    assert!(core.holds(write(0, 1).line));
    core.goes_back(at(9), false);
    assert!(!core.holds(write(0, 1).line));
}

#[test]
fn a_line_that_is_evicted_read_and_stored_to_was_read_too_early() {
    let mut image = Image::new(PM_BASE);
    let mut side = SpeculationBuffer::new(Dur::ns(50), None);
    side.passes(at(100));
    side.evict(&write(0, 2), &mut image);
    assert_eq!(image.read(write(0, 2).line), [0; 64], "its bytes are dropped");
    assert!(!side.arrives(&flush(0, 1)), "nobody has read it");
    side.flush(&flush(0, 1), &mut image, &mut Vec::new());
    side.read(write(0, 2).line, &image);
    assert_eq!(side.held(write(0, 2).line), Some([2; 64]), "the right bytes are given");
    assert!(side.arrives(&flush(0, 2)));
    assert!(!side.arrives(&flush(0, 2)), "one message for each read");
}

#[test]
fn a_line_is_watched_for_its_window_and_while_a_store_to_it_waits_here() {
    let mut image = Image::new(PM_BASE);
    let line = write(0, 2).line;
    for waits in [false, true] {
        let mut side = SpeculationBuffer::new(Dur::ns(50), None);
        side.passes(at(100));
        side.evict(&write(0, 2), &mut image);
        side.passes(at(150));
        assert!(side.held(line).is_some());
        assert!(!waits || !side.arrives(&flush(0, 2)));
        side.passes(at(151));
        assert_eq!(side.held(line).is_some(), waits);
        side.flush(&flush(0, 2), &mut image, &mut Vec::new());
        side.passes(at(152));
        assert_eq!(side.held(line), None);
    }
}

#[test]
fn cores_neither_get_stuck_nor_release_what_is_wrong_and_every_mutant_is_caught() {
    let small = SpecSpace::SMALL;
    Held {
        clean: vec![
            (SpecSpace { operations: 3, ..small }, 5_472),
            (SpecSpace { cores: 1, operations: 4, evictions: 2, ..small }, 115_719),
            (SpecSpace { controllers: 1, operations: 3, evictions: 2, ..small }, 18_977),
        ],
        seeded: |mutant| match mutant {
            // Both of a core's stores and its word.
            Mutant::PassesControllers | Mutant::ReleasesEarly => {
                SpecSpace { mutant: Some(mutant), cores: 1, ..SpecSpace::SMALL }
            }
            // Two stores to a line, and between them a read.
            Mutant::ForgetsReads => {
                SpecSpace { mutant: Some(mutant), cores: 1, evictions: 2, ..SpecSpace::SMALL }
            }
            Mutant::LeavesBeforeStore
            | Mutant::WatchesNothing
            | Mutant::IgnoresReads
            | Mutant::HandsReleaseOver => SpecSpace { mutant: Some(mutant), ..SpecSpace::SMALL },
        },
        wrong: &["a power failure", "a core releases", "a core takes"],
    }
    .holds();
}
