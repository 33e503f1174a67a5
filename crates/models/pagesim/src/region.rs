//! A recording's region: of a run with one, its parts alone count. Highest values, what a policy counts, and what is seen over
//! time are of all that ran.

use crate::memory::Counts;
use units::Dur;

/// What has passed on a machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passed {
    pub(crate) time: Dur,
    pub(crate) visits: u64,
    pub(crate) user: Dur,
    pub(crate) system: Dur,
    /// What of it threads had that take no core.
    pub(crate) threads: Dur,
    pub(crate) counts: Counts,
    /// Pages read from the swap device, and written to it.
    pub(crate) swap: (u64, u64),
    /// Hits and misses of a cache in front of persistent memory.
    pub(crate) cache: (u64, u64),
    pub(crate) joules: f64,
}

impl Passed {
    fn add(&mut self, from: &Passed, to: &Passed) {
        self.time += to.time - from.time;
        self.visits += to.visits - from.visits;
        self.user += to.user - from.user;
        self.system += to.system - from.system;
        self.threads += to.threads - from.threads;
        self.counts.add(&from.counts, &to.counts);
        self.swap.0 += to.swap.0 - from.swap.0;
        self.swap.1 += to.swap.1 - from.swap.1;
        self.cache.0 += to.cache.0 - from.cache.0;
        self.cache.1 += to.cache.1 - from.cache.1;
        self.joules += to.joules - from.joules;
    }
}

/// The parts so far.
#[derive(Debug, Default)]
pub(crate) struct Region {
    /// What had passed when the part began that is open.
    open: Option<Passed>,
    ended: Option<Passed>,
}

impl Region {
    /// A part begins or ends, `passed` being what has passed by then. One that is open, or is not, stays so.
    pub(crate) fn bound(&mut self, opens: bool, passed: &Passed) {
        let ended = self.ended.get_or_insert_default();
        if let Some(from) = self.open.take_if(|_| !opens) {
            ended.add(&from, passed);
        } else if opens && self.open.is_none() {
            self.open = Some(*passed);
        }
    }

    /// What counts of a run in which `passed` has passed: its parts, where it has any.
    pub(crate) fn counted(&mut self, passed: &Passed) -> Passed {
        if self.open.is_some() {
            self.bound(false, passed);
        }
        self.ended.unwrap_or(*passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Passed {
        Passed { time: Dur::ns(ns), visits: ns, joules: ns as f64, ..Passed::default() }
    }

    #[test]
    fn parts_are_added_and_what_lies_between_is_not() {
        let counted = |bounds: &[(u64, bool)]| {
            let mut region = Region::default();
            bounds.iter().for_each(|(ns, opens)| region.bound(*opens, &at(*ns)));
            let counted = region.counted(&at(100));
            assert_eq!(counted.time, Dur::ns(counted.visits));
            counted.visits
        };
        assert_eq!(counted(&[]), 100, "without a region all counts");
        assert_eq!(counted(&[(10, true), (30, false)]), 20);
        assert_eq!(counted(&[(10, true), (30, false), (40, true), (45, false)]), 25);
        assert_eq!(counted(&[(10, true), (20, true), (30, false), (60, false)]), 20, "it is open or not");
        assert_eq!(counted(&[(90, true)]), 10, "an open part ends with the run");
        assert_eq!(counted(&[(50, false)]), 0);
    }
}
