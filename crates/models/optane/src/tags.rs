//! Which line is in which place of a direct-mapped cache.

use memory::ddr4::Interleave;
use protocol::Line;

/// A place each: nothing, or a line's number plus one, and below it a bit that says whether it has changed.
#[derive(Clone, Debug)]
pub(crate) struct Tags {
    places: Vec<u64>,
    interleave: Interleave,
}

impl Tags {
    /// Nothing in so many places.
    pub(crate) fn new(places: u64, interleave: Interleave) -> Tags {
        Tags { places: vec![0; places as usize], interleave }
    }

    /// Where a line is, if it is there: a DIMM's own lines go round over the places.
    pub(crate) fn place(&self, line: Line) -> Line {
        Line(self.interleave.own(line) % self.places.len() as u64)
    }

    fn of(&mut self, line: Line) -> &mut u64 {
        let place = self.place(line).0 as usize;
        &mut self.places[place]
    }

    pub(crate) fn holds(&self, line: Line) -> bool {
        self.places[self.place(line).0 as usize] >> 1 == line.0 + 1
    }

    /// A line takes its place; gives the one that was there, where it has changed.
    pub(crate) fn replace(&mut self, line: Line) -> Option<Line> {
        let old = std::mem::replace(self.of(line), (line.0 + 1) << 1);
        (old & 1 == 1).then(|| Line((old >> 1) - 1))
    }

    /// A line changes; false where it is not there.
    pub(crate) fn change(&mut self, line: Line) -> bool {
        let held = self.holds(line);
        *self.of(line) |= u64::from(held);
        held
    }
}
