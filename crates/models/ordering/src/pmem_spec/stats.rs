//! What PMEM-Spec counts, besides what a core that goes back does.

use params::{Occupancy, Statistics};

/// A persist path.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(super) struct PathStats {
    /// stores that went on a persist path
    pub(super) persists: u64,
    /// releases, locked operations and waiting fences, each after every store before it
    pub(super) releases: u64,
    /// stores on a persist path
    pub(super) persist_path: Occupancy,
}

/// A speculation buffer.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(super) struct WatchStats {
    /// evicted lines that controllers watched
    pub(super) watched_lines: u64,
    /// reads of lines that controllers watched
    pub(super) watched_reads: u64,
    /// reads for which memory lacked a store that was on its way
    pub(super) stale_reads: u64,
    /// lines found to have been read too early
    pub(super) misspeculations: u64,
    /// lines that a controller watches
    #[stat(
        most = "most lines that a controller watched at once: the entries that a speculation buffer needs"
    )]
    pub(super) speculation_buffer: Occupancy,
}
