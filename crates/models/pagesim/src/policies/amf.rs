//! Adaptive memory fusion (AMF, HPCA 2018, §4): persistent memory is detectable but hidden at boot. kpmemd integrates it
//! before kswapd swaps: how much (Table 2), when, and when to give it back (§4.3).

use crate::memory::{MemoryManager, PAGE, SECTION};
use crate::params::MemoryParameters;
use crate::policy::{Entry, Layout, Platform, Policy, needs_pm};
use crate::spec::{SECTIONS_OF_GIB, at_least_a_microsecond};
use params::{Parameters, Settings, StatSink, Statistics, ns};
use units::{Dur, Time};

pub(super) const ENTRY: Entry = Entry {
    word: "amf",
    about: "hidden until wanted (A6)",
    params: AmfParameters::TABLE,
    ignores: &[],
    statistics: Integrated::TABLE,
    check: |s| {
        needs_pm(s)?;
        at_least_a_microsecond("fusion.period_ns", AmfParameters::from_settings(s).period_ns)
    },
    new: |s| Box::new(Kpmemd::new(AmfSpec::of(s))),
};

/// Parameters.
#[derive(Parameters)]
#[parameters(prefix = "fusion")]
struct AmfParameters {
    /// page_min of table 2's policy in pages; 0: in proportion to DRAM
    #[param(default = "0", source = "paper: AMF §4.3.1: 4097 pages with 64 GiB of DRAM", min = 0, max = 1 << 24)]
    page_min: u64,
    /// time between kpmemd's looks at free memory
    #[param(default = "100000000", source = "open 10000000..1000000000: kpmemd's period is not published", range = ns::LONG)]
    period_ns: Dur,
    /// PM is given back when its descriptors take more than so much of DRAM
    #[param(default = "30", source = "paper: AMF §4.3.2: 3 %", min = 1, max = 1000)]
    reclaim_per_mille: u64,
    /// time to add or remove a section, its descriptors aside
    #[param(default = "200000", source = "open 100000..400000: resource tree, zone and node of a section, half to twice", range = ns::LONG)]
    section_ns: Dur,
}

/// What kpmemd did.
#[derive(Clone, Copy, Debug, Default, Statistics)]
#[statistics(prefix = "fusion")]
struct Integrated {
    /// sections of 128 MiB that kpmemd integrated
    sections_integrated: u64,
    /// sections that it gave back
    sections_reclaimed: u64,
    /// times that it integrated memory
    integrations: u64,
}

/// The policy.
#[derive(Clone, Copy, Debug)]
struct AmfSpec {
    /// Sections of DRAM: the unit of the policy.
    dram_sections: u64,
    /// `page_min`, in pages; `page_low` and `page_high` are 5/4 and 3/2 of it (§4.3.1: 4097, 5121, 6145).
    page_min: u64,
    /// Time between looks at free memory.
    period: Dur,
    /// Descriptors are given back when they take more than so many per mille of DRAM.
    reclaim_per_mille: u64,
    /// Processor time to add or remove a section besides its descriptors: the resource tree, the zone.
    section: Dur,
}

impl AmfSpec {
    fn of(s: &Settings) -> AmfSpec {
        let dram = MemoryParameters::from_settings(s).dram_gib;
        let own = AmfParameters::from_settings(s);
        let page_min = match own.page_min {
            0 => (4097 * dram / 64).max(1),
            set => set,
        };
        AmfSpec {
            dram_sections: dram * SECTIONS_OF_GIB,
            page_min,
            period: own.period_ns,
            reclaim_per_mille: own.reclaim_per_mille,
            section: own.section_ns,
        }
    }

    /// `page_min`, `page_low`, `page_high`.
    fn marks(&self) -> [u64; 3] {
        [self.page_min, self.page_min + self.page_min / 4, self.page_min + self.page_min / 2]
    }

    /// Free pages at which kpmemd integrates memory, or fewer.
    fn integrates_below(&self) -> u64 {
        self.marks()[2] * 1024
    }
}

/// Table 2: DRAM's capacity times this is integrated when `free` pages are left.
fn integrated(free: u64, [min, low, high]: [u64; 3]) -> u64 {
    match free {
        f if f > high * 1024 => 0,
        f if f > low * 1024 => 1,
        f if f > min * 1024 => 2,
        f if f > high => 3,
        // Below page_low the table ends: kswapd and kpmemd work together.
        _ => 5,
    }
}

/// The kernel thread.
#[derive(Debug)]
struct Kpmemd {
    spec: AmfSpec,
    done: Integrated,
}

impl Kpmemd {
    fn new(spec: AmfSpec) -> Kpmemd {
        Kpmemd { spec, done: Integrated::default() }
    }

    fn integrate(&mut self, memory: &mut MemoryManager, times: u64, now: Time) -> Dur {
        let wanted = times * self.spec.dram_sections;
        let (sections, time) = memory.bring_online(wanted, now, self);
        self.done.sections_integrated += sections;
        self.done.integrations += u64::from(sections > 0);
        self.spec.section * sections + time
    }

    /// Idle sections go when their descriptors are worth it, and only as many as leave free memory above the level at
    /// which the next look would integrate again.
    fn give_back(&mut self, memory: &mut MemoryManager, now: Time) -> Dur {
        let mut idle = memory.idle_sections();
        let each = memory.section_descriptor_bytes();
        let worth = self.spec.dram_sections * SECTION * PAGE / 1000 * self.spec.reclaim_per_mille;
        let keep = self.spec.integrates_below() + self.spec.dram_sections * SECTION / 2;
        let spare = memory.free().saturating_sub(keep) / SECTION;
        idle.truncate(spare as usize);
        if idle.len() as u64 * each <= worth {
            return Dur::ZERO;
        }
        memory.take_offline(&idle, now);
        self.done.sections_reclaimed += idle.len() as u64;
        self.spec.section * idle.len() as u64
    }
}

impl Policy for Kpmemd {
    fn boot(&self, platform: &Platform) -> Layout {
        Layout::of([platform.dram_zone()].into_iter().chain(platform.pm_zones(false)), platform)
    }

    fn before_kswapd(&mut self, memory: &mut MemoryManager, now: Time) -> Dur {
        match integrated(memory.free(), self.spec.marks()) {
            0 => Dur::ZERO,
            times => self.integrate(memory, times, now),
        }
    }

    fn watches_every(&self) -> Option<Dur> {
        Some(self.spec.period)
    }

    /// Integrates by Table 2, or gives back.
    fn watch(&mut self, memory: &mut MemoryManager, now: Time) -> Dur {
        match integrated(memory.free(), self.spec.marks()) {
            0 => self.give_back(memory, now),
            times => self.integrate(memory, times, now),
        }
    }

    fn statistics(&self, _: &MemoryManager, sink: &mut dyn StatSink) {
        self.done.hand_up(sink);
    }

    fn level(&self) -> Option<(&'static str, u64)> {
        Some(("integrates_below_gib", self.spec.integrates_below() * PAGE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{program, ran_under, spec, sweep};
    use params::Value;
    use protocol::pages::PageStep;

    #[test]
    fn table_2_and_table_4_agree_for_64_gib_of_dram() {
        let marks = [4097, 5121, 6145];
        let gib = |g: u64| g << 18;
        assert_eq!(integrated(gib(25), marks), 0);
        for (free, amount) in [(gib(24), 64), (gib(20), 128), (gib(16), 192), (6145, 320), (5121, 320)] {
            assert_eq!(integrated(free, marks) * 64, amount, "{free} pages free");
        }
        assert_eq!([6145 * 1024 + 1, 6145 * 1024].map(|free| integrated(free, marks)), [0, 1]);
        assert_eq!([6146, 6145].map(|free| integrated(free, marks)), [3, 5]);
    }

    #[test]
    fn amf_integrates_before_kswapd_swaps_and_gives_back_when_idle() {
        let steps = |work: u64| {
            let mut steps = vec![PageStep::Map { area: 0, pages: 150_000 }, sweep(0, 150_000, true)];
            steps.push(PageStep::Unmap { area: 0 });
            steps.push(PageStep::Map { area: 1, pages: 10 });
            for _ in 0..work {
                steps.push(sweep(1, 10, false));
            }
            steps
        };
        // Two sections of DRAM: 3 per mille is less than a section's descriptors.
        let small = AmfSpec {
            dram_sections: 2,
            page_min: 8,
            period: Dur::ns(1_000_000),
            reclaim_per_mille: 3,
            section: Dur::ns(1_000_000),
        };
        let fused = ran_under(Box::new(Kpmemd::new(small)), spec(2, 8, false), program(steps(20_000)));
        let count = |name: &str| match fused.totals().policy.get(name) {
            Some(Value::Count(n)) => *n,
            other => panic!("{name}: {other:?}"),
        };
        let [integrated, reclaimed, times] =
            Integrated::TABLE.iter().map(|s| count(s.name)).collect::<Vec<_>>()[..]
        else {
            panic!()
        };
        assert!(integrated >= 3 && reclaimed > 0, "{integrated} {reclaimed} {:?}", fused.totals());
        assert!(times < 10, "it does not go back and forth");
        let plain = (super::super::unified::ENTRY.new)(&Settings::defaults([]));
        let without = ran_under(plain, spec(2, 0, true), program(steps(10)));
        assert!(without.memory().swap_bytes().1 > 4 * fused.memory().swap_bytes().1);
    }
}
