//! Logs of recordings whose stores are pending for long: what is held does not grow with them.

use crate::kit::MODELS;
use check::crash::{
    self, Bounds, Candidate, Facts, Log, Named, Outcome, Persistency, Recorded, Replay, Search, Tracker,
};
use protocol::{PM_BASE, line_of};
use trace::space::{Layout, file_address};
use trace::{File, Kind, Record, Recording, Trace};

const BOUNDS: Bounds = Bounds { points: 40, images: 400, failures: 4, skip: 0 };

/// A file of 64 KiB, mapped at 1 MiB, and one thread.
fn log(records: impl Iterator<Item = (Kind, u64, u64)>) -> Log {
    let mut trace = Trace::default();
    let file = File { identity: "8:1".into(), path: "/d/f".into(), bytes: 1 << 16 };
    trace.about.files.insert(0, file);
    let map = [(Kind::Operand, 0, file_address(0, 0)), (Kind::Map, 0, 1 << 16)];
    for (kind, address, value) in map.into_iter().chain(records) {
        let address = address + (1 << 20);
        let (stamp, location, instructions, thread, size) = (0, 0, 0, 0, 8);
        trace.push(Record { address, value, stamp, location, instructions, thread, kind, size });
    }
    let recording = Recording::of_trace(trace).unwrap();
    let layout = &Layout::new(recording.about(), &recording.counts().extents, PM_BASE);
    let (named, begins) = (&Named::default(), &Facts::of(&recording).begins(&[0], None, None));
    crash::of_trace(&recording, &Recorded { layout, named, begins })
}

fn word(image: &Candidate<'_>, offset: u64) -> u64 {
    let block = image.line(line_of(PM_BASE + offset));
    let at = (offset % 64) as usize;
    u64::from_le_bytes(block[at..at + 8].try_into().unwrap())
}

fn search(log: &Log, model: Persistency, right: impl Fn(&Candidate<'_>) -> bool + Sync) -> Search {
    let check = |i: &Candidate<'_>| Outcome::of(if right(i) { Ok(()) } else { Err("wrong".into()) });
    crash::search_whole(log, model, BOUNDS, &check, &|| true, &mut |_| {})
}

/// Two words of one line count together, and nothing makes them durable: where a line persists in order the first is never
/// behind the second.
fn counters(n: u64) -> Log {
    log((1..=n).flat_map(|i| [(Kind::Store, 0, i), (Kind::Store, 8, i)]))
}

#[test]
fn stores_in_groups_are_images_that_the_model_allows_and_are_said_to_be_few() {
    let log = counters(30_000);
    for model in [Persistency::Px86Line, Persistency::Px86, Persistency::Armv8] {
        let found = search(&log, model, |i| word(i, 8) <= word(i, 0) || model != Persistency::Px86Line);
        assert_eq!(found.failing_points, 0, "{model:?}: {found:?}");
        assert_eq!((found.grouped_points, found.counted), (1, false), "{model:?}");
        assert!(found.possible > 100.0, "{model:?}: {found:?}");
    }
    // Few stores are told apart, each of them.
    let found = search(&counters(100), Persistency::Px86Line, |_| true);
    assert_eq!((found.grouped_points, found.counted, found.possible), (0, true, 201.0));
}

#[test]
fn what_is_lost_among_grouped_stores_is_found_and_can_be_made_again() {
    let log = counters(30_000);
    let torn = |i: &Candidate<'_>| word(i, 0) == 30_000 && word(i, 8) < 30_000;
    let found = search(&log, Persistency::Px86Line, |i| !torn(i));
    assert_eq!(found.failures.len(), 1, "{found:?}");
    let replay = Replay::read(&found.failures[0].why.replay).unwrap();
    let tracker = replay.tracker(&log).unwrap();
    assert!(torn(&tracker.candidate(&replay.choice)));
}

/// A flush covers the stores before it, also when its fence comes long after.
#[test]
fn a_flush_that_awaits_its_fence_keeps_its_stores_apart() {
    let flushed = 1000;
    let log = log((1..=20_000).flat_map(|i| {
        let flush = (i == flushed).then_some((Kind::Clwb, 0, 0));
        let fence = (i == 20_000).then_some((Kind::Sfence, 0, 0));
        [(Kind::Store, 0, i)].into_iter().chain(flush).chain(fence)
    }));
    for model in [Persistency::Px86Line, Persistency::Px86] {
        let mut tracker = Tracker::new(&log, model);
        while tracker.step() {}
        let none = [(PM_BASE, 0)].into_iter().collect();
        assert_eq!(word(&tracker.candidate(&none), 0), flushed, "{model:?}");
    }
}

/// A mistake late in a log of many epochs: what comes before which is forgotten only where nothing hangs on it.
#[test]
fn a_mistake_after_many_epochs_is_found_on_every_model_that_has_it() {
    let operation = |i: u64, wrong: bool| {
        let data = 64 * (1 + i % 100);
        let order = (!wrong).then_some([(Kind::Clwb, data, 0), (Kind::Sfence, 0, 0)]);
        let end = [(Kind::Store, 0, i), (Kind::Clwb, data, 0), (Kind::Clwb, 0, 0), (Kind::Sfence, 0, 0)];
        [(Kind::Store, data, i)].into_iter().chain(order.into_iter().flatten()).chain(end)
    };
    let n = 6_000;
    let right = |i: &Candidate<'_>| word(i, 0) == 0 || word(i, 64 * (1 + word(i, 0) % 100)) >= word(i, 0);
    for model in MODELS {
        let log = |wrong: u64| log((1..=n).flat_map(move |i| operation(i, i == wrong)));
        let sound = search(&log(0), model, right);
        assert_eq!((sound.failing_points, sound.grouped_points), (0, 0), "{model:?}: {sound:?}");
        // The last operation's points are among the forty.
        let found = crash::search_whole(
            &log(n),
            model,
            Bounds { points: usize::MAX, failures: 1, ..BOUNDS },
            &|i: &Candidate<'_>| Outcome::of(if right(i) { Ok(()) } else { Err("wrong".into()) }),
            &|| true,
            &mut |_| {},
        );
        assert_eq!(found.failures.len(), usize::from(model != Persistency::Strict), "{model:?}");
    }
}
