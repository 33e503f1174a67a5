//! Two tiers: reclaim demotes, hint faults promote (`numa_balancing` mode 2 with demotion, Linux 5.18 and later).
//!
//! Every period hints go into the next `os.scan_mib` of mapped memory. A page of slower memory that is visited within the
//! threshold of its hint is hot, and moves to DRAM while the period's budget lasts; the threshold follows how many
//! candidates there were against the budget (110 % and 90 % of it). Source: `kernel/sched/fair.c`, `mm/vmscan.c`, by
//! what they do. A scan is the work of the program that runs then, and rests for 32 times as long as it took. Not modelled: a limit and a threshold for each node.

use crate::memory::{Medium, MemoryManager, PAGE, Zone};
use crate::policy::{Entry, Hint, Policy, needs_pm};
use crate::spec::at_least_a_microsecond;
use params::{Parameters, Settings, StatSink, Statistics, ns};
use units::{Dur, Time};

pub(super) const ENTRY: Entry = Entry {
    word: "tiering",
    about: "hotplug with promotion and demotion",
    params: TieringParameters::TABLE,
    ignores: &["os.describe_ns"],
    statistics: Moves::TABLE,
    check: |s| {
        needs_pm(s)?;
        at_least_a_microsecond("os.scan_period_ns", TieringParameters::from_settings(s).scan_period_ns)
    },
    new: |s| Box::new(NumaBalancing::of(s)),
};

/// `numa_balancing`'s first threshold: a second.
const REFERENCE: Dur = Dur::ns(1_000_000_000);

/// Parameters.
#[derive(Parameters)]
#[parameters(prefix = "os")]
struct TieringParameters {
    /// memory that gets hints in a period, in MiB (tiering)
    #[param(default = "256", source = "datasheet: Linux, numa_balancing_scan_size", min = 128, max = 65536)]
    scan_mib: u64,
    /// time between scans, or 32 times a scan's own time where that is longer (tiering)
    #[param(default = "1000000000", source = "datasheet: Linux, numa_balancing_scan_period_min", range = ns::LONG)]
    scan_period_ns: Dur,
    /// memory promoted a period, at most, in MiB (tiering)
    #[param(default = "65536", source = "datasheet: Linux, numa_balancing_promote_rate_limit", min = 1, max = 1 << 20)]
    promote_mib: u64,
}

/// Moves between the tiers.
#[derive(Statistics)]
#[statistics(prefix = "os")]
struct Moves {
    /// page faults taken to learn of a visit (tiering)
    hint_faults: u64,
    /// pages that reclaim moved to slower memory
    demoted_pages: u64,
    /// pages moved to faster memory
    promoted_pages: u64,
}

struct NumaBalancing {
    /// Time between scans.
    period: Dur,
    /// Bytes of mapped memory that a scan covers.
    scan: u64,
    /// Pages promoted in a period, at most.
    rate: u64,
    /// Where the next scan begins.
    cursor: u32,
    /// A page is hot when it is visited so soon after its hint was set.
    threshold: Dur,
    /// Pages that may still be moved in this period.
    budget: u64,
    /// Hot pages seen in this period.
    candidates: u64,
}

impl NumaBalancing {
    fn of(s: &Settings) -> NumaBalancing {
        let own = TieringParameters::from_settings(s);
        NumaBalancing {
            period: own.scan_period_ns,
            scan: own.scan_mib << 20,
            rate: (own.promote_mib << 20) / PAGE,
            cursor: 0,
            threshold: REFERENCE,
            budget: 0,
            candidates: 0,
        }
    }

    /// The threshold falls when more pages were hot than may move, and rises when fewer were.
    fn adapt(&mut self) {
        let (reference, now) = (REFERENCE.as_ps(), self.threshold.as_ps());
        let next = if self.candidates * 10 > self.rate * 11 {
            now.saturating_sub(reference / 8)
        } else if self.candidates * 10 < self.rate * 9 {
            now + reference / 8
        } else {
            now
        };
        self.threshold = Dur::ps(next.clamp(reference / 8, 2 * reference));
        (self.budget, self.candidates) = (self.rate, 0);
    }
}

impl Policy for NumaBalancing {
    /// A tier keeps room for what comes up.
    fn kswapd_target(&self, zone: &Zone) -> u64 {
        if zone.medium == Medium::Dram { zone.marks.promo } else { zone.marks.high }
    }

    fn victims_go_to(&self, zones: &[Zone], from: usize) -> Option<usize> {
        if zones[from].medium == Medium::Pm {
            return None;
        }
        zones.iter().position(|z| z.medium == Medium::Pm && z.free() > z.marks.high)
    }

    fn scans_every(&self) -> Option<Dur> {
        Some(self.period)
    }

    fn scan(&mut self, memory: &mut MemoryManager, now: Time) -> Dur {
        self.adapt();
        let (cursor, time) = memory.set_hints(self.cursor, self.scan, now);
        self.cursor = cursor;
        time
    }

    fn on_hint(&mut self, memory: &mut MemoryManager, hint: Hint, now: Time) -> Dur {
        if memory.medium(hint.frame) == Medium::Dram {
            return Dur::ZERO;
        }
        let z = &memory.zones()[0];
        // Plenty of room: whatever is visited may come (`pgdat_free_space_enough`).
        let plenty = z.free() > z.marks.promo + (z.managed / 16).max(1 << 18);
        let hot = hint.since <= self.threshold;
        self.candidates += u64::from(hot);
        if z.free() <= z.marks.high {
            memory.wake_kswapd(0);
            return Dur::ZERO;
        }
        if !plenty && (!hot || self.budget == 0) {
            return Dur::ZERO;
        }
        let Some(time) = memory.promote(hint, 0, now) else { return Dur::ZERO };
        self.budget = self.budget.saturating_sub(1);
        time
    }

    fn statistics(&self, memory: &MemoryManager, sink: &mut dyn StatSink) {
        let c = memory.counts;
        Moves { hint_faults: c.hints, demoted_pages: c.demoted, promoted_pages: c.promoted }.hand_up(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_falls_when_too_many_pages_are_hot() {
        let mut p = NumaBalancing {
            period: Dur::ns(1),
            scan: 0,
            rate: 100,
            cursor: 0,
            threshold: REFERENCE,
            budget: 0,
            candidates: 111,
        };
        p.adapt();
        assert_eq!((p.threshold, p.budget, p.candidates), (Dur::ns(875_000_000), 100, 0));
        p.candidates = 100;
        p.adapt();
        assert_eq!(p.threshold, Dur::ns(875_000_000));
        p.adapt();
        assert_eq!(p.threshold, REFERENCE, "nothing was hot");
    }
}
