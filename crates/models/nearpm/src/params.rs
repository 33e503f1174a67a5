//! Parameters of near-data devices.

use crate::Sync;
use params::{Dur, Param, Parameters, Words, ns};

/// Whether host accesses and requests keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum PersistOrdering {
    /// Partitioned persist ordering.
    Ppo,
    /// They may pass each other.
    None,
}

/// What of a request is compared with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum Conflicts {
    /// All that it reads and writes.
    Ranges,
    /// Its sources alone.
    Sources,
}

/// What a host write waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum HostWrites {
    /// Requests that it conflicts with.
    Range,
    /// Every request.
    Any,
}

/// What devices keep their data in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum NearMedia {
    /// Media of constant times.
    Fixed,
    /// DIMMs with buffers of blocks.
    Dimm,
}

/// The devices, their links, and the port that commands pass.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "neardata")]
pub struct NearParameters {
    /// programs give crash consistency to the devices; false: they do it themselves
    #[param(default = "true", source = "paper: NearPM §8.1")]
    pub offload: bool,
    /// devices, over which memory is interleaved
    #[param(default = "2", source = "paper: NearPM §7", min = 1, max = 16, power_of_two)]
    pub devices: u64,
    /// what a device keeps its data in. fixed: media of constant times; dimm: a module with a buffer of blocks
    #[param(default = "fixed", source = "paper: NearPM §7")]
    pub media: NearMedia,
    /// units of each device
    #[param(
        acts = "neardata.offload=true",
        default = "4",
        source = "paper: NearPM Table 3",
        min = 1,
        max = 64
    )]
    pub units: usize,
    /// entries of a device's request FIFO, 64 bytes each
    #[param(
        acts = "neardata.offload=true",
        default = "32",
        source = "paper: NearPM Table 3",
        min = 1,
        max = 1024
    )]
    pub fifo: usize,
    /// held host accesses that a device saves
    #[param(
        acts = "neardata.offload=true",
        default = "51",
        source = "paper: NearPM §5.3.3, 4 kB of 80 bytes",
        min = 1,
        max = 1024
    )]
    pub host_queue: usize,
    /// entries of a device's address mapping table: a pool for a thread
    #[param(
        acts = "neardata.offload=true",
        default = "54",
        source = "paper: NearPM §5.3.3, 432 bytes of 8",
        min = 1,
        max = 1024
    )]
    pub address_table: usize,
    /// how devices agree that a transaction's logs may go
    #[param(acts = "neardata.offload=true", default = "delayed", source = "paper: NearPM §5.3.2")]
    pub sync: Sync,
    /// none: host accesses and requests may pass each other
    #[param(acts = "neardata.offload=true", default = "ppo", source = "paper: NearPM §4")]
    pub ordering: PersistOrdering,
    /// sources: only the sources of requests are compared, as the public artifact does
    #[param(
        acts = "neardata.offload=true and neardata.ordering=ppo",
        default = "ranges",
        source = "paper: NearPM §5.3.1"
    )]
    pub conflicts: Conflicts,
    /// false: host reads are never held, as in the public artifact
    #[param(
        acts = "neardata.offload=true and neardata.ordering=ppo",
        default = "true",
        source = "paper: NearPM §5.3.1"
    )]
    pub gates_reads: bool,
    /// any: a host write waits for every request, as in the public artifact
    #[param(
        acts = "neardata.offload=true and neardata.ordering=ppo",
        default = "range",
        source = "paper: NearPM §5.3.1"
    )]
    pub host_writes: HostWrites,
    /// one way between the host and a device
    #[param(acts = "memory.link=direct", default = "154", source = "open 120..154: less than half of a load's 436 ns is on the way, and the media take the rest; stands at its most, with which what is fitted to nearpm.micro was fitted", range = ns::WIRE)]
    pub link_ns: Dur,
    /// one way between two devices
    #[param(
        acts = "neardata.offload=true and neardata.sync=delayed and neardata.devices!=1",
        default = "20",
        source = "open 10..60: a few cycles at 300 MHz, both on one board; stands at six",
        range = ns::WIRE
    )]
    pub peer_ns: Dur,
    /// uncached stores that make a command
    #[param(
        acts = "neardata.offload=true",
        default = "5",
        source = "artifact: first version, four registers and a doorbell",
        min = 3,
        max = 16
    )]
    pub command_words: usize,
    /// time that an uncached store holds its core
    #[param(
        acts = "neardata.offload=true",
        default = "27",
        source = "artifact: its cycle counters, 188 ns for a command of seven words (65 to 270)",
        range = ns::NS
    )]
    pub store_ns: Dur,
    /// from a request's dispatch to its first line, with the DMA engine
    #[param(
        acts = "neardata.offload=true",
        default = "850",
        source = "fitted to nearpm.micro: the artifact's 0.97 us at 250 MHz are 808 ns at 300",
        range = ns::NS
    )]
    pub start_ns: Dur,
    /// the same for up to 64 bytes, with the load/store unit
    #[param(
        acts = "neardata.offload=true",
        default = "766",
        source = "fitted to nearpm.micro: the artifact's 0.97 us at 250 MHz are 808 ns at 300",
        range = ns::NS
    )]
    pub fine_start_ns: Dur,
    /// time of a unit for 64 bytes
    #[param(acts = "neardata.offload=true", default = "76", source = "fitted to nearpm.micro", range = ns::SERVICE)]
    pub line_ns: Dur,
    /// time that 64 bytes keep the bus that the units share
    #[param(
        acts = "neardata.offload=true",
        default = "16",
        source = "paper: NearPM §7, 4 GB/s; AXI reads and writes at once",
        range = ns::SERVICE
    )]
    pub bus_ns: Dur,
    /// a page is checkpointed or shadowed in pieces of so many bytes, each by a unit
    #[param(
        acts = "neardata.offload=true",
        default = "1024",
        source = "open 256|512|1024|2048|4096: NearPM §8.3.2 copies the lines of a page in parallel and gives no size of a piece",
        min = 64,
        max = 65536,
        power_of_two
    )]
    pub piece_bytes: u64,
    /// a device that has not finished a request by then is said to have stopped
    #[param(
        acts = "neardata.offload=true or neardata.fault.power_off_ns!=0",
        default = "1000000",
        source = "datasheet: completion timeouts of PCIe are 50 us to 50 ms",
        range = (1_000_000, 1_000_000_000_000)
    )]
    pub timeout_ns: Dur,
}

/// Devices that fail.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "neardata.fault")]
pub struct FaultParameters {
    /// requests after which a device's units stop for good; 0: never
    #[param(
        acts = "neardata.offload=true",
        default = "0",
        source = "open 0: a fault to try; there is none unless it is asked for",
        min = 0,
        max = 1_000_000_000
    )]
    pub stops_after: u64,
    /// when the device loses its power, while everything else goes on; 0: never
    #[param(default = "0", source = "open 0: a fault to try; there is none unless it is asked for", range = (0, 1_000_000_000_000_000))]
    pub power_off_ns: Dur,
    /// the device whose units stop
    #[param(
        acts = "neardata.fault.stops_after!=0 or neardata.fault.power_off_ns!=0",
        default = "0",
        source = "open 0: a fault to try; there is none unless it is asked for",
        min = 0,
        max = 15
    )]
    pub device: usize,
}

/// The tables that act on such a memory.
pub const TABLES: &[&[Param]] = &[NearParameters::TABLE, FaultParameters::TABLE];
