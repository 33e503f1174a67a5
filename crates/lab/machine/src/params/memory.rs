//! Parameters of memory behind its controllers.

use super::{NS, SERVICE, p};
use protocol::Param;
use protocol::params::Kind::{Count, PowerOfTwo};

/// The table.
pub(super) const MEMORY: &[Param] = &[
    p(
        "memory.controllers",
        Count { min: 1, max: 16 },
        "2",
        "paper: ASAP Table II",
        "controllers of persistent memory; on machines of near-data devices neardata.devices counts",
    ),
    p(
        "memory.interleave_bytes",
        PowerOfTwo { min: 64, max: 4096 },
        "256",
        "paper: ASAP §VII-C",
        "consecutive bytes on one controller",
    ),
    p("memory.pm.read_ns", NS, "175", "paper: ASAP Table II", "time of a read of persistent memory"),
    p(
        "memory.pm.acknowledge_ns",
        NS,
        "90",
        "paper: ASAP Table II (write)",
        "time from a write's acceptance to its acknowledgement",
    ),
    p(
        "memory.pm.read_service_ns",
        SERVICE,
        "9.02",
        "artifact: 6.6 GB/s a controller",
        "time that the media is busy with 64 bytes read",
    ),
    p(
        "memory.pm.write_service_ns",
        SERVICE,
        "25.92",
        "artifact: 2.3 GB/s a controller",
        "time that the media is busy with 64 bytes written",
    ),
    p(
        "memory.pm.buffer_blocks",
        Count { min: 0, max: 4096 },
        "0",
        "paper: ASAP models none",
        "256-byte blocks of the module's internal buffer; Optane has 64",
    ),
    p("memory.pm.buffer_read_ns", NS, "100", "estimate", "time of a read that hits the internal buffer"),
    p(
        "memory.pm.buffer_service_ns",
        SERVICE,
        "4",
        "estimate",
        "time that the module is busy with 64 bytes that hit the internal buffer",
    ),
    p(
        "memory.pm.drain_threshold",
        Count { min: 1, max: 1024 },
        "9",
        "artifact: 60 % of the queue",
        "filling of the write pending queue from which writes go before reads",
    ),
    p("memory.dram.controllers", Count { min: 1, max: 16 }, "2", "estimate", "controllers of DRAM"),
    p("memory.dram.read_ns", NS, "50", "estimate: DDR3-1600", "time of a read of DRAM"),
    p(
        "memory.dram.service_ns",
        SERVICE,
        "5",
        "datasheet: DDR3-1600, 12.8 GB/s",
        "time that DRAM is busy with 64 bytes",
    ),
];
