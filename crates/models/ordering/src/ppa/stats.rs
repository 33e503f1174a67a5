//! What regions count.

use params::Statistics;

/// Ends of regions.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(super) struct KeptStats {
    /// regions that ended, after which stores waited until everything before was durable
    pub(super) drained_regions: u64,
}
