//! What a DIMM counts.

use params::{Dur, StatisticInfo, Statistics};

/// What DIMMs report.
pub(crate) const STATISTICS: &[&[StatisticInfo]] = &[DimmStats::TABLE, CacheStats::TABLE];

/// A DIMM behind its controller.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "optane")]
pub(crate) struct DimmStats {
    /// blocks of 256 B read from the media
    pub(crate) block_reads: u64,
    /// blocks of 256 B written to the media, those that wait for them among them
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

/// DRAM in front of a DIMM.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "optane.cache")]
pub(crate) struct CacheStats {
    /// reads whose line was in the DRAM, or on its way there
    pub(crate) read_hits: u64,
    /// reads for which a line was fetched from the DIMM
    pub(crate) read_misses: u64,
    /// writes whose line was in the DRAM, or on its way there
    pub(crate) write_hits: u64,
    /// writes for which a line was fetched from the DIMM
    pub(crate) write_misses: u64,
    /// changed lines that made way for others, and were written to the DIMM
    pub(crate) writebacks: u64,
}

impl CacheStats {
    /// The DRAM has been looked at for a request.
    pub(crate) fn count(&mut self, write: bool, hit: bool) {
        let counter = match (write, hit) {
            (false, true) => &mut self.read_hits,
            (false, false) => &mut self.read_misses,
            (true, true) => &mut self.write_hits,
            (true, false) => &mut self.write_misses,
        };
        *counter += 1;
    }
}
