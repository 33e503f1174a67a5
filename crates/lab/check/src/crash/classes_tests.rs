//! The classes against all choices, tried one by one.

use super::classes::Classes;
use super::files::FileState;
use super::in_flight::Tracker;
use super::log::{Event, Kind, Log};
use super::unit::{METADATA, Unit};
use super::{Change, What};
use proptest::prelude::*;
use protocol::Persistency;
use protocol::{FenceKind, FlushKind, Order, PM_BASE};
use std::collections::{BTreeMap, BTreeSet};

/// Small logs of two threads and three lines; loads, locks and syncs among the stores.
pub(super) fn any_log() -> impl Strategy<Value = Log> {
    let event = (0..12u8, 0..2u16, 0..6u64, 1..4u64).prop_map(|(kind, thread, word, value)| {
        let kind = match kind {
            0..=4 => Kind::Store,
            5 => Kind::NonTemporal,
            6 => Kind::Flush(FlushKind::Clwb),
            7 => Kind::Fence(FenceKind::Ofence),
            8 => Kind::Synchronise(Order::Release),
            9 => Kind::Synchronise(Order::Acquire),
            10 => Kind::Written { call: 0 },
            _ => Kind::Change,
        };
        let address = PM_BASE + word % 3 * 64 + word / 3 * 8;
        let value = if kind == Kind::Change { 0 } else { value };
        Event { kind, address, value, site: 0, thread, size: 8 }
    });
    prop::collection::vec(event, 1..12).prop_map(|events| Log {
        events,
        threads: 2,
        files: vec![FileState { number: 0, base: PM_BASE, names: vec!["f".into()], size: 192 }],
        changes: vec![Change { file: 0, what: What::AtLeast(256), cuts: None }],
        ..Log::default()
    })
}

/// The same where each change cuts the file off in its second line.
fn any_log_with_cuts() -> impl Strategy<Value = Log> {
    let cut = Change { file: 0, what: What::Size(72), cuts: Some((PM_BASE + 72, PM_BASE + 192)) };
    any_log().prop_map(move |log| Log { changes: vec![cut.clone()], ..log })
}

/// Every choice that the model allows, by looking at all of them.
pub(super) fn by_force(tracker: &Tracker<'_>) -> BTreeSet<Vec<(Unit, usize)>> {
    let mut units: Vec<(Unit, usize)> = tracker.in_flight.iter().map(|(u, s)| (*u, s.len())).collect();
    if !tracker.changes.is_empty() {
        units.push((METADATA, tracker.changes.len()));
    }
    let mut all = vec![BTreeMap::new()];
    for (unit, count) in units {
        all = all
            .into_iter()
            .flat_map(|c| {
                (0..=count).map(move |kept| {
                    let mut c: BTreeMap<Unit, usize> = c.clone();
                    c.insert(unit, kept);
                    c
                })
            })
            .collect();
    }
    let memory = |c: &BTreeMap<Unit, usize>| {
        c.iter().filter(|(u, _)| **u != METADATA).map(|(u, k)| (*u, *k)).collect()
    };
    all.into_iter().filter(|c| tracker.allows(&memory(c))).map(|c| c.into_iter().collect()).collect()
}

/// Adds all images of a point by their keys; two that have one key and differ, if there are any.
fn two_of_one_key(
    tracker: &Tracker<'_>,
    images: &mut BTreeMap<(u128, u64), Vec<u8>>,
) -> Option<[Vec<u8>; 2]> {
    let mut classes = Classes::new(tracker, &BTreeSet::new());
    classes.looks_at(None);
    while let Some(kept) = classes.next() {
        let candidate = tracker.candidate(&classes.choice(&kept));
        let image = candidate.page(PM_BASE).map_or_else(|| vec![0; 192], |p| p[..192].to_vec());
        let whole = [&image[..], format!("{:?}", candidate.files()).as_bytes()].concat();
        match images.insert(classes.key(&kept), whole.clone()) {
            Some(before) if before != whole => return Some([before, whole]),
            Some(_) | None => {}
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn all_allowed_images_are_made_and_no_others(log in any_log()) {
        for (_, model) in Persistency::ALL {
            let mut tracker = Tracker::new(&log, model);
            while tracker.step() {}
            let mut classes = Classes::new(&tracker, &BTreeSet::new());
            classes.looks_at(None);
            let mut made = BTreeSet::new();
            while let Some(kept) = classes.next() {
                prop_assert!(made.insert(classes.choice(&kept).into_iter().collect::<Vec<_>>()), "made once");
            }
            let wanted = by_force(&tracker);
            prop_assert!(made.is_subset(&wanted), "{:?}", model);
            let image = |choice: &Vec<(Unit, usize)>| {
                let candidate = tracker.candidate(&choice.iter().copied().collect());
                let bytes = candidate.page(PM_BASE).map_or_else(|| vec![0; 192], |p| p[..192].to_vec());
                (bytes, format!("{:?}", candidate.files()))
            };
            // Units whose stores change no byte are not varied.
            let images = |choices: &BTreeSet<Vec<(Unit, usize)>>| choices.iter().map(image).collect::<BTreeSet<_>>();
            prop_assert_eq!(images(&made), images(&wanted), "{:?}", model);
            let (possible, exact) = classes.possible();
            let right = (possible - wanted.len() as f64).abs() < 0.5;
            prop_assert!(right || !exact && possible < wanted.len() as f64, "{} of {} under {:?}", possible, wanted.len(), model);
        }
    }

    #[test]
    fn images_of_one_key_are_the_same_bytes(log in any_log()) {
        let mut tracker = Tracker::new(&log, Persistency::Px86);
        while tracker.step() {}
        prop_assert_eq!(two_of_one_key(&tracker, &mut BTreeMap::new()), None);
    }

    /// At any two points of a log.
    #[test]
    fn images_of_one_key_are_the_same_bytes_where_files_are_cut_off(log in any_log_with_cuts(), by_word: bool) {
        let model = if by_word { Persistency::Px86 } else { Persistency::Px86Line };
        let mut images = BTreeMap::new();
        let mut tracker = Tracker::new(&log, model);
        prop_assert_eq!(two_of_one_key(&tracker, &mut images), None);
        while tracker.step() {
            prop_assert_eq!(two_of_one_key(&tracker, &mut images), None);
        }
    }
}
