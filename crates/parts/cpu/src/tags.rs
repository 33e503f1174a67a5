//! Which line is in which place of a cache.

use crate::CacheShape;
use protocol::Line;
use std::ops::Range;
use units::Places;

/// A place: its set's first one, and the way. Places of a set lie side by side.
pub(crate) type Slot = usize;

/// The tags of a cache, which are its lines' numbers.
#[derive(Clone)]
pub(crate) struct Tags {
    shape: CacheShape,
    places: Places,
}

impl Tags {
    pub(crate) fn new(shape: CacheShape) -> Tags {
        Tags { shape, places: Places::new(shape.lines()) }
    }

    /// How many places there are.
    pub(crate) fn count(&self) -> usize {
        self.places.count()
    }

    /// The places in which a line may be.
    #[inline]
    pub(crate) fn set(&self, line: Line) -> Range<Slot> {
        let first = self.shape.set_of(line) * self.shape.ways;
        first..first + self.shape.ways
    }

    /// Where a line is.
    #[inline]
    pub(crate) fn find(&self, line: Line) -> Option<Slot> {
        self.places.find(line.0, self.set(line))
    }

    /// Whether a place is a line's.
    #[inline]
    pub(crate) fn is_at(&self, slot: Slot, line: Line) -> bool {
        self.places.is_at(slot, line.0)
    }

    /// The line in a place, none when it is free.
    #[inline]
    pub(crate) fn line(&self, slot: Slot) -> Option<Line> {
        self.places.number(slot).map(Line)
    }

    /// Puts a line into a place of its set.
    #[inline]
    pub(crate) fn put(&mut self, slot: Slot, line: Line) {
        debug_assert!(self.set(line).contains(&slot), "a line is in its set");
        self.places.put(slot, line.0);
    }

    #[inline]
    pub(crate) fn clear(&mut self, slot: Slot) {
        self.places.free(slot);
    }
}
