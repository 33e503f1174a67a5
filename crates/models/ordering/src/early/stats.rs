//! What recovery tables count.

use params::Statistics;

/// A recovery table.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(crate) struct RecoveryStats {
    /// undo records created
    pub(crate) undo_records: u64,
    /// delay records created
    pub(crate) delay_records: u64,
    /// early flushes refused for want of room in a recovery table
    #[stat(explains = "time.fences time.buffer_full")]
    pub(crate) nacks: u64,
    /// flushes of epochs that were not safe yet
    pub(crate) early_flushes: u64,
    /// flushes that needed no media write of their own
    pub(crate) absorbed_flushes: u64,
    /// evictions delayed because their writes had not reached memory
    pub(crate) held_evictions: u64,
}
