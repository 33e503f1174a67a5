//! Writes of the kernel that are torn within what a disk writes wholly or not at all. A file in persistent memory has no sectors.

use super::in_flight::Tracker;
use super::log::{Event, Kind};
use super::unit::Unit;
use std::collections::BTreeMap;

/// Bytes of a disk's sector.
pub(super) const SECTOR: u64 = 512;

/// A choice that loses of each write that `choice` tears within a sector all that is in the sector; none where nothing is torn.
pub(super) fn with_whole_sectors(
    tracker: &Tracker<'_>,
    choice: &BTreeMap<Unit, usize>,
) -> Option<BTreeMap<Unit, usize>> {
    let mut whole = choice.clone();
    // What a unit loses after it may be of another write: it takes its sector's part of that along.
    while lose_more(tracker, &mut whole) {}
    (whole != *choice).then_some(whole)
}

fn lose_more(tracker: &Tracker<'_>, choice: &mut BTreeMap<Unit, usize>) -> bool {
    let lost = |(unit, kept): (&Unit, &usize)| tracker.stores(*unit).get(*kept..).unwrap_or_default();
    let lost = choice.iter().flat_map(lost).map(|p| p.store);
    let lost: Vec<Event> = lost.filter(|store| matches!(store.kind, Kind::Written { .. })).collect();
    let mut more = false;
    for part in lost {
        let first = part.address / SECTOR * SECTOR;
        for (unit, stores) in tracker.in_flight.range(first..first + SECTOR) {
            let kept = choice.get(unit).copied().unwrap_or(stores.len());
            if let Some(before) = stores.iter().take(kept).position(|p| of_one_call(&part, &p.store)) {
                choice.insert(*unit, before);
                more = true;
            }
        }
    }
    more
}

/// Whether two stores are of one call.
fn of_one_call(a: &Event, b: &Event) -> bool {
    (a.kind, a.thread) == (b.kind, b.thread)
}
