//! Parameters of cores, of their caches, and of the wires between them and memory.

use super::{NS, SERVICE, STEP, WIRE, p};
use protocol::Param;
use protocol::params::Kind::{Bytes, Count, Flag, PowerOfTwo, Thousandths};

/// The table.
pub(super) const CORES: &[Param] = &[
    // Cores.
    p(
        "cpu.cores",
        Count { min: 1, max: 64 },
        "4",
        "paper: ASAP Table II",
        "cores; raised to workload.threads where that is more",
    ),
    p(
        "cpu.clock_mhz",
        Count { min: 100, max: 10_000 },
        "2000",
        "paper: ASAP Table II",
        "clock of the cores in MHz",
    ),
    p("cpu.width", Count { min: 1, max: 16 }, "8", "paper: ASAP Table II", "instructions issued a cycle"),
    p(
        "cpu.instructions_per_reference",
        Count { min: 1, max: 100 },
        "4",
        "estimate: about a quarter of instructions are loads and stores",
        "instructions issued for each memory reference, itself included",
    ),
    p(
        "cpu.ipc",
        Thousandths { min: 500, max: 3000 },
        "1.5",
        "open: 0.5 to 3; the default is our choice",
        "instructions a cycle of a recorded program's own work; its waiting for memory is simulated and comes on top",
    ),
    p(
        "cpu.window",
        Count { min: 8, max: 4096 },
        "192",
        "artifact: gem5 O3 reorder buffer",
        "instructions that may pass a load whose value nothing waits for",
    ),
    p(
        "cpu.outstanding_misses",
        Count { min: 1, max: 256 },
        "16",
        "artifact: gem5 sequencer",
        "lines that a core may have on their way at once",
    ),
    p(
        "cpu.store_buffer",
        Count { min: 1, max: 256 },
        "32",
        "artifact: gem5 O3 store queue",
        "stores that have retired but are not yet visible",
    ),
    p(
        "cpu.store_prefetch",
        Flag,
        "true",
        "datasheet: current cores request ownership ahead",
        "a store asks for its line when it enters the store buffer",
    ),
    p(
        "cpu.store_interval_ns",
        STEP,
        "0.5",
        "estimate: one cycle",
        "time from one store's becoming visible to the next",
    ),
    p(
        "cpu.locked_ns",
        NS,
        "10",
        "datasheet: about 20 cycles for locked instructions",
        "time of a locked read-modify-write on a line that is there",
    ),
    p(
        "cpu.write_combining",
        Count { min: 1, max: 64 },
        "10",
        "datasheet: Intel line fill buffers",
        "write-combining buffers for non-temporal stores",
    ),
    // Caches.
    p(
        "l1.size_bytes",
        Bytes { min: 1 << 10, max: 1 << 24 },
        "32 KiB",
        "paper: ASAP Table II",
        "size of the first-level data cache",
    ),
    p(
        "l1.ways",
        PowerOfTwo { min: 1, max: 64 },
        "8",
        "paper: ASAP Table II",
        "ways of the first-level data cache",
    ),
    p("l1.latency_ns", SERVICE, "1", "paper: ASAP Table II", "time of a first-level hit"),
    p(
        "l2.size_bytes",
        Bytes { min: 1 << 10, max: 1 << 28 },
        "2 MiB",
        "paper: ASAP Table II",
        "size of the private second-level cache",
    ),
    p(
        "l2.ways",
        PowerOfTwo { min: 1, max: 64 },
        "8",
        "paper: ASAP Table II",
        "ways of the private second-level cache",
    ),
    p("l2.latency_ns", SERVICE, "10", "paper: ASAP Table II", "time of a second-level hit"),
    p(
        "llc.size_bytes",
        Bytes { min: 1 << 12, max: 1 << 32 },
        "16 MiB",
        "paper: ASAP Table II",
        "size of the shared last-level cache",
    ),
    p(
        "llc.ways",
        PowerOfTwo { min: 1, max: 64 },
        "16",
        "paper: ASAP Table II",
        "ways of the shared last-level cache",
    ),
    p(
        "llc.latency_ns",
        NS,
        "12",
        "artifact: 40 cycles configured, wires taken off",
        "time of a lookup in the last-level cache and directory",
    ),
    p(
        "llc.keeps_data",
        Flag,
        "true",
        "paper: ASAP Table II",
        "false: only a directory; what no core holds comes from memory",
    ),
    // Wires.
    p("wires.core_directory_ns", WIRE, "4", "estimate", "one way between a core and the directory"),
    p(
        "wires.core_controller_ns",
        WIRE,
        "5",
        "estimate",
        "one way between a core and a controller of persistent memory",
    ),
    p("wires.core_core_ns", WIRE, "5", "estimate", "one way between two cores"),
    p(
        "wires.directory_controller_ns",
        WIRE,
        "5",
        "estimate",
        "one way between the directory and a controller",
    ),
];
