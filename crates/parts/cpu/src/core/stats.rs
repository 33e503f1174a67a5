//! What a core counts.

use protocol::StatSink;
use units::Dur;

#[derive(Clone, Debug, Default)]
pub(super) struct Stats {
    pub(super) references: u64,
    pub(super) l1_hits: u64,
    pub(super) l2_hits: u64,
    pub(super) misses: u64,
    pub(super) forwarded: u64,
    pub(super) stores: u64,
    pub(super) pm_stores: u64,
    pub(super) locked: u64,
    pub(super) flushes: u64,
    pub(super) fences: u64,
    pub(super) operations: u64,
    pub(super) moved: u64,
    pub(super) given_up: u64,
    pub(super) registers: u64,
    pub(super) write_back_waits: u64,
    pub(super) fence_stall: Dur,
    pub(super) buffer_stall: Dur,
    pub(super) memory_stall: Dur,
    pub(super) consistency: Dur,
    pub(super) movement: Dur,
}

impl Stats {
    pub(super) fn hand_up(&self, sink: &mut dyn StatSink) {
        sink.count("cpu.references", self.references);
        sink.count("cpu.l1.hits", self.l1_hits);
        sink.count("cpu.l2.hits", self.l2_hits);
        sink.count("cpu.misses", self.misses);
        sink.count("cpu.store_buffer.forwarded", self.forwarded);
        sink.count("cpu.stores", self.stores);
        sink.count("cpu.pm_stores", self.pm_stores);
        sink.count("cpu.locked", self.locked);
        sink.count("cpu.flushes", self.flushes);
        sink.count("cpu.fences", self.fences);
        sink.count("cpu.operations", self.operations);
        sink.count("cpu.bytes_moved", self.moved);
        if self.given_up > 0 {
            sink.count("replay.turns_given_up", self.given_up);
        }
        if self.registers > 0 {
            sink.count("cpu.registers", self.registers);
        }
        sink.count("ordering.write_back_buffer.waits", self.write_back_waits);
        sink.time("ordering.fence_stall", self.fence_stall);
        sink.time("ordering.buffer_stall", self.buffer_stall);
        sink.time("cpu.memory_stall", self.memory_stall);
        if self.consistency > Dur::ZERO {
            sink.time("neardata.region_time_ns", self.consistency);
            sink.time("neardata.movement_time_ns", self.movement);
        }
    }
}
