//! Parameters of the device.

use memory::Replacement;
use params::{Dur, Parameters, Words, ns};

/// When a slot's changed page goes to the NAND, which has to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum WriteBack {
    /// It is on its way in a buffer while the other page comes.
    Buffered,
    /// It is on the NAND before the other page is asked for.
    First,
}

/// A device whose DRAM caches NAND.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "cmmh")]
pub(crate) struct CmmhParameters {
    /// size of the device in MiB
    #[param(
        default = "8192",
        source = "datasheet: CMM-H, 1 TB, scaled by 128, so that programs of many threads have room",
        min = 1,
        max = 65536
    )]
    pub(crate) capacity_mib: u64,
    /// its DRAM that caches pages, in MiB
    #[param(default = "48", source = "datasheet: CMM-H, 48 GB, scaled by 1024", min = 1, max = 16384)]
    pub(crate) cache_mib: u64,
    /// slots of a set at most: a page can be in so many places; sets are as few as that allows, and differ by no more than one slot
    #[param(
        default = "3",
        source = "fitted to hardware.cmmh.chase: how many loads of a working set of a third of the DRAM miss it",
        min = 1,
        max = 4096
    )]
    pub(crate) ways: u64,
    /// which page of a set leaves: least recently cached or used, or CLOCK
    #[param(default = "lru", source = "open lru|lrc|clock: not published")]
    pub(crate) replacement: Replacement,
    /// pages whose tags are at hand; other tags are fetched from the DRAM
    #[param(default = "512", source = "fitted to hardware.cmmh.chase: more than a tenth and less than half of the loads are fast", min = 4, max = 1 << 24)]
    pub(crate) tag_pages: usize,
    /// time to fetch a tag
    #[param(default = "540", source = "fitted to hardware.cmmh.chase: p50", range = ns::NS)]
    pub(crate) tag_ns: Dur,
    /// channels of its DRAM
    #[param(default = "2", source = "open 1|2|4: not published", min = 1, max = 16)]
    pub(crate) channels: u64,
    /// pages that are on their way from the NAND at once
    #[param(default = "64", source = "open 16..256: not published", min = 1, max = 4096)]
    pub(crate) fills: usize,
    /// time from a miss to its request of the NAND
    #[param(default = "1000", source = "open 500..2000: not published, half to twice", range = ns::NS)]
    pub(crate) firmware_ns: Dur,
    /// a changed page that has to make room: buffered, it is on its way to the NAND while the other page comes; first, it is there before
    /// the other page is asked for
    #[param(
        default = "buffered",
        source = "open buffered|first: not published; which one a request of Redis waits for: docs/models/cmmh.md"
    )]
    pub(crate) write_back: WriteBack,
    /// pages on their way to the NAND at once
    #[param(
        acts = "cmmh.write_back=buffered",
        default = "64",
        source = "open 16..256: not published",
        min = 1,
        max = 4096
    )]
    pub(crate) write_buffer_pages: usize,
    /// energy that brings changed pages to the NAND after a power failure, in microjoules
    #[param(
        default = "10000000",
        source = "open 10000000: enough for every slot; less is what holdup asks",
        min = 0,
        max = 1_000_000_000_000
    )]
    pub(crate) battery_uj: u64,
    /// energy of saving one page, in microjoules
    #[param(
        default = "100",
        source = "open 50..200: 1 W while a page is programmed; not published",
        min = 1,
        max = 1_000_000
    )]
    pub(crate) dump_page_uj: u64,
}
