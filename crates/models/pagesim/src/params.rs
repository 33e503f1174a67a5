//! Parameters of machines at page fidelity: their memory, its manager, and what persistent memory costs. A policy's own are
//! in its file.

use crate::stand_in::Hidden;
use params::{Parameters, Words, ns};
use units::Dur;

/// How persistent memory's cost is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub(crate) enum Cost {
    /// One latency.
    Constant,
    /// Latencies measured at line fidelity.
    Curve,
}

/// Memory.
#[derive(Parameters)]
#[parameters(prefix = "fusion")]
pub(crate) struct MemoryParameters {
    /// DRAM in GiB
    #[param(default = "64", source = "paper: AMF §5", min = 1, max = 1024)]
    pub(crate) dram_gib: u64,
    /// persistent memory in GiB
    #[param(default = "448", source = "paper: AMF §5", min = 0, max = 1024)]
    pub(crate) pm_gib: u64,
    /// persistent memory of it that is kept for device files, in GiB
    #[param(
        default = "16",
        source = "open 0..32: what is kept for device files is not published",
        min = 0,
        max = 1024
    )]
    pub(crate) device_gib: u64,
    /// what persistent memory is: a medium of its own, or the memory of another machine, on which what a page costs is measured at line fidelity
    #[param(default = "pm", source = "paper: AMF §5, DRAM that stands for persistent memory")]
    pub(crate) hidden: Hidden,
    /// what a line of persistent memory costs: constant: fusion.pm_read_ns and fusion.pm_write_ns, or with fusion.hidden a cache of pages with one time to fill; curve: latencies by load and by working set, measured on the machine that fusion.hidden names at line fidelity
    #[param(default = "constant", source = "paper: AMF §5, persistent memory is as fast as DRAM")]
    pub(crate) cost: Cost,
    /// a zone of persistent memory in GiB, at most
    #[param(default = "128", source = "paper: AMF §5: four nodes", min = 1, max = 1024)]
    pub(crate) node_gib: u64,
    /// latency of DRAM
    #[param(default = "80", source = "measured: DRAM as MEMTIS (SOSP 2023) has it", range = ns::NS)]
    pub(crate) dram_ns: Dur,
    /// latency of a read of persistent memory
    #[param(default = "80", source = "paper: AMF §5 emulates PM by DRAM", range = ns::NS)]
    pub(crate) pm_read_ns: Dur,
    /// latency of a write of persistent memory
    #[param(default = "80", source = "paper: AMF §5 emulates PM by DRAM", range = ns::NS)]
    pub(crate) pm_write_ns: Dur,
    /// misses of a visit under way at once
    #[param(
        default = "8",
        source = "open 4..16: half of a core's line fill buffers at work",
        min = 1,
        max = 64
    )]
    pub(crate) overlap: u64,
    /// bandwidth of DRAM, MB/s
    #[param(
        default = "68000",
        source = "datasheet: four sockets of 1066 MHz DDR3, two channels each",
        min = 1,
        max = 10_000_000
    )]
    pub(crate) dram_mbps: u64,
    /// bandwidth of persistent memory, MB/s
    #[param(default = "68000", source = "paper: AMF §5: within 5 % of DRAM's", min = 1, max = 10_000_000)]
    pub(crate) pm_mbps: u64,
    /// power of a GiB that is online and free, in mW
    #[param(default = "230", source = "paper: AMF §6.2", min = 0, max = 100_000)]
    pub(crate) idle_mw: u64,
    /// power of a GiB that is in use, in mW
    #[param(default = "1340", source = "paper: AMF §6.2", min = 0, max = 100_000)]
    pub(crate) active_mw: u64,
    /// power of a GiB that goes from free to used, for fusion.transition_ns, in mW
    #[param(default = "760", source = "paper: AMF §6.2", min = 0, max = 100_000)]
    pub(crate) transition_mw: u64,
    /// time for which a page that goes from free to used draws fusion.transition_mw
    #[param(default = "100000000", source = "open 50000000..200000000: the paper gives a power for the transition, and no time", range = ns::LONG)]
    pub(crate) transition_ns: Dur,
}

/// Where page descriptors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub(crate) enum DescriptorsAt {
    /// All on DRAM.
    Dram,
    /// On the memory that they describe.
    Added,
}

/// The kernel's rule for watermarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub(crate) enum Marks {
    /// Gaps of a quarter.
    #[word = "before-4.6"]
    Before46,
    /// Gaps that follow `vm.watermark_scale_factor`.
    Today,
}

/// A swap device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub(crate) enum SwapDevice {
    /// A disk.
    Hdd,
    /// Flash behind SATA.
    Ssd,
    /// Flash behind PCIe.
    Nvme,
}

/// The kernel.
#[derive(Parameters)]
#[parameters(prefix = "os")]
pub(crate) struct KernelParameters {
    /// cores that run programs
    #[param(default = "32", source = "paper: AMF table 3", min = 1, max = 1024)]
    pub(crate) cores: usize,
    /// a program's time slice
    #[param(default = "4000000", source = "open 1000000..8000000: CFS with a few programs a core", range = ns::LONG)]
    pub(crate) quantum_ns: Dur,
    /// time to switch to another program
    #[param(default = "2000", source = "open 1000..4000: half to twice; what a switch costs hangs on what it displaces", range = ns::SHORT)]
    pub(crate) switch_ns: Dur,
    /// time between samples of what is seen over time; no other number hangs on it
    #[param(default = "100000000", source = "open 100000000: what is asked: how finely a run is drawn", range = ns::LONG)]
    pub(crate) sample_ns: Dur,
    /// bytes of a page descriptor
    #[param(default = "56", source = "paper: AMF §2.2.2; 64 today", min = 32, max = 128)]
    pub(crate) descriptor_bytes: u64,
    /// where descriptors are: all on DRAM, or on the memory that they describe (memmap_on_memory)
    #[param(default = "dram", source = "paper: AMF §3.2")]
    pub(crate) descriptors: DescriptorsAt,
    /// the kernel's rule for watermarks
    #[param(default = "before-4.6", source = "paper: AMF §5, Linux 4.5")]
    pub(crate) watermarks: Marks,
    /// gap between watermarks in ten-thousandths of a zone (today's rule)
    #[param(
        acts = "os.watermarks=today",
        default = "10",
        source = "datasheet: Linux, vm.watermark_scale_factor",
        min = 1,
        max = 1000
    )]
    pub(crate) watermark_scale: u64,
    /// memory kept free in KiB; 0: as the kernel chooses
    #[param(default = "0", source = "datasheet: Linux, vm.min_free_kbytes", min = 0, max = 1 << 30)]
    pub(crate) min_free_kib: u64,
    /// DRAM that the kernel keeps, in MiB
    #[param(
        default = "160",
        source = "paper: AMF §4.3.1: with it node watermarks are 4097 pages",
        min = 1,
        max = 65536
    )]
    pub(crate) reserved_mib: u64,
    /// processor time of a page fault
    #[param(default = "700", source = "open 500..1000: a minor fault takes 0.5 to 1 us, zeroing aside", range = ns::LONG)]
    pub(crate) fault_ns: Dur,
    /// what a major fault takes more, the device aside
    #[param(default = "3000", source = "open 1500..6000: swap cache, request, interrupt; half to twice", range = ns::LONG)]
    pub(crate) major_ns: Dur,
    /// looking at a page on a list
    #[param(default = "100", source = "open 50..200: a page's list and flags, half to twice", range = ns::LONG)]
    pub(crate) scan_ns: Dur,
    /// taking a page out of a page table
    #[param(default = "1000", source = "open 500..2000: reverse map and flushes, half to twice", range = ns::LONG)]
    pub(crate) unmap_ns: Dur,
    /// giving a page back
    #[param(default = "60", source = "open 30..120: buddy allocator, half to twice", range = ns::LONG)]
    pub(crate) free_ns: Dur,
    /// mapping a page of a device file
    #[param(default = "50", source = "open 43..64: an entry of a page table; these are the values in print", range = ns::LONG)]
    pub(crate) map_ns: Dur,
    /// beginning a page's descriptor
    #[param(default = "20", source = "open 10..40: a descriptor is a line, half to twice", range = ns::LONG)]
    pub(crate) describe_ns: Dur,
    /// pages read at once from the swap device
    #[param(
        default = "8",
        source = "datasheet: Linux, vm.page-cluster = 3",
        min = 1,
        max = 64,
        power_of_two
    )]
    pub(crate) readahead: u64,
    /// the swap device: hdd 8 ms, 150 MB/s, one request; ssd 150 us, 500 MB/s, 32; nvme 90 us, 3 GB/s, 64
    #[param(default = "ssd", source = "open hdd|ssd: AMF §6.1 names both")]
    pub(crate) swap: Option<SwapDevice>,
    /// its size in GiB
    #[param(
        acts = "os.swap=hdd|ssd|nvme",
        default = "768",
        source = "open 576..1152: not published; AMF §6.1's 675 instances, simulated with the least of its memory, fill 573 GiB, and the paper tells of no program that was killed; to twice that",
        min = 1,
        max = 4096
    )]
    pub(crate) swap_gib: u64,
}
