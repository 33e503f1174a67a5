//! What a controller counts.

use protocol::{Occupancy, StatSink};

#[derive(Clone, Debug, Default)]
pub(super) struct Stats {
    pub(super) reads: u64,
    pub(super) undo_reads: u64,
    pub(super) writes: u64,
    pub(super) coalesced: u64,
    pub(super) bytes_written: u64,
    pub(super) bytes_read: u64,
    pub(super) buffer_hits: u64,
    pub(super) buffer_misses: u64,
    pub(super) waits: u64,
    pub(super) queue: Occupancy,
    pub(super) input: Occupancy,
    pub(super) table: Occupancy,
    pub(super) undo: Occupancy,
}

impl Stats {
    /// `pm` tells whether this controller has persistent memory behind it.
    pub(super) fn hand_up(&self, pm: bool, sink: &mut dyn StatSink) {
        if !pm {
            sink.count("memory.dram.reads", self.reads);
            sink.count("memory.dram.writes", self.writes);
            return;
        }
        sink.count("memory.reads", self.reads + self.undo_reads);
        sink.count("memory.undo_reads", self.undo_reads);
        sink.count("memory.writes", self.writes);
        sink.count("memory.bytes_written", self.bytes_written);
        sink.count("memory.bytes_read", self.bytes_read);
        sink.count("memory.write_pending_queue.coalesced", self.coalesced);
        sink.count("memory.write_pending_queue.waits", self.waits);
        sink.count("memory.buffer.hits", self.buffer_hits);
        sink.count("memory.buffer.misses", self.buffer_misses);
        sink.occupancy("memory.write_pending_queue", &self.queue);
        sink.occupancy("memory.input_queue", &self.input);
        sink.occupancy("ordering.recovery_table", &self.table);
        sink.occupancy("ordering.undo_table", &self.undo);
    }
}
