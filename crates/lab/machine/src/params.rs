//! The one table of machine parameters. Files, `--set`, `show`, the JSON Schema and the wiring all follow it.

use protocol::Param;
use protocol::params::Kind::{Bytes, Choice, Count, Flag, Nanoseconds, PowerOfTwo};

const fn p(
    key: &'static str,
    kind: protocol::params::Kind,
    default: &'static str,
    source: &'static str,
    meaning: &'static str,
) -> Param {
    Param { key, kind, default, source, meaning }
}

const NS: protocol::params::Kind = Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 };
const WIRE: protocol::params::Kind = Nanoseconds { min_ps: 100, max_ps: 1_000_000 };
const SERVICE: protocol::params::Kind = Nanoseconds { min_ps: 1, max_ps: 1_000_000_000 };

/// Every parameter of a machine.
pub const MACHINE: &[Param] = &[
    // Harts.
    p("cpu.harts", Count { min: 1, max: 64 }, "4", "paper: ASAP Table II", "harts; raised to workload.threads where that is more"),
    p("cpu.clock_mhz", Count { min: 100, max: 10_000 }, "2000", "paper: ASAP Table II", "clock of the harts in MHz"),
    p("cpu.width", Count { min: 1, max: 16 }, "8", "paper: ASAP Table II", "instructions issued a cycle"),
    p("cpu.instructions_per_reference", Count { min: 1, max: 100 }, "4", "estimate: about a quarter of instructions are loads and stores", "instructions issued for each memory reference, itself included"),
    p("cpu.window", Count { min: 8, max: 4096 }, "192", "artifact: gem5 O3 reorder buffer", "instructions that may pass a load whose value nothing waits for"),
    p("cpu.outstanding_misses", Count { min: 1, max: 256 }, "16", "artifact: gem5 sequencer", "lines that a hart may have on their way at once"),
    p("cpu.store_buffer", Count { min: 1, max: 256 }, "32", "artifact: gem5 O3 store queue", "stores that have retired but are not yet visible"),
    p("cpu.store_prefetch", Flag, "true", "datasheet: current cores request ownership ahead", "a store asks for its line when it enters the store buffer"),
    p("cpu.store_interval_ns", SERVICE, "0.5", "estimate: one cycle", "time from one store's becoming visible to the next"),
    p("cpu.locked_ns", NS, "10", "datasheet: about 20 cycles for locked instructions", "time of a locked read-modify-write on a line that is there"),
    p("cpu.write_combining", Count { min: 1, max: 64 }, "10", "datasheet: Intel line fill buffers", "write-combining buffers for non-temporal stores"),
    // Caches.
    p("l1.size_bytes", Bytes { min: 1 << 10, max: 1 << 24 }, "32 KiB", "paper: ASAP Table II", "size of the first-level data cache"),
    p("l1.ways", PowerOfTwo { min: 1, max: 64 }, "8", "paper: ASAP Table II", "ways of the first-level data cache"),
    p("l1.latency_ns", SERVICE, "1", "paper: ASAP Table II", "time of a first-level hit"),
    p("l2.size_bytes", Bytes { min: 1 << 10, max: 1 << 28 }, "2 MiB", "paper: ASAP Table II", "size of the private second-level cache"),
    p("l2.ways", PowerOfTwo { min: 1, max: 64 }, "8", "paper: ASAP Table II", "ways of the private second-level cache"),
    p("l2.latency_ns", SERVICE, "10", "paper: ASAP Table II", "time of a second-level hit"),
    p("llc.size_bytes", Bytes { min: 1 << 12, max: 1 << 32 }, "16 MiB", "paper: ASAP Table II", "size of the shared last-level cache"),
    p("llc.ways", PowerOfTwo { min: 1, max: 64 }, "16", "paper: ASAP Table II", "ways of the shared last-level cache"),
    p("llc.latency_ns", NS, "12", "artifact: 40 cycles configured, wires taken off", "time of a lookup in the last-level cache and directory"),
    p("llc.keeps_data", Flag, "true", "paper: ASAP Table II", "false: only a directory; what no hart holds comes from memory"),
    // Wires.
    p("wires.hart_directory_ns", WIRE, "4", "estimate", "one way between a hart and the directory"),
    p("wires.hart_controller_ns", WIRE, "5", "estimate", "one way between a hart and a controller of persistent memory"),
    p("wires.hart_hart_ns", WIRE, "5", "estimate", "one way between two harts"),
    p("wires.directory_controller_ns", WIRE, "5", "estimate", "one way between the directory and a controller"),
    // Memory.
    p("memory.controllers", Count { min: 1, max: 16 }, "2", "paper: ASAP Table II", "controllers of persistent memory"),
    p("memory.interleave_bytes", PowerOfTwo { min: 64, max: 4096 }, "256", "paper: ASAP §VII-C", "consecutive bytes on one controller"),
    p("memory.pm.read_ns", NS, "175", "paper: ASAP Table II", "time of a read of persistent memory"),
    p("memory.pm.acknowledge_ns", NS, "90", "paper: ASAP Table II (write)", "time from a write's acceptance to its acknowledgement"),
    p("memory.pm.read_service_ns", SERVICE, "9.02", "artifact: 6.6 GB/s a controller", "time that the media is busy with 64 bytes read"),
    p("memory.pm.write_service_ns", SERVICE, "25.92", "artifact: 2.3 GB/s a controller", "time that the media is busy with 64 bytes written"),
    p("memory.pm.buffer_blocks", Count { min: 0, max: 4096 }, "0", "paper: ASAP models none", "256-byte blocks of the module's internal buffer; Optane has 64"),
    p("memory.pm.buffer_read_ns", NS, "100", "estimate", "time of a read that hits the internal buffer"),
    p("memory.pm.buffer_service_ns", SERVICE, "4", "estimate", "time that the module is busy with 64 bytes that hit the internal buffer"),
    p("memory.pm.drain_threshold", Count { min: 1, max: 1024 }, "9", "artifact: 60 % of the queue", "filling of the write pending queue from which writes go before reads"),
    p("memory.dram.controllers", Count { min: 1, max: 16 }, "2", "estimate", "controllers of DRAM"),
    p("memory.dram.read_ns", NS, "50", "estimate: DDR3-1600", "time of a read of DRAM"),
    p("memory.dram.service_ns", SERVICE, "5", "datasheet: DDR3-1600, 12.8 GB/s", "time that DRAM is busy with 64 bytes"),
    // Ordering.
    p("ordering.model", Choice(&["intel", "hops", "asap", "bbb", "eadr"]), "intel", "-", "how persists are ordered"),
    p("ordering.persistency", Choice(&["epoch", "release"]), "release", "-", "when one hart's persists wait for another's"),
    p("ordering.dependences", Choice(&["accesses", "stores"]), "accesses", "paper: ASAP §IV-A", "which conflicts make an epoch depend on another under epoch persistency"),
    p("ordering.persist_buffer", Count { min: 1, max: 1024 }, "32", "paper: ASAP Table II", "entries of each hart's persist buffer"),
    p("ordering.epoch_table", Count { min: 2, max: 1024 }, "32", "paper: ASAP §VII", "epochs in flight on each hart, the open one included"),
    p("ordering.recovery_table", Count { min: 0, max: 1024 }, "32", "paper: ASAP Table II", "undo and delay records at each controller"),
    p("ordering.write_pending_queue", Count { min: 1, max: 1024 }, "16", "paper: ASAP Table II", "entries of each controller's write pending queue"),
    p("ordering.write_back_buffer", Count { min: 1, max: 256 }, "16", "estimate", "evicted lines of a hart that wait until their writes have persisted"),
    p("ordering.flush_trigger", Count { min: 1, max: 1024 }, "1", "paper: ASAP §IV (as soon as possible)", "unflushed entries from which on a persist buffer flushes"),
    p("ordering.flush_timer_ns", SERVICE, "500", "artifact", "below the trigger, one entry is flushed after so long"),
    p("ordering.flush_issue_ns", SERVICE, "1", "artifact", "time from one flush of a persist buffer to the next"),
    p("ordering.eager", Flag, "true", "paper: ASAP §IV-C", "ASAP flushes epochs that are not safe yet"),
    p("ordering.commit_ns", NS, "50", "paper: ASAP Table II (flush 60 ns, wires taken off)", "time from a commit's arrival to its acknowledgement"),
    p("ordering.commit_pipelined", Flag, "false", "paper: ASAP §V-C", "the next epoch is safe once the commit is sent, not when it is acknowledged"),
    p("ordering.undo_reads", Flag, "true", "paper: ASAP §IV-D", "an undo record reads the media"),
    p("ordering.delay_writes", Flag, "true", "paper: ASAP §V-C", "a delay record that commits is written to the media"),
    p("ordering.nack_following", Flag, "false", "paper: ASAP §V-D", "after a NACK, a controller refuses every early flush of that hart until the refused one comes back"),
    p("ordering.poll_ns", SERVICE, "250", "paper: ASAP §VII (500 cycles)", "HOPS: time from one look at the global timestamp register to the next"),
    p("ordering.poll_access_ns", NS, "17", "paper: ASAP §VII (50 cycles, wires taken off)", "HOPS: time of reading the register"),
    p("ordering.flush_instruction_ns", NS, "0", "paper: ASAP names none", "fixed time in the hart before a flush instruction leaves it"),
    p("ordering.flush_overlap", Flag, "true", "datasheet: clwb and clflushopt are weakly ordered", "later stores may pass a flush instruction that is under way"),
    p("ordering.flush_invalidates", Flag, "false", "datasheet: Intel SDM, clwb", "clwb drops the line"),
    p("ordering.sfence_blocks", Choice(&["hart", "stores"]), "hart", "paper: ASAP §II-B", "what waits at an sfence on a machine with volatile caches"),
    p("ordering.sfence", Choice(&["dfence", "ofence"]), "dfence", "estimate: an sfence promises durability", "what a program's own sfence means on a machine with a persist path"),
];
