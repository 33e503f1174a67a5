//! What controllers count that get flushes early.

use crate::path::{BlockedShare, BufferStats, DependenceStats, DropStats, EpochStats, FlushStats};
use params::{StatisticInfo, Statistics};

/// What every model with early flushes reports.
pub(crate) const COUNTED: &[&[StatisticInfo]] = &[
    EpochStats::TABLE,
    BlockedShare::TABLE,
    FlushStats::TABLE,
    DropStats::TABLE,
    BufferStats::TABLE,
    DependenceStats::TABLE,
    EarlyStats::TABLE,
];

/// The same where controllers undo.
pub(crate) const WITH_RECORDS: &[&[StatisticInfo]] = &[
    EpochStats::TABLE,
    BlockedShare::TABLE,
    FlushStats::TABLE,
    DropStats::TABLE,
    BufferStats::TABLE,
    DependenceStats::TABLE,
    EarlyStats::TABLE,
    RecordStats::TABLE,
];

/// Records of what may have to be undone.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(crate) struct RecordStats {
    /// undo records created
    pub(crate) undo_records: u64,
    /// delay records created
    pub(crate) delay_records: u64,
}

/// Writes that wait where nothing is undone.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(crate) struct KeptStats {
    /// writes that a controller kept until what they come after was durable
    pub(crate) kept_writes: u64,
}

/// Flushes that come early.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(crate) struct EarlyStats {
    /// early flushes refused for want of room at a controller
    #[stat(explains = "time.fences time.buffer_full")]
    pub(crate) nacks: u64,
    /// flushes of epochs that were not safe yet
    pub(crate) early_flushes: u64,
    /// flushes that needed no media write when they came: they became delay records, or changed an undo record
    pub(crate) absorbed_flushes: u64,
    /// evictions delayed because their writes had not reached memory
    pub(crate) held_evictions: u64,
}
