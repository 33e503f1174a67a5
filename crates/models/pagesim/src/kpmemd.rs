//! kpmemd: how much hidden memory to integrate (Table 2), when, and when to give it back (§4.3).

use kernel::memory::{Memory, Relief, SECTION};
use units::{Dur, Time};

/// Its parameters.
#[derive(Clone, Copy, Debug)]
pub struct AmfSpec {
    /// Sections of DRAM: the unit of the policy.
    pub dram_sections: u64,
    /// `page_min`, in pages; `page_low` and `page_high` are 5/4 and 3/2 of it (§4.3.1: 4097, 5121, 6145).
    pub page_min: u64,
    /// Time between looks at free memory.
    pub period: Dur,
    /// Descriptors are given back when they take more than so many per mille of DRAM.
    pub reclaim_per_mille: u64,
    /// Processor time to add or remove a section besides its descriptors: the resource tree, the zone.
    pub section: Dur,
}

impl AmfSpec {
    /// `page_min`, `page_low`, `page_high`.
    pub fn marks(&self) -> [u64; 3] {
        [self.page_min, self.page_min + self.page_min / 4, self.page_min + self.page_min / 2]
    }

    /// Free pages at which kpmemd integrates memory, or fewer.
    pub fn integrates_below(&self) -> u64 {
        self.marks()[2] * 1024
    }
}

/// Table 2: DRAM's capacity times this is integrated when `free` pages are left.
pub fn integrated(free: u64, [min, low, high]: [u64; 3]) -> u64 {
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
pub struct Kpmemd {
    spec: AmfSpec,
    /// Sections integrated, counted each time.
    pub integrated: u64,
    /// Sections given back.
    pub reclaimed: u64,
    /// Times that memory was integrated.
    pub times: u64,
}

impl Kpmemd {
    /// Nothing has been integrated.
    pub fn new(spec: AmfSpec) -> Kpmemd {
        Kpmemd { spec, integrated: 0, reclaimed: 0, times: 0 }
    }

    /// Its regular look: integrates by Table 2, or gives back. Gives its processor time.
    pub fn look(&mut self, memory: &mut Memory, now: Time) -> Dur {
        match integrated(memory.free(), self.spec.marks()) {
            0 => self.give_back(memory),
            times => self.integrate(memory, times, now),
        }
    }

    fn integrate(&mut self, memory: &mut Memory, times: u64, now: Time) -> Dur {
        let (sections, time) = memory.bring_online(times * self.spec.dram_sections, now);
        self.integrated += sections;
        self.times += u64::from(sections > 0);
        self.spec.section * sections + time
    }

    /// Idle sections go when their descriptors are worth it, and only as many as leave free memory above the level at
    /// which the next look would integrate again.
    fn give_back(&mut self, memory: &mut Memory) -> Dur {
        let mut idle = memory.idle_sections();
        let each = memory.section_descriptor_bytes();
        let worth =
            self.spec.dram_sections * SECTION * kernel::memory::PAGE / 1000 * self.spec.reclaim_per_mille;
        let keep = self.spec.integrates_below() + self.spec.dram_sections * SECTION / 2;
        let spare = memory.free().saturating_sub(keep) / SECTION;
        idle.truncate(spare as usize);
        if idle.len() as u64 * each <= worth {
            return Dur::ZERO;
        }
        memory.take_offline(&idle);
        self.reclaimed += idle.len() as u64;
        self.spec.section * idle.len() as u64
    }
}

impl Relief for Kpmemd {
    fn relieve(&mut self, memory: &mut Memory, now: Time) -> Dur {
        match integrated(memory.free(), self.spec.marks()) {
            0 => Dur::ZERO,
            times => self.integrate(memory, times, now),
        }
    }
}

/// A machine without it.
pub(crate) struct NoRelief;

impl Relief for NoRelief {
    fn relieve(&mut self, _: &mut Memory, _: Time) -> Dur {
        Dur::ZERO
    }
}
