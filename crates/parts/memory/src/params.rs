//! Parameters of memory behind its controllers.

use crate::ddr4::params::MediaWord;
use params::{Dur, Param, Parameters, ns};

/// Which memory a machine has.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory")]
pub struct KindParameters {
    /// the kind of the machine's memory, where it has one; a list of several is `[[memory]]`
    #[param(default = "pm", source = "paper: ASAP Table II")]
    pub kind: String,
}

/// What a power failure costs.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory")]
pub struct DrainParameters {
    /// energy that a power failure takes for each line that buffers, caches or queues still hold
    #[param(
        default = "757",
        source = "paper: BBB (HPCA 2021), 11.8 nJ a byte from a first-level cache to non-volatile memory",
        min = 1,
        max = 1_000_000
    )]
    pub drain_line_nj: u64,
}

/// How many controllers plain persistent memory has.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory")]
pub struct ControllersParameters {
    /// controllers of persistent memory; where a memory is devices, their own number counts
    #[param(default = "2", source = "paper: ASAP Table II", min = 1, max = 16)]
    pub controllers: usize,
}

/// How controllers share persistent memory.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory")]
pub struct InterleaveParameters {
    /// consecutive bytes on one controller
    #[param(default = "256", source = "paper: ASAP §VII-C", min = 64, max = 4096, power_of_two)]
    pub interleave_bytes: u64,
}

/// Persistent memory of constant times.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.pm")]
pub struct PmTimeParameters {
    /// time of a read of persistent memory
    #[param(default = "175", source = "paper: ASAP Table II", range = ns::NS)]
    pub read_ns: Dur,
    /// time that the media is busy with 64 bytes read
    #[param(default = "9.02", source = "artifact: 6.6 GB/s a controller", range = ns::SERVICE)]
    pub read_service_ns: Dur,
    /// time that the media is busy with 64 bytes written
    #[param(default = "25.92", source = "artifact: 2.3 GB/s a controller", range = ns::SERVICE)]
    pub write_service_ns: Dur,
    /// 256-byte blocks of the module's internal buffer
    #[param(default = "0", source = "paper: ASAP models none", min = 0, max = 4096)]
    pub buffer_blocks: usize,
    /// time of a read that hits the internal buffer
    #[param(acts = "memory.pm.buffer_blocks!=0", default = "100", source = "open 50..150: not published, half to half as much again", range = ns::NS)]
    pub buffer_read_ns: Dur,
    /// time that the module is busy with 64 bytes that hit the internal buffer
    #[param(acts = "memory.pm.buffer_blocks!=0", default = "4", source = "open 2..8: not published, half to twice", range = ns::SERVICE)]
    pub buffer_service_ns: Dur,
}

/// The controllers of persistent memory.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.pm")]
pub struct PmParameters {
    /// time from a write's acceptance to its acknowledgement
    #[param(default = "90", source = "open 50..90: ASAP's Table II writes in 90 ns; in its artifact a write is accepted 50 ns after it has come; stands at the paper's", range = ns::NS)]
    pub acknowledge_ns: Dur,
}

/// Their turns of reads and writes, where media serve one after the other. Those that hold requests choose by themselves.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.pm")]
pub struct PmTurnParameters {
    /// filling of the write pending queue from which writes go before reads
    #[param(default = "9", source = "artifact: 60 % of the queue", min = 1, max = 1024)]
    pub drain_threshold: usize,
}

/// What plain persistent memory is made of.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.pm")]
pub struct PmMediaParameters {
    /// fixed: constant times; ddr4, ddr5: a channel behind each controller, whose module saves its contents when the power fails
    #[param(default = "fixed", source = "paper: ASAP Table II gives times")]
    pub media: MediaWord,
}

/// What DRAM is made of.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.dram")]
pub struct DramMediaParameters {
    /// fixed: constant times; ddr4, ddr5: a channel behind each controller
    #[param(default = "fixed", source = "open fixed|ddr4: not published; ddr5 is later than the papers")]
    pub media: MediaWord,
}

/// The queue of a controller of persistent memory.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub struct QueueParameters {
    /// entries of each controller's write pending queue
    #[param(default = "16", source = "paper: ASAP Table II", min = 1, max = 1024)]
    pub write_pending_queue: usize,
}

/// DRAM.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.dram")]
pub struct DramParameters {
    /// controllers of DRAM
    #[param(default = "2", source = "open 1|2|4: not published", min = 1, max = 16)]
    pub controllers: usize,
}

/// DRAM of constant times.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.dram")]
pub struct DramTimeParameters {
    /// time of a read of DRAM
    #[param(default = "50", source = "open 30..80: DDR3-1600, by its bank's state", range = ns::NS)]
    pub read_ns: Dur,
    /// time that DRAM is busy with 64 bytes
    #[param(default = "5", source = "datasheet: DDR3-1600, 12.8 GB/s", range = ns::SERVICE)]
    pub service_ns: Dur,
}

/// Commits of epochs, where controllers take them.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub struct CommitParameters {
    /// time from a commit's arrival to its acknowledgement
    #[param(default = "50", source = "open 5..50: ASAP's Table II gives a flush 60 ns and a commit none; the artifact's word of a commit takes no wire; stands at the artifact's 60 ns, of which 10 are the wires", range = ns::NS)]
    pub commit_ns: Dur,
}

/// The tables that act on a memory behind plain controllers, however many there are.
pub const TABLES: &[&[Param]] =
    &[PmTimeParameters::TABLE, PmParameters::TABLE, PmTurnParameters::TABLE, QueueParameters::TABLE];

/// Those of the controllers alone, whatever media are behind them.
pub const OF_CONTROLLERS: &[&[Param]] =
    &[PmParameters::TABLE, PmTurnParameters::TABLE, QueueParameters::TABLE];
