//! What the channel, the device and the driver count.

use params::{Dur, StatisticInfo, Statistics, Tally};

/// What an NVDIMM reports.
pub(crate) const STATISTICS: &[&[StatisticInfo]] =
    &[ChannelStats::TABLE, DeviceStats::TABLE, DriverStats::TABLE, HitShares::TABLE];

/// What one without a device side reports.
pub(crate) const HOST_STATISTICS: &[&[StatisticInfo]] =
    &[ChannelStats::TABLE, DriverStats::TABLE, HitShares::TABLE];

/// What one that is DRAM alone reports, whose driver looks for no slots.
pub(crate) const DRAM_STATISTICS: &[&[StatisticInfo]] = &[ChannelStats::TABLE, DriverStats::TABLE];

/// The channel.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "memory")]
pub(crate) struct ChannelStats {
    /// 64-byte reads of persistent memory, those for undo records included
    pub(crate) reads: u64,
    /// 64-byte writes that left a write pending queue
    pub(crate) writes: u64,
    /// bytes read from the media of persistent memory
    #[stat(unit = "B")]
    pub(crate) bytes_read: u64,
    /// bytes written to the media of persistent memory
    #[stat(unit = "B")]
    pub(crate) bytes_written: u64,
    /// writes that found the write pending queue full
    #[stat(name = "write_pending_queue.waits")]
    pub(crate) waits: u64,
    /// rows opened in the NVDIMM's DRAM by the host
    #[stat(name = ".ddr4.activates")]
    pub(crate) activates: u64,
    /// refreshes of the NVDIMM's DRAM
    #[stat(name = ".ddr4.refreshes")]
    pub(crate) refreshes: u64,
    /// time from a read's arrival at the channel to its data, summed over reads
    #[stat(name = ".ddr4.read_time")]
    pub(crate) read_time: Dur,
}

/// The device side.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "nvdimm")]
pub(crate) struct DeviceStats {
    /// refreshes, each with a window
    pub(crate) windows: u64,
    /// windows in which the device moved a page
    pub(crate) windows_used: u64,
    /// pages that the device moved into slots
    pub(crate) cachefills: u64,
    /// pages that the device took from slots
    pub(crate) writebacks: u64,
}

/// The driver.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "nvdimm")]
pub(crate) struct DriverStats {
    /// changes of a core from one page of the device to another, but for what it asks for ahead, and accesses that failed
    pub(crate) page_visits: u64,
    /// changes of a core from one line of the device to another, but for what it asks for ahead, and accesses that failed
    pub(crate) line_visits: u64,
    /// page faults: the page was in no slot
    #[stat(column = "DIMM faults", explains = "time.kernel")]
    pub(crate) faults: Option<u64>,
    /// page faults that put a page into the page table: its first touch since the program mapped it, or since it came back
    pub(crate) first_touches: u64,
    /// faults that ended with an I/O error
    pub(crate) io_errors: Option<u64>,
}

/// What follows of the driver.
#[derive(Statistics)]
#[statistics(prefix = "nvdimm")]
pub(crate) struct HitShares {
    /// share of page visits that found their page in the DRAM
    #[stat(name = "hit_share.page", column = "pages found")]
    pub(crate) page: f64,
    /// share of line visits that found their page in the DRAM
    #[stat(name = "hit_share.line")]
    pub(crate) line: f64,
}

/// What follows from what was counted.
pub(crate) fn derived(tally: &Tally, _: f64, each: &mut dyn FnMut(&'static str, f64)) {
    if tally.get("nvdimm.faults").is_some() {
        // A page that was asked for ahead may have gone again when a core comes to it: two faults, and one visit.
        let found = |visits: f64| (1.0 - tally.number("nvdimm.faults") / visits).max(0.0);
        let share = |visits: f64| if visits > 0.0 { found(visits) } else { 0.0 };
        let [page, line] = ["nvdimm.page_visits", "nvdimm.line_visits"].map(|name| share(tally.number(name)));
        HitShares { page, line }.each(each);
    }
}
