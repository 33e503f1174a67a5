//! What epochs in caches count.

use params::Statistics;

/// Lines that stood in somebody's way.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(crate) struct LineStats {
    /// times that a store had to wait because its line still held an older epoch's
    pub(crate) line_conflicts: u64,
    /// times that another core had to wait until what it asked for was durable
    pub(crate) held_lines: u64,
}
