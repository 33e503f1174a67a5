//! What a visit of memory costs by load and by working set: measured latencies, and integers between them.
//!
//! Load is the number of visits under way at once: by Little's law that is throughput times latency, and unlike
//! utilisation it still tells loads apart when the medium is saturated. Beyond the last measured load the medium gives no
//! more visits a second than there, so that latency grows as the load does.

use ::simulator::Error;
use units::Dur;

/// Visits under way at once in the measurements.
pub(crate) const LOADS: [u64; 3] = [1, 4, 16];
/// Working sets over the size of the cache in front of the medium, per mille.
pub(crate) const SETS: [u64; 3] = [750, 2000, 8000];
/// Lines of a visit in the measurements.
pub(crate) const LINES: [u64; 2] = [1, 64];

/// Latencies of a visit: by lines, by working set, by load.
type Surface = [[[Dur; LOADS.len()]; SETS.len()]; LINES.len()];

/// The cost of visits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    /// Reads, writes.
    latency: [Surface; 2],
}

impl Curve {
    /// Measures every point: `measure` gives the time of a visit that writes or not, touches so many lines, of a working
    /// set of so many per mille of the cache, with so many under way. A point that is faster than one of less load or of a
    /// smaller set has its time: runs are short, and what they draw differs.
    ///
    /// # Errors
    /// As `measure`.
    pub(crate) fn measured(
        mut measure: impl FnMut(bool, u64, u64, u64) -> Result<Dur, Error>,
    ) -> Result<Curve, Error> {
        let mut latency = [[[[Dur::ZERO; LOADS.len()]; SETS.len()]; LINES.len()]; 2];
        for (write, surface) in [false, true].into_iter().zip(&mut latency) {
            for (lines, by_set) in LINES.into_iter().zip(surface) {
                let mut smaller = [Dur::ZERO; LOADS.len()];
                for (set, by_load) in SETS.into_iter().zip(by_set) {
                    let mut least = Dur::ZERO;
                    for ((load, point), smaller) in LOADS.into_iter().zip(by_load).zip(&mut smaller) {
                        least = measure(write, lines, set, load)?.max(least).max(*smaller);
                        (*point, *smaller) = (least, least);
                    }
                }
            }
        }
        Ok(Curve { latency })
    }

    /// The time of a visit that touches `lines` lines, with so many thousandths of a visit under way at once, of a working set
    /// of so many per mille of the cache in front of the medium.
    pub fn visit(&self, load_milli: u64, set_milli: u64, lines: u64, write: bool) -> Dur {
        self.at(load_milli, set_milli).time(lines, write)
    }

    /// What visits cost now.
    pub(crate) fn at(&self, load_milli: u64, set_milli: u64) -> Visits {
        let between = |surface: &Surface| {
            surface.map(|by_set| {
                let ys = by_set.map(|by_load| over_load(&by_load, load_milli));
                within(&SETS, &ys, set_milli)
            })
        };
        Visits { latency: self.latency.each_ref().map(between) }
    }
}

/// What visits cost at one load and one working set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visits {
    /// Reads and writes of one line, of all lines.
    latency: [[u64; LINES.len()]; 2],
}

impl Visits {
    /// A visit that touches `lines` lines.
    pub(crate) fn time(&self, lines: u64, write: bool) -> Dur {
        Dur::ps(line(LINES, self.latency[usize::from(write)], lines.max(1)))
    }
}

/// Picoseconds at a load: as alone up to one visit, then along the points, and beyond the last in proportion.
fn over_load(ys: &[Dur; LOADS.len()], load_milli: u64) -> u64 {
    let xs = LOADS.map(|l| l * 1000);
    let ys = ys.map(|y| y.as_ps());
    let (most, slowest) = (xs[LOADS.len() - 1], ys[LOADS.len() - 1]);
    if load_milli > most {
        return (u128::from(slowest) * u128::from(load_milli) / u128::from(most)) as u64;
    }
    within(&xs, &ys, load_milli)
}

/// Along the points; as the first before it, and as the last behind it.
fn within<const N: usize>(xs: &[u64; N], ys: &[u64; N], x: u64) -> u64 {
    let above = xs.iter().position(|at| *at >= x);
    match above {
        Some(0) => ys[0],
        Some(n) => line([xs[n - 1], xs[n]], [ys[n - 1], ys[n]], x),
        None => ys[N - 1],
    }
}

/// The straight line through two points that does not fall, at `x`, which is not before the first.
fn line(xs: [u64; 2], ys: [u64; 2], x: u64) -> u64 {
    let rise = u128::from(ys[1].saturating_sub(ys[0])) * u128::from(x - xs[0]) / u128::from(xs[1] - xs[0]);
    ys[0] + rise as u64
}

/// How loaded memory is: visits under way, over the last window of time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    since: units::Time,
    busy: Dur,
    /// Visits under way at once, in thousandths.
    pub(crate) milli: u64,
}

impl Load {
    /// Visits have taken `time` together.
    pub(crate) fn add(&mut self, time: Dur) {
        self.busy += time;
    }

    /// Whether a window has passed, and the load is another one now.
    pub(crate) fn pass(&mut self, now: units::Time, window: Dur) -> bool {
        let passed = now.since(self.since);
        if passed < window {
            return false;
        }
        let milli = u128::from(self.busy.as_ps()) * 1000 / u128::from(passed.as_ps().max(1));
        *self = Load { since: now, busy: Dur::ZERO, milli: milli as u64 };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::Time;

    /// A medium whose hits take 100 ns and whose misses 1 us, four of them at once.
    fn medium() -> Curve {
        let measure = |write: bool, lines: u64, set: u64, load: u64| {
            let misses = 1000 - 1_000_000 / set.max(1000);
            let alone = 100 + misses + if write { 50 } else { 0 } + lines * 2;
            Ok(Dur::ns(alone * load.max(4) / 4))
        };
        Curve::measured(measure).unwrap()
    }

    #[test]
    fn what_was_measured_is_what_is_told() {
        let visits = medium().at(1000, 750);
        assert_eq!([visits.time(1, false), visits.time(64, false)], [Dur::ns(102), Dur::ns(228)]);
        assert_eq!(visits.time(1, true), Dur::ns(152));
        assert_eq!(medium().at(16_000, 2000).time(1, false), Dur::ns(602 * 4));
        assert_eq!(medium().at(0, 0), visits, "nobody else is there");
        assert_eq!(medium().at(24_000, 750).time(1, false), Dur::ns(102 * 6), "beyond the last point");
    }

    proptest! {
        #[test]
        fn more_load_and_a_larger_set_are_never_faster(
            load in 0u64..100_000, more in 0u64..10_000, set in 0u64..40_000, larger in 0u64..9000,
            lines in 1u64..=64, write: bool, noise in proptest::collection::vec(1u64..10_000, 36)
        ) {
            let mut noise = noise.into_iter();
            let curve = Curve::measured(|_, _, _, _| Ok(Dur::ns(noise.next().unwrap()))).unwrap();
            let at = |load, set| curve.at(load, set).time(lines, write);
            prop_assert!(at(load, set) <= at(load + more, set));
            prop_assert!(at(load, set) <= at(load, set + larger));
        }
    }

    #[test]
    fn load_is_the_time_of_visits_over_time() {
        let mut load = Load::default();
        load.add(Dur::ns(3000));
        assert!(!load.pass(Time::ZERO + Dur::ns(999), Dur::ns(1000)));
        assert!(load.pass(Time::ZERO + Dur::ns(2000), Dur::ns(1000)));
        assert_eq!(load.milli, 1500);
        assert!(load.pass(Time::ZERO + Dur::ns(3000), Dur::ns(1000)) && load.milli == 0);
    }
}
