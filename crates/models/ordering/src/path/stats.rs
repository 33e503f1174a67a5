//! What persist paths count.

use params::{Dur, Occupancy, StatisticInfo, Statistics};

/// What every path of epochs reports.
pub(crate) const EPOCHS: &[&[StatisticInfo]] =
    &[EpochStats::TABLE, BlockedShare::TABLE, FlushStats::TABLE, DropStats::TABLE];

/// The same with a persist buffer, whose epochs depend on nobody's.
pub(crate) const ALONE: &[&[StatisticInfo]] =
    &[EpochStats::TABLE, BlockedShare::TABLE, FlushStats::TABLE, DropStats::TABLE, BufferStats::TABLE];

/// The same where they depend on other cores'.
pub(crate) const DEPENDING: &[&[StatisticInfo]] = &[
    EpochStats::TABLE,
    BlockedShare::TABLE,
    FlushStats::TABLE,
    DropStats::TABLE,
    BufferStats::TABLE,
    DependenceStats::TABLE,
];

/// A persist buffer.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub struct BufferStats {
    /// persist-buffer entries used
    #[stat(explains = "time.buffer_full")]
    pub(crate) entries: u64,
    /// stores that joined a persist-buffer entry
    pub(crate) coalesced_stores: u64,
    /// filling of a persist buffer
    #[stat(column = "PB mean")]
    pub(crate) persist_buffer: Occupancy,
}

/// Its flushes, of a path whose writes are in order or safe another way.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(crate) struct FlushStats {
    /// flushes of epochs that nothing before could undo
    pub(crate) safe_flushes: u64,
}

/// Epochs.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(crate) struct EpochStats {
    /// epochs that wrote and were closed
    #[stat(column = "epochs")]
    pub(crate) epochs: u64,
    /// the same time, summed over cores
    pub(crate) blocked: Dur,
}

/// Epochs where cores depend on each other.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(crate) struct DependenceStats {
    /// of these, those that had to wait for an epoch of another core
    #[stat(column = "cross deps", explains = "time.buffer_full")]
    pub(crate) cross_dependences: u64,
}

/// Evicted lines, whose writes went beside the caches.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(crate) struct DropStats {
    /// dropped lines that memory had differently: the program races under release persistency
    pub(crate) stale_drops: u64,
}

/// What follows for a path that orders.
#[derive(Statistics)]
#[statistics(prefix = "ordering")]
pub(crate) struct BlockedShare {
    /// share of core time in which writes that wait beside a core, or in its caches, cannot leave because of ordering
    #[stat(column = "blocked")]
    pub(crate) blocked_share: f64,
}

/// What follows for any model.
#[derive(Statistics)]
#[statistics(prefix = "ordering")]
pub(crate) struct StallShare {
    /// share of core time lost to fences, to flushes that hold up stores, and where there is no room for another write, also while a lock
    /// is taken and in the kernel, which the cores' time counts under locks and kernel
    #[stat(column = "stalled")]
    pub(crate) stall_share: f64,
}
