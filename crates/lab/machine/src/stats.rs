//! Every statistic that a run reports: name, unit, meaning.

/// What a statistic is.
#[derive(Clone, Copy, Debug)]
pub struct StatisticInfo {
    /// Dotted name.
    pub name: &'static str,
    /// Its unit; `1` for plain numbers and shares.
    pub unit: &'static str,
    /// One line on what it says.
    pub meaning: &'static str,
}

const fn s(name: &'static str, unit: &'static str, meaning: &'static str) -> StatisticInfo {
    StatisticInfo { name, unit, meaning }
}

/// The table; a test holds that every reported statistic has a row.
pub const STATISTICS: &[StatisticInfo] = &[
    s("throughput.operations_per_second", "1/s", "operations of the workload a simulated second"),
    s(
        "throughput.bytes_per_second",
        "B/s",
        "bytes written to the media of persistent memory a simulated second",
    ),
    s("cpu.references", "1", "loads, stores, flushes and locked operations of the programs"),
    s("cpu.operations", "1", "operations of the workload that ended"),
    s("cpu.l1.hits", "1", "references that hit the first-level cache"),
    s("cpu.l2.hits", "1", "references that hit the second-level cache"),
    s("cpu.misses", "1", "lines asked of the directory"),
    s("cpu.store_buffer.forwarded", "1", "loads served by the store buffer"),
    s("cpu.stores", "1", "stores that became visible"),
    s("cpu.pm_stores", "1", "stores to persistent memory that became visible"),
    s("cpu.locked", "1", "locked read-modify-writes"),
    s("cpu.flushes", "1", "flush instructions that left a hart"),
    s("cpu.fences", "1", "fences"),
    s("cpu.memory_stall", "ns", "time that programs waited for lines, summed over harts"),
    s("llc.hits", "1", "requests served by the shared cache"),
    s("llc.misses", "1", "requests that went to memory"),
    s("llc.snoops", "1", "requests to harts for a line"),
    s("llc.recalls", "1", "lines taken back from harts to make room"),
    s("llc.write_backs", "1", "changed lines evicted by the shared cache"),
    s("llc.set_waits", "1", "requests that found every line of their set busy or pinned"),
    s("memory.reads", "1", "64-byte reads of persistent memory, those for undo records included"),
    s("memory.undo_reads", "1", "64-byte reads of persistent memory for undo records"),
    s("memory.writes", "1", "64-byte writes that left a write pending queue"),
    s("memory.bytes_written", "B", "bytes written to the media of persistent memory"),
    s("memory.bytes_read", "B", "bytes read from the media of persistent memory"),
    s("memory.dram.reads", "1", "64-byte reads of DRAM"),
    s("memory.dram.writes", "1", "64-byte writes of DRAM"),
    s("memory.buffer.hits", "1", "accesses that hit the module's internal buffer"),
    s("memory.buffer.misses", "1", "accesses that missed the module's internal buffer"),
    s("memory.write_pending_queue.coalesced", "1", "writes that joined a queued write of the same line"),
    s("memory.write_pending_queue.waits", "1", "writes that found the write pending queue full"),
    s("memory.write_pending_queue.mean", "1", "mean filling of a write pending queue over time"),
    s(
        "memory.write_pending_queue.p99",
        "1",
        "filling of a write pending queue not exceeded in 99 % of the time",
    ),
    s("memory.write_pending_queue.max", "1", "highest filling of a write pending queue"),
    s("memory.input_queue.mean", "1", "mean number of writes waiting at a controller's door"),
    s(
        "memory.input_queue.p99",
        "1",
        "writes waiting at a controller's door, not exceeded in 99 % of the time",
    ),
    s("memory.input_queue.max", "1", "most writes waiting at a controller's door"),
    s("ordering.epochs", "1", "epochs that wrote and were closed"),
    s("ordering.cross_dependences", "1", "epochs that had to wait for an epoch of another hart"),
    s(
        "ordering.blocked_share",
        "1",
        "share of hart time in which a persist buffer with work cannot flush because of ordering",
    ),
    s("ordering.blocked", "ns", "the same time, summed over harts"),
    s("ordering.stall_share", "1", "share of hart time lost to fences and full persist buffers"),
    s(
        "ordering.fence_stall",
        "ns",
        "time that programs waited at fences and locked operations, summed over harts",
    ),
    s(
        "ordering.buffer_stall",
        "ns",
        "time that programs waited because the ordering model took no more stores, summed over harts",
    ),
    s("ordering.entries", "1", "persist-buffer entries used"),
    s("ordering.coalesced_stores", "1", "stores that joined a persist-buffer entry"),
    s("ordering.persist_buffer.mean", "1", "mean filling of a persist buffer over time"),
    s("ordering.persist_buffer.p99", "1", "filling of a persist buffer not exceeded in 99 % of the time"),
    s("ordering.persist_buffer.max", "1", "highest filling of a persist buffer"),
    s("ordering.safe_flushes", "1", "flushes of epochs that nothing before could undo"),
    s("ordering.early_flushes", "1", "flushes of epochs that were not safe yet"),
    s("ordering.absorbed_flushes", "1", "flushes that needed no media write of their own"),
    s("ordering.undo_records", "1", "undo records created"),
    s("ordering.delay_records", "1", "delay records created"),
    s("ordering.nacks", "1", "early flushes refused for want of room in a recovery table"),
    s("ordering.recovery_table.mean", "1", "mean filling of a recovery table over time"),
    s("ordering.recovery_table.p99", "1", "filling of a recovery table not exceeded in 99 % of the time"),
    s("ordering.recovery_table.max", "1", "highest filling of a recovery table"),
    s("ordering.undo_table.mean", "1", "mean number of undo records in a recovery table over time"),
    s("ordering.undo_table.p99", "1", "undo records in a recovery table not exceeded in 99 % of the time"),
    s(
        "ordering.undo_table.max",
        "1",
        "most undo records in a recovery table: what a power failure writes back",
    ),
    s("ordering.held_evictions", "1", "evictions delayed because their writes had not reached memory"),
    s(
        "ordering.stale_drops",
        "1",
        "dropped lines that memory had differently: the program races under release persistency",
    ),
    s("ordering.write_back_buffer.waits", "1", "arrivals that waited for room in a write-back buffer"),
    s("ordering.polls", "1", "looks at the global timestamp register"),
];
