//! What regions count.

use params::Statistics;

/// Regions that ended for another reason than their length, a fence or a release.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(super) struct RegionStats {
    /// regions that ended because another core took one of their lines
    pub(super) taken_regions: u64,
    /// regions that ended because the buffer was full
    pub(super) full_regions: u64,
}
