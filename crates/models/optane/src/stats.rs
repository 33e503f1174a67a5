//! What a DIMM counts.

use params::{Dur, StatisticInfo, Statistics};

/// What DIMMs report.
pub(crate) const STATISTICS: &[&[StatisticInfo]] = &[DimmStats::TABLE];

/// A DIMM behind its controller.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "optane")]
pub(crate) struct DimmStats {
    /// blocks of 256 B read from the media
    pub(crate) block_reads: u64,
    /// blocks of 256 B written to the media
    pub(crate) block_writes: u64,
    /// blocks written of which not all lines had been written
    pub(crate) partial_writes: u64,
    /// accesses to pages that the address translation did not have at hand
    pub(crate) translation_misses: u64,
    /// times that a place was moved because it was written again and again
    pub(crate) wear_moves: u64,
    /// time that the media served blocks, summed over DIMMs
    pub(crate) media_time: Dur,
}
