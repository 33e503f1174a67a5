//! Parameters of remote memory.

use crate::uses::Use;
use crate::{Kind, Prefetch, Walks};
use params::{Dur, Param, Parameters, ns};

/// Up to ten seconds: whoever waits looks and asks again all the while.
const PATIENCE: (u64, u64) = (0, 10_000_000_000_000);
/// From a microsecond on: at the end of each window filters are cleared.
const WINDOW: (u64, u64) = (1_000_000, 10_000_000_000_000_000);

/// How it is reached.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "remote")]
pub struct KindParameters {
    /// how remote memory is reached: paged by page faults (pages), or tracked and fetched by an agent (lines)
    #[param(default = "lines", source = "paper: PBerry §4")]
    pub kind: Kind,
}

/// The remote host, the network, the agent, and the daemon.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "remote")]
pub struct RemoteParameters {
    /// MiB of remote memory
    #[param(default = "8192", source = "open 8192: more than any program takes; nothing hangs on it", min = 1, max = 1 << 20)]
    pub capacity_mib: u64,
    /// KiB that are mapped, fetched, protected and written back together (pages)
    #[param(
        default = "4",
        source = "datasheet: x86-64 has 4 KiB and 2 MiB",
        min = 4,
        max = 2048,
        power_of_two
    )]
    pub page_kib: u64,
    /// KiB of memory attached to the processor for pages that come again and again (lines)
    #[param(
        default = "0",
        source = "paper: PBerry §5, caching in CPU-attached memory",
        min = 0,
        max = 1 << 20
    )]
    pub cpu_kib: u64,
    /// a page is placed there when it has come from the remote host so often
    #[param(
        acts = "remote.kind=lines and remote.cpu_kib!=0",
        default = "2",
        source = "open 1..4: when a page is worth a place beside the processor is not published",
        min = 1,
        max = 1000
    )]
    pub cpu_after: u32,
    /// KiB of local memory that hold pages of it
    #[param(default = "8192", source = "open 8192: what is asked: how much memory is local", min = 64, max = 1 << 30, power_of_two)]
    pub local_kib: u64,
    /// one way between the shared cache and the agent
    #[param(
        acts = "memory.link=direct",
        default = "54",
        source = "datasheet: the other socket's memory at 130 ns (Skylake)",
        range = ns::WIRE
    )]
    pub link_ns: Dur,
    /// one way of an empty packet to the remote host
    #[param(
        default = "1195",
        source = "measured: RDMA reads of 64 B in 2.42 us (ConnectX-5, KCacheSim artifact)",
        range = ns::LONG
    )]
    pub network_ns: Dur,
    /// for each byte of a packet, in which no other is sent
    #[param(
        default = "0.171",
        source = "measured: RDMA reads of 4 KiB in 3.11 us (KCacheSim artifact)",
        range = ns::NS
    )]
    pub network_byte_ns: Dur,
    /// a page walk to a page that is not fetched waits for all of it, for its first line, or not
    #[param(acts = "remote.kind=lines", default = "whole-page", source = "paper: PBerry §5")]
    pub page_table: Walks,
    /// a missing line is asked for before the rest of its page
    #[param(
        acts = "remote.kind=lines and remote.page_table!=whole-page",
        default = "true",
        source = "paper: PBerry §5"
    )]
    pub critical_line_first: bool,
    /// times that a fetch is sent before a page walk is told that the page is not there
    #[param(
        acts = "remote.kind=lines and remote.fault.lose_one_in!=0 or remote.kind=lines and remote.fault.late_one_in!=0 or remote.kind=lines and remote.fault.away_to_ns!=0 or remote.kind=lines and remote.use!=none",
        default = "3",
        source = "open 2..5: acts where packets are lost",
        min = 1,
        max = 100
    )]
    pub attempts: u32,
    /// time until a packet without an answer is sent again
    #[param(acts = "remote.fault.lose_one_in!=0 or remote.fault.late_one_in!=0 or remote.fault.away_to_ns!=0 or remote.use!=none", default = "20000", source = "open 10000..40000: several times a fetch; acts where packets are lost", range = ns::LONG)]
    pub retry_ns: Dur,
    /// the coherence protocol's limit for an answer; beyond it the processor checks out
    #[param(
        acts = "remote.kind=lines and remote.page_table!=whole-page",
        default = "10000000",
        source = "datasheet: completion timeouts of PCIe are 50 us to 50 ms",
        range = PATIENCE
    )]
    pub deadline_ns: Dur,
    /// how long software waits for the remote host before an I/O error
    #[param(acts = "remote.kind=pages or remote.fault.lose_one_in!=0 or remote.fault.late_one_in!=0 or remote.fault.away_to_ns!=0 or remote.use!=none", default = "1000000000", source = "open 100000000..10000000000: seconds; acts where the remote host is away", range = PATIENCE)]
    pub give_up_ns: Dur,
    /// bits of the Bloom filter of lines
    #[param(acts = "remote.kind=lines", default = "1048576", source = "open 262144|1048576|4194304: sizes of the filters are not published", min = 64, max = 1 << 28, power_of_two)]
    pub line_filter_bits: u64,
    /// counters of the counting Bloom filter of pages
    #[param(acts = "remote.kind=lines", default = "65536", source = "open 16384|65536|262144: sizes of the filters are not published", min = 8, max = 1 << 28, power_of_two)]
    pub page_filter_counters: u64,
    /// hash functions of each filter
    #[param(
        acts = "remote.kind=lines",
        default = "4",
        source = "open 2..8: functions of the filters are not published",
        min = 1,
        max = 16
    )]
    pub filter_hashes: u32,
    /// lines of a page reported before the page is reported whole (N)
    #[param(acts = "remote.kind=lines", default = "5", source = "paper: PBerry §4.1.2", min = 1, max = 64)]
    pub threshold: u32,
    /// entries of the buffer of reports
    #[param(acts = "remote.kind=lines", default = "65536", source = "open 16384|65536|262144: its size is not published", min = 1, max = 1 << 24)]
    pub report_buffer: usize,
    /// pages whose place a core knows without a page walk
    #[param(default = "1536", source = "datasheet: Skylake second-level TLB", min = 1, max = 65536)]
    pub translations: usize,
    /// from a page fault to the handler and back, without the network
    #[param(
        acts = "remote.kind=pages or remote.fault.lose_one_in!=0 or remote.fault.late_one_in!=0 or remote.fault.away_to_ns!=0",
        default = "3200",
        source = "measured: LegoOS pcache_miss of 6.31 us, less a fetch",
        range = ns::LONG
    )]
    pub fault_ns: Dur,
    /// the same of the first write to a protected page
    #[param(acts = "remote.kind=pages", default = "700", source = "open 500..1000: a minor fault takes 0.5 to 1 us", range = ns::LONG)]
    pub write_fault_ns: Dur,
    /// dropping a core's own translations
    #[param(default = "89", source = "measured: LegoOS, no other processor", range = ns::NS)]
    pub invalidate_ns: Dur,
    /// interrupting other cores so that they drop theirs
    #[param(default = "1200", source = "measured: LegoOS, 1.47 us for one processor", range = ns::NS)]
    pub shootdown_ns: Dur,
    /// the same for each of them
    #[param(default = "270", source = "measured: LegoOS, 7.58 us for 23 processors", range = ns::NS)]
    pub shootdown_core_ns: Dur,
    /// between two looks at something that is waited for
    #[param(default = "100", source = "open 50..200: a look at an uncached line, half to twice", range = ns::POLL)]
    pub poll_ns: Dur,
    /// pages reclaimed together
    #[param(
        default = "8",
        source = "open 4..32: pages of a shootdown; stands at a power of two",
        min = 1,
        max = 4096
    )]
    pub reclaim_batch: u32,
    /// what is fetched beside the page that is wanted
    #[param(default = "none", source = "paper: PBerry §5: pages are fetched when they are wanted")]
    pub prefetch: Prefetch,
    /// how many pages that is
    #[param(
        acts = "remote.prefetch!=none",
        default = "7",
        source = "datasheet: Linux reads 8 pages of swap at once",
        min = 0,
        max = 64
    )]
    pub prefetch_pages: u32,
    /// length of a window of dirty tracking
    #[param(default = "1000000", source = "open 100000..16000000: how long windows are is not published; stands at the round number", range = WINDOW)]
    pub window_ns: Dur,
    /// every so often all local pages are protected against writes again (pages), 0 for never
    #[param(
        acts = "remote.kind=pages",
        default = "0",
        source = "paper: PBerry §7, how dirty pages are tracked without an agent",
        range = ns::LONG
    )]
    pub protect_ns: Dur,
    /// finding a page and protecting it, for each local page
    #[param(acts = "remote.kind=pages and remote.protect_ns!=0 or remote.kind=pages and remote.use!=none", default = "0.696", source = "fitted to pberry.wp-pause", range = ns::NS)]
    pub protect_page_ns: Dur,
    /// what tracking is used for besides: told of lines (lines), or of pages by faults (pages)
    #[param(default = "none", source = "paper: PBerry table 2")]
    pub r#use: Option<Use>,
    /// copying a line in local memory, by software
    #[param(acts = "remote.kind=pages and remote.use!=none", default = "14.5", source = "measured: a cold copy of 4 KiB in 925 ns", range = ns::NS)]
    pub copy_line_ns: Dur,
}

/// What may go wrong on the network and at the remote host.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "remote.fault")]
pub struct FaultParameters {
    /// a fault: one in so many packets is lost, none for 0
    #[param(default = "0", source = "open 0: a fault to try; there is none unless it is asked for", min = 0, max = 1 << 40)]
    pub lose_one_in: u64,
    /// a fault: one in so many packets is late
    #[param(default = "0", source = "open 0: a fault to try; there is none unless it is asked for", min = 0, max = 1 << 40)]
    pub late_one_in: u64,
    /// by so much
    #[param(acts = "remote.fault.late_one_in!=0 or remote.fault.duplicate_one_in!=0", default = "50000", source = "open 50000: a fault to try; there is none unless it is asked for", range = ns::LONG)]
    pub late_ns: Dur,
    /// a fault: one in so many packets comes twice, the second time late
    #[param(default = "0", source = "open 0: a fault to try; there is none unless it is asked for", min = 0, max = 1 << 40)]
    pub duplicate_one_in: u64,
    /// a fault: the remote host takes nothing from then on
    #[param(acts = "remote.fault.away_to_ns!=0", default = "0", source = "open 0: a fault to try; there is none unless it is asked for", range = ns::LONG)]
    pub away_from_ns: Dur,
    /// until then
    #[param(default = "0", source = "open 0: a fault to try; there is none unless it is asked for", range = ns::LONG)]
    pub away_to_ns: Dur,
}

/// The tables that act on such a memory.
pub const TABLES: &[&[Param]] = &[KindParameters::TABLE, RemoteParameters::TABLE, FaultParameters::TABLE];
