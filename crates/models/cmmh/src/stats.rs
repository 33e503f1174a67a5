//! What the device counts.

use params::{Dur, StatisticInfo, Statistics, Tally};

/// What it reports.
pub(crate) const STATISTICS: &[&[StatisticInfo]] = &[DeviceStats::TABLE, HitShare::TABLE];

/// The device.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "cmmh")]
pub(crate) struct DeviceStats {
    /// 64-byte reads of persistent memory, those for undo records included
    #[stat(name = ".memory.reads")]
    pub(crate) reads: u64,
    /// 64-byte writes that left a write pending queue
    #[stat(name = ".memory.writes")]
    pub(crate) writes: u64,
    /// bytes read from the media of persistent memory
    #[stat(name = ".memory.bytes_read", unit = "B")]
    pub(crate) bytes_read: u64,
    /// bytes written to the media of persistent memory
    #[stat(name = ".memory.bytes_written", unit = "B")]
    pub(crate) bytes_written: u64,
    /// requests whose page was in the DRAM
    pub(crate) hits: u64,
    /// requests that had a page fetched from the NAND
    #[stat(explains = "time.memory")]
    pub(crate) misses: u64,
    /// requests that found their page on its way
    pub(crate) joined: u64,
    /// requests that waited for a fill or a slot before anything was done
    pub(crate) stalls: u64,
    /// pages that had been changed, and went to the NAND when they left the DRAM
    pub(crate) writebacks: u64,
    /// requests whose tag was not at hand
    pub(crate) tag_misses: u64,
    /// time from a request's arrival to its page, summed over those that waited for one
    pub(crate) miss_time: Dur,
}

/// What follows of it.
#[derive(Statistics)]
#[statistics(prefix = "cmmh")]
pub(crate) struct HitShare {
    /// share of requests whose page was in the DRAM
    #[stat(column = "pages in DRAM")]
    hit_share: f64,
}

/// What follows from what was counted.
pub(crate) fn derived(tally: &Tally, _: f64, each: &mut dyn FnMut(&'static str, f64)) {
    if tally.get("cmmh.hits").is_none() {
        return;
    }
    let [hits, misses, joined] =
        ["hits", "misses", "joined"].map(|what| tally.number(&format!("cmmh.{what}")));
    let all = hits + misses + joined;
    HitShare { hit_share: if all > 0.0 { hits / all } else { 0.0 } }.each(each);
}
