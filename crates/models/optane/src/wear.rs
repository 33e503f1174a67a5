//! Wear levelling: where writes go on hitting one place, its contents are moved, and the DIMM stands still meanwhile.

use crate::WearSpec;
use protocol::Line;
use units::Dur;

/// Lines of a place that is moved as a whole: 64 KiB.
const PLACE_LINES: u64 = 1 << 10;
/// Places that are counted at once; a hot one is never pushed out by less hot ones.
const COUNTED: usize = 16;

/// Counts writes by place, over periods of half as many writes more than it takes to move one: two places that share the
/// writes equally are never moved.
#[derive(Clone, Debug)]
pub(crate) struct Wear {
    spec: WearSpec,
    places: [u64; COUNTED],
    /// Writes to each.
    counts: [u64; COUNTED],
    /// Writes of this period.
    period: u64,
}

impl Wear {
    pub(crate) fn new(spec: WearSpec) -> Wear {
        Wear { spec, places: [u64::MAX; COUNTED], counts: [0; COUNTED], period: 0 }
    }

    /// A line is written; how long the DIMM stands still then.
    pub(crate) fn written(&mut self, line: Line) -> Dur {
        self.period += 1;
        if self.period > self.spec.writes + self.spec.writes / 2 {
            self.begin_anew();
            self.period = 1;
        }
        let place = line.0 / PLACE_LINES;
        let Some(index) = self.places.iter().position(|counted| *counted == place) else {
            self.count_anew(place);
            return Dur::ZERO;
        };
        self.counts[index] += 1;
        if self.counts[index] < self.spec.writes {
            return Dur::ZERO;
        }
        self.begin_anew();
        self.spec.stall
    }

    fn begin_anew(&mut self) {
        *self = Wear::new(self.spec);
    }

    /// A place that is not counted takes the place of the least written one, which loses a count (Misra and Gries, 1982).
    fn count_anew(&mut self, place: u64) {
        // One after the other with no jump: nearly every write that is no repetition comes here.
        let less = |least, index| if self.counts[index] < self.counts[least] { index } else { least };
        let least = (1..COUNTED).fold(0, less);
        match self.counts[least] {
            0 => (self.places[least], self.counts[least]) = (place, 1),
            _ => self.counts[least] -= 1,
        }
    }
}
