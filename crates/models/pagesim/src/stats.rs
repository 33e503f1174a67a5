//! Statistics of every machine at page fidelity; a policy's own are in its file.

use crate::policies::POLICIES;
use params::{StatisticInfo, Statistics};

/// The programs, the kernel, memory.
#[derive(Statistics)]
#[statistics(prefix = "os")]
pub(crate) struct Run {
    /// operations of the workload a simulated second
    #[stat(name = ".throughput.operations_per_second", unit = "1/s")]
    pub(crate) operations_per_second: f64,
    /// operations of the workload that ended
    #[stat(name = ".cpu.operations")]
    pub(crate) operations: f64,
    /// page faults in which software fetched the page
    #[stat(column = "major faults", explains = "os.system_time time.idle")]
    pub(crate) major_faults: f64,
    /// page faults that needed no device
    #[stat(column = "minor faults", explains = "os.system_time")]
    pub(crate) minor_faults: f64,
    /// visits of pages by programs
    #[stat(explains = "os.user_time")]
    pub(crate) visits: f64,
    /// pages read from the swap device besides the one that was wanted
    pub(crate) readahead_pages: Option<f64>,
    /// pages that kswapd sent away
    #[stat(explains = "os.system_time")]
    pub(crate) kswapd_pages: f64,
    /// pages that programs and kpmemd had to send away themselves
    pub(crate) direct_reclaim_pages: f64,
    /// pages that reclaim looked at
    pub(crate) scanned_pages: f64,
    /// most bytes on the swap device at once
    #[stat(unit = "B", column = "swap max")]
    pub(crate) swap_bytes_max: Option<f64>,
    /// pages read from the swap device
    #[stat(explains = "time.idle")]
    pub(crate) swap_read_pages: Option<f64>,
    /// pages written to the swap device
    pub(crate) swap_written_pages: Option<f64>,
    /// the kernel's time as a share of the cores' time; with os.user_share it can pass 1, as kernel threads take no core here
    pub(crate) system_share: f64,
    /// time of programs, summed over cores
    #[stat(unit = "ns")]
    pub(crate) user_time: f64,
    /// time of the kernel, its threads included
    #[stat(unit = "ns")]
    pub(crate) system_time: f64,
    /// the part of os.system_time that threads of the kernel had (kswapd, kpmemd), which take no core here
    #[stat(unit = "ns")]
    pub(crate) kernel_threads_time: f64,
    /// most bytes of persistent memory known to the allocator at once
    #[stat(unit = "B", column = "PM online max")]
    pub(crate) pm_integrated_bytes_max: Option<f64>,
    /// most bytes of page descriptors at once
    #[stat(unit = "B", column = "descriptors")]
    pub(crate) descriptor_bytes_max: f64,
    /// programs that ended by themselves
    pub(crate) programs_ended: f64,
    /// programs that the kernel killed for want of memory
    pub(crate) oom_kills: f64,
    /// programs that ended with SIGSEGV or SIGBUS
    pub(crate) signals: f64,
    /// bytes written to the media
    #[stat(name = ".memory.bytes_written", unit = "B")]
    pub(crate) bytes_written: Option<f64>,
    /// bytes written to the most written section of persistent memory
    #[stat(name = ".fusion.section_bytes_written_max", unit = "B")]
    pub(crate) section_bytes_written_max: Option<f64>,
    /// share of the cores' time that programs had
    #[stat(column = "user share")]
    pub(crate) user_share: f64,
    /// energy of memory: idle, in use, and waking; hidden memory has none
    #[stat(name = ".energy_j", unit = "J", column = "energy")]
    pub(crate) energy_j: f64,
}

/// A cache in front of persistent memory.
#[derive(Statistics)]
#[statistics(prefix = "fusion", sometimes)]
pub(crate) struct Front {
    /// visits and fillings of pages that hit the cache in front of persistent memory
    pub(crate) cache_hits: f64,
    /// visits and fillings of pages that missed it
    #[stat(explains = "os.user_time os.system_time")]
    pub(crate) cache_misses: f64,
}

/// Every table: of all machines, then of each policy.
pub(crate) const STATISTICS: &[&[StatisticInfo]] = &{
    let mut tables: [&[StatisticInfo]; POLICIES.len() + 2] = [&[]; POLICIES.len() + 2];
    (tables[0], tables[1]) = (Run::TABLE, Front::TABLE);
    let mut n = 0;
    while n < POLICIES.len() {
        tables[n + 2] = POLICIES[n].statistics;
        n += 1;
    }
    tables
};
