//! Parameters of hosts and of the memory that they share.

use crate::ranges::CoherentRanges;
use params::{Dur, Parameters, Words, ns};

/// What is brought to the media when the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum PersistentFlush {
    /// Nothing: what the device accepted last is lost too.
    None,
    /// The device drains what it accepted.
    Device,
    /// Hosts write their caches back, then the device drains.
    Global,
}

/// Hosts that share a memory.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "shared")]
pub(crate) struct SharedParameters {
    /// hosts, each with caches of its own
    #[param(default = "4", source = "open 4: what is asked of a machine", min = 1, max = 8)]
    pub(crate) hosts: usize,
    /// cores of a host: they share its caches and its link, and each waits for what it flushed itself
    #[param(default = "4", source = "open 4: what is asked of a machine", min = 1, max = 8)]
    pub(crate) cores: usize,
    /// lines that a host's caches hold; the first that came goes first
    #[param(default = "512", source = "open 64..4096: caches that programs of a few hundred lines fill now and then", min = 4, max = 1 << 20)]
    pub(crate) cache_lines: usize,
    /// size of the memory that hosts share
    #[param(default = "1 GiB", source = "open 1 GiB: what is asked of a machine", bytes, min = 1 << 12, max = 1 << 44)]
    pub(crate) memory_bytes: u64,
    /// ranges of lines that hardware keeps coherent between hosts (back-invalidate), such as 0-7,16-23, or none
    #[param(default = "none", source = "open none: what is asked of a machine")]
    pub(crate) coherent_ranges: String,
    /// time of an access that a host's caches answer
    #[param(default = "2", source = "open 1..4: an access that mostly stays in a first-level cache", range = ns::NS)]
    pub(crate) hit_ns: Dur,
    /// time that a flush instruction takes up at the host, besides its write
    #[param(default = "10", source = "open 5..20: not published for shared memory", range = ns::NS)]
    pub(crate) flush_ns: Dur,
    /// one way between a host and the device, switch included
    #[param(default = "100", source = "open 50..200: a link of CXL alone, or behind a switch", range = ns::NS)]
    pub(crate) link_ns: Dur,
    /// time that a line keeps a host's link busy
    #[param(default = "2", source = "open 1..4: 64 B at 64 to 16 GB/s", range = ns::SERVICE)]
    pub(crate) line_ns: Dur,
    /// time of an access at the device
    #[param(default = "60", source = "open 40..120: DRAM behind a controller", range = ns::NS)]
    pub(crate) device_ns: Dur,
    /// time after which the others are told that a host is gone
    #[param(default = "5000", source = "open 1000..25000: how soon a fabric manager notices", range = ns::NS)]
    pub(crate) detect_ns: Dur,
    /// how long a lost link is tried again; after that the host is fenced off
    #[param(default = "50000", source = "open 10000..1000000: retraining of a link takes tens of microseconds, and a root port gives up after 50 us to 1 ms at the earliest; stands at 50 us, the shortest time after which a root port may give up an access by default", range = ns::SHORT)]
    pub(crate) link_timeout_ns: Dur,
    /// lines that the device has accepted and its media has not yet; the oldest makes room
    #[param(default = "16", source = "open 4..1024: not published for devices that hosts share; stands at 16, few enough that programs of some hundred lines fill it and make room in it", min = 1, max = 1 << 16)]
    pub(crate) buffer_lines: usize,
    /// time in which the device brings one accepted line to its media
    #[param(default = "500", source = "open 100..10000: from DRAM with a battery to flash; stands at 500, so that lines that were accepted early reach the media within runs of some 20 us", range = ns::SERVICE)]
    pub(crate) drain_ns: Dur,
    /// what a power failure still brings to the media: none; device: what the device accepted; global: hosts' caches first (global persistent flush)
    #[param(default = "device", source = "open none|device|global: what is asked of a machine")]
    pub(crate) persistent_flush: PersistentFlush,
    /// longest time of the first phase of a global persistent flush, in which hosts write back
    #[param(acts = "shared.persistent_flush!=none|device", default = "20000000000", source = "artifact: Linux 6.15, drivers/cxl: 20 s for each phase, since it knows nothing better", range = ns::LONG)]
    pub(crate) host_flush_timeout_ns: Dur,
    /// longest time of the second phase, in which the device drains
    #[param(acts = "shared.persistent_flush=device|global", default = "20000000000", source = "artifact: Linux 6.15, drivers/cxl: 20 s for each phase, since it knows nothing better", range = ns::LONG)]
    pub(crate) drain_timeout_ns: Dur,
    /// energy that is stored at the device for draining
    #[param(
        acts = "shared.persistent_flush=device|global",
        default = "2000",
        source = "open 10..100000: lines of a buffer, or of all caches too; stands at 2000, which saves the full caches of four hosts of 512 lines (1.55 mJ) and a full buffer",
        min = 0,
        max = 1_000_000_000
    )]
    pub(crate) drain_energy_uj: u64,
    /// energy that draining takes for each line
    #[param(
        acts = "shared.persistent_flush=device|global",
        default = "757",
        source = "paper: BBB (HPCA 2021), 11.8 nJ a byte from a first-level cache to non-volatile memory",
        min = 1,
        max = 1_000_000
    )]
    pub(crate) drain_line_nj: u64,
}

impl SharedParameters {
    /// Lines of the memory.
    pub(crate) fn lines(&self) -> u64 {
        self.memory_bytes / 64
    }

    /// Lines that hardware keeps coherent: what is not accepted is refused before anything runs.
    pub(crate) fn coherent(&self) -> CoherentRanges {
        CoherentRanges::read(&self.coherent_ranges, self.lines()).unwrap_or_default()
    }
}
