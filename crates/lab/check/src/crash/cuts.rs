//! What changes in flight cut off files: bytes that are no more, and which bytes of what was stored are there.

use super::grouped::PendingChange;
use super::pages::Pages;
use super::unit::Unit;
use protocol::{Mask, PAGE_BYTES, mask_of};

/// Ranges that changes in flight cut off files, in the order of these changes.
pub(super) struct Cuts(Vec<Cut>);

struct Cut {
    /// The index of the change in the log.
    event: usize,
    from: u64,
    to: u64,
    /// The change is there.
    there: bool,
}

impl Cut {
    /// Its bytes of a unit's line.
    fn mask(&self, unit: Unit) -> Mask {
        let line = unit / 64 * 64;
        let (first, last) = (self.from.max(line), self.to.min(line + 64));
        if first < last { mask_of((first - line) as usize, (last - first) as usize) } else { 0 }
    }
}

impl Cuts {
    /// Those of changes in flight of which the first so many are there.
    pub(super) fn new(changes: &[PendingChange], there: usize) -> Cuts {
        let cuts = changes.iter().enumerate().filter_map(|(i, in_flight)| {
            let (from, to) = in_flight.change.cuts?;
            Some(Cut { event: in_flight.event, from, to, there: i < there })
        });
        Cuts(cuts.collect())
    }

    /// Whether nothing is cut off.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// From where to where bytes are no more.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().filter(|cut| cut.there).map(|cut| (cut.from, cut.to))
    }

    /// What was durable and is cut off is no more.
    pub(super) fn clear(&self, persisted: &Pages, changed: &mut Pages) {
        for (from, to) in self.ranges() {
            let inside = |p: &u64| *p < to && p + PAGE_BYTES > from;
            for page in persisted.addresses().filter(inside).collect::<Vec<_>>() {
                changed.copy_page(persisted, page);
            }
            changed.clear(from, to);
        }
    }

    /// Whether a cut, there or not, has bytes of a unit's line.
    pub(super) fn touch(&self, unit: Unit) -> bool {
        self.0.iter().any(|cut| cut.mask(unit) != 0)
    }

    /// The bytes of a unit's line that were durable and are no more.
    pub(super) fn gone(&self, unit: Unit) -> Mask {
        self.0.iter().filter(|cut| cut.there).fold(0, |mask, cut| mask | cut.mask(unit))
    }

    /// The bytes of the unit's line that a store reaches: of what is cut off, only what was stored since; of what is
    /// not cut off yet, only what was stored before.
    pub(super) fn reached(&self, unit: Unit, event: usize) -> Mask {
        let lost = self.0.iter().filter(|cut| (event < cut.event) == cut.there);
        lost.fold(Mask::MAX, |mask, cut| mask & !cut.mask(unit))
    }
}
