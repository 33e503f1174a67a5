//! Parameters of a core.

use crate::CacheShape;
use protocol::FenceKind;
use units::Dur;

/// Parameters of a core; descriptions, units and sources stand in `machine`'s description.
#[derive(Clone, Debug)]
pub struct CoreSpec {
    /// Time that issuing one reference and the instructions around it takes.
    pub issue: Dur,
    /// First-level cache.
    pub l1: CacheShape,
    /// Second-level cache, which includes the first.
    pub l2: CacheShape,
    /// Stores that have retired but are not yet visible.
    pub store_buffer: usize,
    /// Whether a store asks for its line when it enters the store buffer, not only at its head.
    pub store_prefetch: bool,
    /// Lines that may be on their way at once.
    pub outstanding_misses: usize,
    /// Of these, lines that were asked for to store to them.
    pub outstanding_store_misses: usize,
    /// Flushes and non-temporal stores that may be on their way at once; none where nothing bounds them.
    pub outstanding_writes: Option<usize>,
    /// References, with what is computed between them, that may pass a load whose value nothing waits for.
    pub window_references: u64,
    /// Time from one store's becoming visible to the next.
    pub store_interval: Dur,
    /// Time of a locked read-modify-write on a line that is there.
    pub locked: Dur,
    /// Write-combining buffers for non-temporal stores.
    pub write_combining: usize,
    /// Time from one word that is stored past the caches to the next, but for those that join a whole line.
    pub nontemporal_interval: Dur,
    /// Flush instructions.
    pub flush: FlushSpec,
    /// Whether the core waits for sfence, or only its later stores do.
    pub sfence_blocks: bool,
    /// What sfence means on a machine with a persist path.
    pub sfence_as: FenceKind,
    /// Time that a store to a device's register holds the core.
    pub uncached: Dur,
    /// Evicted lines that wait until their writes have persisted.
    pub write_back_buffer: usize,
}

/// How flush instructions behave.
#[derive(Clone, Copy, Debug)]
pub struct FlushSpec {
    /// Fixed time in the core before a flush leaves it.
    pub issue: Dur,
    /// Whether later stores and flushes may pass a flush that is under way.
    pub overlap: bool,
    /// Flushes and non-temporal stores that may be on their way beside lines to be stored to, and with which stores stand still;
    /// none where the two do not contend.
    pub beside_stores: Option<usize>,
    /// Whether clwb drops the line, as clflushopt does.
    pub invalidates: bool,
}
