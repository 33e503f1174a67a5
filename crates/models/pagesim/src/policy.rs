//! What a policy of page placement is: the decisions that differ from one design to the next, and nothing else.
//!
//! A policy has no clock and no queue: time is an argument, and whoever calls decides what happens when. It acts through
//! [`Memory`], which keeps the books; what it does not decide has an answer here (allocate from the first zone above its low
//! mark, reclaim up to the high one, victims to the swap device).

use crate::memory::{Medium, MemoryManager, PageNumber, SECTION, SwapSpec, Zone, ZoneSpec};
use crate::params::{Cost, MemoryParameters};
use crate::spec::{CacheSpec, MediumSpec};
use params::{Param, Parameters, Settings, StatSink, StatisticInfo, Words};
use units::{Dur, Time};

/// What a machine has that a policy can lay out.
#[derive(Clone, Copy, Debug)]
pub struct Platform {
    /// Sections of DRAM.
    pub dram: u64,
    /// Sections of persistent memory, without those for device files.
    pub pm: u64,
    /// Sections of a zone of persistent memory, at most.
    pub node: u64,
    /// Cores.
    pub cores: usize,
    /// The swap device that the description names.
    pub swap: Option<SwapSpec>,
    /// Latency of a read and of a write of persistent memory, nothing overlapping.
    pub pm_latency: [Dur; 2],
    /// Persistent memory as programs meet it.
    pub pm_medium: MediumSpec,
    /// Time of a page on the bus of persistent memory.
    pub pm_page: Dur,
    /// All bytes of persistent memory.
    pub pm_bytes: u64,
}

impl Platform {
    /// All DRAM, known from boot on.
    pub fn dram_zone(&self) -> ZoneSpec {
        ZoneSpec { medium: Medium::Dram, sections: self.dram, online: true }
    }

    /// Persistent memory in zones of the nodes' size.
    pub fn pm_zones(&self, online: bool) -> impl Iterator<Item = ZoneSpec> {
        let node = self.node.max(1);
        let rest = self.pm % node;
        let whole = std::iter::repeat_n(node, (self.pm / node) as usize);
        let sizes = whole.chain((rest > 0).then_some(rest));
        sizes.map(move |sections| ZoneSpec { medium: Medium::Pm, sections, online })
    }

    /// Pages of DRAM.
    pub fn dram_pages(&self) -> u64 {
        self.dram * SECTION
    }
}

/// Memory at boot, as a policy wants it.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Zones, the allocator's first choice first; what is not online is hidden.
    pub zones: Vec<ZoneSpec>,
    /// The swap device.
    pub swap: Option<SwapSpec>,
    /// A cache in front of persistent memory, in place of what the medium has.
    pub front: Option<CacheSpec>,
    /// Bytes of persistent memory that are the swap device.
    pub block_bytes: u64,
}

impl Layout {
    /// These zones, the description's swap device, and no cache.
    pub fn of(zones: impl IntoIterator<Item = ZoneSpec>, platform: &Platform) -> Layout {
        Layout { zones: zones.into_iter().collect(), swap: platform.swap, front: None, block_bytes: 0 }
    }
}

/// A visit that was wanted to be known of.
#[derive(Clone, Copy, Debug)]
pub struct Hint {
    /// The page.
    pub page: PageNumber,
    /// Where it is.
    pub frame: u64,
    /// Time since the hint was set.
    pub since: Dur,
}

/// Decisions about pages.
pub trait Policy {
    /// Which zones there are at boot, and which of them are hidden. DRAM then persistent memory, all of it known,
    /// unless a policy says otherwise.
    fn boot(&self, platform: &Platform) -> Layout {
        Layout::of([platform.dram_zone()].into_iter().chain(platform.pm_zones(true)), platform)
    }

    /// On a fault of `process`: the zone that is tried first. Where that is below its low mark, the first one above it serves.
    fn first_choice(&mut self, _process: u32, _zones: &[Zone]) -> usize {
        0
    }

    /// No zone is above its low mark, and kswapd is about to be woken. Gives processor time that was spent; memory may have
    /// been added.
    fn before_kswapd(&mut self, _memory: &mut MemoryManager, _now: Time) -> Dur {
        Dur::ZERO
    }

    /// Free pages of a zone at which its kswapd sleeps.
    fn kswapd_target(&self, zone: &Zone) -> u64 {
        zone.marks.high
    }

    /// Where reclaim moves its victims of zone `from`; none: to the swap device.
    fn victims_go_to(&self, _zones: &[Zone], _from: usize) -> Option<usize> {
        None
    }

    /// Time between looks of a kernel thread of the policy at free memory, the first one at boot.
    fn watches_every(&self) -> Option<Dur> {
        None
    }

    /// Such a look. Gives its processor time.
    fn watch(&mut self, _memory: &mut MemoryManager, _now: Time) -> Dur {
        Dur::ZERO
    }

    /// Time between scans of mapped memory, the first one a period after boot; they take 3 % of the time at most, however short it is.
    fn scans_every(&self) -> Option<Dur> {
        None
    }

    /// Such a scan: hints are set here. Gives its processor time, which is that of the program that runs next.
    fn scan(&mut self, _memory: &mut MemoryManager, _now: Time) -> Dur {
        Dur::ZERO
    }

    /// A page with a hint was visited. Gives the kernel's time.
    fn on_hint(&mut self, _memory: &mut MemoryManager, _hint: Hint, _now: Time) -> Dur {
        Dur::ZERO
    }

    /// Reports each statistic that its entry declares.
    fn statistics(&self, _memory: &MemoryManager, _sink: &mut dyn StatSink) {}

    /// A level of free memory that figures show beside the watermarks: column, bytes.
    fn level(&self) -> Option<(&'static str, u64)> {
        None
    }
}

/// A policy, as it declares itself.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its word in descriptions.
    pub word: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its own parameters.
    pub params: &'static [Param],
    /// What begins so among the parameters that all machines share does nothing with it.
    pub ignores: &'static [&'static str],
    /// Its own statistics.
    pub statistics: &'static [StatisticInfo],
    /// Whether the sizes make sense for it: the key that does not, and what is accepted.
    pub check: fn(&Settings) -> Result<(), String>,
    /// From its parameters.
    pub new: fn(&Settings) -> Box<dyn Policy>,
}

/// Persistent memory is wanted.
///
/// # Errors
/// When there is none.
pub(crate) fn needs_pm(s: &Settings) -> Result<(), String> {
    if MemoryParameters::from_settings(s).pm_gib > 0 {
        return Ok(());
    }
    Err(format!(
        "fusion.pm_gib = 0: design {} needs persistent memory; give 1 to 1024",
        s.text("fusion.design")
    ))
}

/// Persistent memory is a medium of its own, of which the policy itself makes a cache or a device.
///
/// # Errors
/// When it is another system.
pub(crate) fn needs_plain_pm(s: &Settings) -> Result<(), String> {
    needs_pm(s)?;
    let MemoryParameters { hidden, cost, .. } = MemoryParameters::from_settings(s);
    let (word, other) = (s.text("fusion.design"), hidden.0.word);
    if !hidden.is_plain() {
        return Err(format!(
            "fusion.hidden = {other}: design {word} takes persistent memory as a medium of its own; give pm"
        ));
    }
    if cost != Cost::Constant {
        return Err(format!(
            "fusion.cost = {}: design {word} has one time for a page; give constant",
            cost.word()
        ));
    }
    Ok(())
}
