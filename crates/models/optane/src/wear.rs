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
    /// Place and writes to it.
    counts: [(u64, u64); COUNTED],
    /// Writes of this period.
    period: u64,
}

impl Wear {
    pub(crate) fn new(spec: WearSpec) -> Wear {
        Wear { spec, counts: [(u64::MAX, 0); COUNTED], period: 0 }
    }

    /// A line is written; how long the DIMM stands still then.
    pub(crate) fn written(&mut self, line: Line) -> Dur {
        self.period += 1;
        if self.period > self.spec.writes + self.spec.writes / 2 {
            (self.counts, self.period) = ([(u64::MAX, 0); COUNTED], 1);
        }
        let place = line.0 / PLACE_LINES;
        let known = self.counts.iter().position(|(p, _)| *p == place);
        let Some(index) = known else {
            self.count_anew(place);
            return Dur::ZERO;
        };
        let count = &mut self.counts[index].1;
        *count += 1;
        if *count < self.spec.writes {
            return Dur::ZERO;
        }
        (self.counts, self.period) = ([(u64::MAX, 0); COUNTED], 0);
        self.spec.stall
    }

    /// A place that is not counted takes the place of the least written one, which loses a count (Misra and Gries, 1982).
    fn count_anew(&mut self, place: u64) {
        let Some(least) = self.counts.iter_mut().min_by_key(|(_, count)| *count) else { return };
        match least.1 {
            0 => *least = (place, 1),
            _ => least.1 -= 1,
        }
    }
}
