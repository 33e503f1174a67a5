//! What the directory counts.

use params::Statistics;

/// What the shared cache and the directory do.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "llc")]
pub(super) struct Stats {
    /// requests served by the shared cache, counted as they arrive there; cpu.misses counts them as they leave a core
    pub(super) hits: u64,
    /// requests that went to memory
    #[stat(explains = "time.memory")]
    pub(super) misses: u64,
    /// requests to cores for a line
    pub(super) snoops: u64,
    /// lines taken back from cores to make room
    pub(super) recalls: u64,
    /// changed lines evicted by the shared cache
    pub(super) write_backs: u64,
    /// requests that found every line of their set busy or pinned
    pub(super) set_waits: u64,
}
