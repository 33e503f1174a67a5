//! Parameters of hosts and of the memory that they share.

use params::{Dur, Parameters, ns};

/// Hosts that share a memory.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "shared")]
pub(crate) struct SharedParameters {
    /// hosts, each with caches of its own
    #[param(default = "4", source = "open 4: what is asked of a machine", min = 1, max = 8)]
    pub(crate) hosts: usize,
    /// lines that a host's caches hold; the first that came goes first
    #[param(default = "512", source = "open 64..4096: caches that programs of a few hundred lines fill now and then", min = 4, max = 1 << 20)]
    pub(crate) cache_lines: usize,
    /// lines, from the first on, that hardware keeps coherent between hosts (back-invalidate)
    #[param(default = "0", source = "open 0: what is asked of a machine", min = 0, max = 1 << 20)]
    pub(crate) coherent_lines: usize,
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
}
