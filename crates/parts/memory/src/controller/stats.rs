//! What a controller counts.

use super::media::Cost;
use params::{Occupancy, StatSink, StatisticInfo, Statistics};
use protocol::Records;

/// What controllers report.
pub(crate) const STATISTICS: &[&[StatisticInfo]] = &[
    Stats::TABLE,
    UndoReads::TABLE,
    Buffer::TABLE,
    RecoveryTable::TABLE,
    UndoLog::TABLE,
    HeldWrites::TABLE,
    Dram::TABLE,
];

/// What a controller of DRAM reports, its media aside.
pub(crate) const OF_DRAM: &[StatisticInfo] = Dram::TABLE;

/// What a controller of persistent memory reports, its media aside; `records` are what the ordering model's half keeps there.
pub fn statistics(records: Option<Records>) -> Vec<&'static [StatisticInfo]> {
    let of_records: &[&[StatisticInfo]] = match records {
        Some(Records::RecoveryTable) => &[UndoReads::TABLE, RecoveryTable::TABLE],
        Some(Records::UndoLog) => &[UndoReads::TABLE, UndoLog::TABLE],
        Some(Records::Held) => &[HeldWrites::TABLE],
        None => &[],
    };
    [&[Stats::TABLE], of_records].concat()
}

/// What media with a buffer report.
pub const OF_BUFFER: &[StatisticInfo] = Buffer::TABLE;

/// What a controller of persistent memory does.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "memory")]
pub(super) struct Stats {
    /// 64-byte writes that left a write pending queue, or came from units beside it
    #[stat(column = "PM writes")]
    pub(super) writes: u64,
    /// 64-byte reads of persistent memory, those for undo records and of units beside it included
    #[stat(column = "PM reads", explains = "time.memory")]
    pub(super) reads: u64,
    #[stat(skip)]
    pub(super) undo: UndoReads,
    /// bytes written to the media of persistent memory
    #[stat(unit = "B")]
    pub(super) bytes_written: u64,
    /// bytes written to the media of persistent memory for nothing but which lines the other socket has given away
    #[stat(name = "directory_bytes_written", unit = "B", unless_zero)]
    pub(super) bytes_noted: u64,
    /// bytes read from the media of persistent memory
    #[stat(unit = "B")]
    pub(super) bytes_read: u64,
    /// writes that joined a queued write of the same line
    #[stat(name = "write_pending_queue.coalesced")]
    pub(super) coalesced: u64,
    /// writes that found the write pending queue full
    #[stat(name = "write_pending_queue.waits")]
    pub(super) waits: u64,
    #[stat(skip)]
    pub(super) buffer: Buffer,
    /// filling of a write pending queue
    #[stat(name = "write_pending_queue")]
    pub(super) queue: Occupancy,
    /// number of writes waiting at a controller
    #[stat(name = "input_queue", most = "most writes waiting at a controller")]
    pub(super) input: Occupancy,
    #[stat(skip)]
    pub(super) records: RecoveryTable,
}

/// What undo records read, where there are any.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "memory")]
pub(super) struct UndoReads {
    /// 64-byte reads of persistent memory for undo records
    pub(super) undo_reads: u64,
}

/// The internal buffer of a module that has one.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "memory.buffer")]
pub(super) struct Buffer {
    /// accesses that hit the module's internal buffer
    pub(super) hits: u64,
    /// accesses that missed the module's internal buffer
    pub(super) misses: u64,
}

/// Records that a controller keeps for its ordering model.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(super) struct RecoveryTable {
    /// filling of a recovery table
    #[stat(name = "recovery_table")]
    pub(super) table: Occupancy,
    /// number of undo records in a recovery table
    #[stat(
        name = "undo_table",
        most = "most undo records in a recovery table: what a power failure writes back"
    )]
    pub(super) undo: Occupancy,
}

/// The same where they are of regions.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(super) struct UndoLog {
    /// filling of an undo log
    #[stat(name = "undo_log")]
    pub(super) table: Occupancy,
}

/// The same where nothing is undone.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(super) struct HeldWrites {
    /// number of writes that a controller keeps
    #[stat(name = "held_writes")]
    pub(super) table: Occupancy,
}

/// What a controller of DRAM does.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "memory.dram")]
pub(super) struct Dram {
    /// 64-byte reads of DRAM
    pub(super) reads: u64,
    /// 64-byte writes of DRAM
    pub(super) writes: u64,
}

impl Stats {
    /// The media were asked for a line.
    pub(super) fn accessed(&mut self, cost: &Cost) {
        self.bytes_read += cost.bytes_read;
        self.bytes_written += cost.bytes_written;
        self.bytes_noted += cost.bytes_noted;
        self.buffer.hits += u64::from(cost.hit == Some(true));
        self.buffer.misses += u64::from(cost.hit == Some(false));
    }

    /// What a controller of persistent memory hands up; `records` are those that its ordering model keeps.
    pub(super) fn of_pm(&self, records: Option<Records>, sink: &mut dyn StatSink) {
        Stats { reads: self.reads + self.undo.undo_reads, ..self.clone() }.hand_up(sink);
        if matches!(records, Some(Records::RecoveryTable | Records::UndoLog)) {
            self.undo.hand_up(sink);
        }
        let table = || self.records.table.clone();
        match records {
            Some(Records::RecoveryTable) => self.records.hand_up(sink),
            Some(Records::UndoLog) => UndoLog { table: table() }.hand_up(sink),
            Some(Records::Held) => HeldWrites { table: table() }.hand_up(sink),
            None => {}
        }
    }

    /// What a controller of DRAM hands up.
    pub(super) fn of_dram(&self, sink: &mut dyn StatSink) {
        Dram { reads: self.reads, writes: self.writes }.hand_up(sink);
    }
}
