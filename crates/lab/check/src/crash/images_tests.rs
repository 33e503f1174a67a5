//! What a recovery is given, against all images that a model allows.

use super::classes_tests::{any_log, by_force};
use super::fixed::fixed;
use super::images::explore;
use super::in_flight::Tracker;
use super::log::{Event, Kind, Log};
use proptest::prelude::*;
use protocol::{FenceKind, Order, PM_BASE, Persistency};
use std::collections::{BTreeMap, BTreeSet};
use workloads::Persistent;

/// What a recovery reads that looks at these lines, one after the other.
fn read(memory: &mut dyn Persistent, lines: &[u64]) -> Vec<u64> {
    let words = lines.iter().flat_map(|line| [0, 8].map(|at| PM_BASE + line * 64 + at));
    words.map(|address| memory.word(address)).collect()
}

/// All that such a recovery may be given.
fn given(tracker: &Tracker<'_>, lines: &[u64]) -> BTreeSet<Vec<u64>> {
    let mut all = BTreeSet::new();
    let (images, bounded, failing) = explore(tracker, usize::MAX, &mut |memory, _| {
        all.insert(read(memory, lines));
        Ok(())
    });
    assert!(images >= all.len() && !bounded && failing.is_none());
    all
}

/// The same from all images that are allowed.
fn wanted(tracker: &Tracker<'_>, lines: &[u64]) -> BTreeSet<Vec<u64>> {
    let image = |choice: Vec<(u64, usize)>| {
        let choice: BTreeMap<u64, usize> = choice.into_iter().collect();
        let mut words = Vec::new();
        let told = fixed(tracker, &choice, &mut |memory, _| {
            words = read(memory, lines);
            Ok(())
        });
        told.map(|()| words)
    };
    by_force(tracker).into_iter().map(image).collect::<Result<_, _>>().unwrap_or_default()
}

/// Of three lines, some in some order.
fn any_lines() -> impl Strategy<Value = Vec<u64>> {
    (1..=3usize, Just(vec![0u64, 1, 2]).prop_shuffle()).prop_map(|(n, lines)| lines[..n].to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn a_recovery_is_given_what_the_model_allows_and_nothing_else(log in any_log(), lines in any_lines()) {
        for (_, model) in Persistency::ALL {
            let mut tracker = Tracker::new(&log, model);
            while tracker.step() {}
            prop_assert_eq!(given(&tracker, &lines), wanted(&tracker, &lines), "{:?}", model);
        }
    }
}

/// A thread's second store is after its first; the other's comes between the two in a line, after one of its own elsewhere.
fn two_threads_of_a_line() -> Log {
    let event = |kind, thread, address, value| Event {
        kind,
        address: PM_BASE + address,
        value,
        site: 0,
        thread,
        size: 8,
    };
    let fence = Kind::Fence(FenceKind::Ofence);
    let events = vec![
        event(Kind::Store, 1, 128, 1),
        event(fence, 1, 0, 0),
        event(Kind::Store, 1, 8, 1),
        event(Kind::Store, 0, 0, 1),
        event(fence, 0, 0, 0),
        event(Kind::Store, 0, 64, 1),
        event(Kind::Synchronise(Order::Release), 0, 192, 0),
    ];
    Log { events, threads: 2, ..Log::default() }
}

/// Line 1 hangs on the line of both by its own thread, and this one on line 2 by the other: a recovery that never reads the line
/// of both is not told otherwise, and one that reads it last finds it there.
#[test]
fn a_line_of_two_threads_holds_what_recovery_reads_together() {
    let log = two_threads_of_a_line();
    let mut tracker = Tracker::new(&log, Persistency::Release);
    while tracker.step() {}
    let one_without_the_other = vec![1, 0, 0, 0];
    assert!(!given(&tracker, &[1, 2]).contains(&one_without_the_other));
    for words in given(&tracker, &[1, 2, 0]) {
        assert!(words[0] == 0 || words[2..] == [1, 0, 1, 1], "{words:?}");
    }
}
