//! What epochs in caches count.

use params::{Occupancy, Statistics};

/// Lines of unfinished epochs, and those that stood in somebody's way.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(crate) struct LineStats {
    /// lines that epochs took
    #[stat(explains = "time.buffer_full")]
    pub(crate) epoch_lines: u64,
    /// stores to a line that their epoch had already
    pub(crate) joined_stores: u64,
    /// number of a core's lines that unfinished epochs have
    pub(crate) unfinished_lines: Occupancy,
    /// times that a store had to wait because its line still held an older epoch's
    pub(crate) line_conflicts: u64,
    /// times that another core had to wait until what it asked for was durable
    pub(crate) held_lines: u64,
}
