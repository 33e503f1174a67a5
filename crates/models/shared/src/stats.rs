//! What hosts count.

use params::{Dur, StatisticInfo, Statistics};

/// What hosts report.
pub(crate) const STATISTICS: &[&[StatisticInfo]] = &[SharedStats::TABLE];

/// All hosts together.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "shared")]
pub(crate) struct SharedStats {
    /// loads and stores
    pub(crate) references: u64,
    /// operations that the programs ended
    #[stat(name = ".cpu.operations")]
    pub(crate) operations: u64,
    /// lines fetched from the device
    pub(crate) fetches: u64,
    /// lines and words written to the device
    pub(crate) writes: u64,
    /// flush and invalidate instructions
    pub(crate) flushes: u64,
    /// fences
    pub(crate) fences: u64,
    /// dirty lines that left a host's caches by themselves
    pub(crate) evictions: u64,
    /// time in flush and invalidate instructions, summed over hosts
    pub(crate) flush_time: Dur,
    /// time in fences, summed over hosts
    pub(crate) fence_time: Dur,
    /// time in loads and stores that the device answered, summed over hosts
    pub(crate) fetch_time: Dur,
}
