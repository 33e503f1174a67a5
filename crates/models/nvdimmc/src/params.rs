//! Parameters of NVDIMM-C: the module, its driver, and faults that are put into it.

use crate::Replacement;
use memory::ddr4::params::{AcknowledgeParameters, ControllerParameters, DdrParameters, RefreshParameters};
use memory::nand::params::NandParameters;
use memory::params::{ControllersParameters, QueueParameters};
use params::{Dur, Param, Parameters, Settings, Words, ns};

/// What stands behind the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum Kind {
    /// DRAM alone.
    Dram,
    /// DRAM that caches NAND.
    Cached,
    /// A wait in place of the NAND.
    Hypothetical,
}

/// Which of them a machine has.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "nvdimm")]
pub struct KindParameters {
    /// what is behind the DDR4 channel: DRAM alone, DRAM that caches NAND, or a wait in place of
    /// the NAND
    #[param(default = "cached", source = "paper: NVDIMM-C §IV")]
    pub kind: Kind,
}

/// The module.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "nvdimm")]
pub struct NvdimmParameters {
    /// size of the device in MiB
    #[param(default = "7680", source = "paper: NVDIMM-C §VI, 120 GB, scaled by 16", min = 1, max = 8191)]
    pub capacity_mib: u64,
    /// its DRAM in MiB, which bounds the slots
    #[param(
        acts = "nvdimm.kind=cached|hypothetical",
        default = "16",
        source = "paper: NVDIMM-C Table I, 16 GB, scaled by 1024",
        min = 2,
        max = 8192
    )]
    pub dram_mib: u64,
    /// DRAM that caches pages, in MiB
    #[param(
        acts = "nvdimm.kind=cached|hypothetical",
        default = "15",
        source = "paper: NVDIMM-C §VII-B1, 15 GB, scaled by 1024",
        min = 1,
        max = 8191
    )]
    pub slots_mib: u64,
    /// which page goes when no slot is free: least recently cached or used, or CLOCK
    #[param(acts = "nvdimm.kind=cached|hypothetical", default = "lrc", source = "paper: NVDIMM-C §IV-B")]
    pub replacement: Replacement,
    /// commands in the CP area at once
    #[param(acts = "nvdimm.kind=cached", default = "1", source = "paper: NVDIMM-C §IV-C", min = 1, max = 32)]
    pub queue_depth: usize,
    /// bytes that the device moves in a window; a second page is there with merged or several commands
    #[param(
        acts = "nvdimm.kind=cached",
        default = "4096",
        source = "paper: NVDIMM-C §IV-A",
        min = 4096,
        max = 8192,
        power_of_two
    )]
    pub window_bytes: usize,
    /// one command writes a page back and fills its slot with the next
    #[param(
        acts = "nvdimm.kind=cached",
        default = "false",
        source = "paper: NVDIMM-C §VII-C names it as future work"
    )]
    pub merged_commands: bool,
    /// firmware: from seeing a command to asking the NAND or reading the slot
    #[param(acts = "nvdimm.kind=cached", default = "500", source = "open 200..1000: firmware on the module's processor, of which no time is published", range = ns::NS)]
    pub decode_ns: Dur,
    /// firmware: from moving a page to being ready to acknowledge it
    #[param(acts = "nvdimm.kind=cached", default = "0", source = "open 0..500: firmware on the module's processor, of which no time is published; stands at none, and anything up to its end waits for the same window", range = ns::NS)]
    pub finish_ns: Dur,
    /// pages that the device holds until the NAND has them
    #[param(
        acts = "nvdimm.kind=cached",
        default = "16",
        source = "open 8|16|32: one a die; not published",
        min = 1,
        max = 4096
    )]
    pub write_buffer_pages: usize,
    /// energy for the dump after a power failure, in microjoules
    #[param(
        acts = "nvdimm.kind=cached",
        default = "10000000",
        source = "open 10000000: enough for every slot; less is what holdup asks",
        min = 0,
        max = 1_000_000_000_000
    )]
    pub battery_uj: u64,
    /// energy of saving one page, in microjoules
    #[param(
        acts = "nvdimm.kind=cached",
        default = "100",
        source = "open 50..200: 1 W while a page is programmed; not published",
        min = 1,
        max = 1_000_000
    )]
    pub dump_page_uj: u64,
    /// the write pending queue reaches the DRAM before the dump begins
    #[param(acts = "nvdimm.kind=cached", default = "false", source = "paper: NVDIMM-C §V-C")]
    pub write_queue_survives: bool,
}

/// The page table, and faults.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "nvdimm.driver")]
pub struct FaultTimeParameters {
    /// pages whose place a core knows without a walk of the page table
    #[param(default = "64", source = "datasheet: Skylake first-level TLB", min = 1, max = 65536)]
    pub translations: usize,
    /// time of a walk of the page table, where it has the page
    #[param(default = "60", source = "open 20..150: an upper level that hits a cache, to two loads from memory", range = ns::NS)]
    pub walk_ns: Dur,
    /// time of a page fault from the program to the kernel and back, without a lock: the first touch of a page since the
    /// program mapped it, or since it left its slot
    #[param(default = "700", source = "open 500..1000: a minor fault takes 0.5 to 1 us", range = ns::NS)]
    pub fault_ns: Dur,
}

/// The driver.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "nvdimm.driver")]
pub struct DriverParameters {
    /// driver: time to map a page that is in a slot, under its lock
    #[param(default = "100", source = "open 50..200: a few cache lines and an entry of a page table", range = ns::NS)]
    pub map_ns: Dur,
    /// what that lock costs more when a core hands it to another that waits
    #[param(default = "225", source = "open 0..450: a contended lock's line and a waiter's wake-up are not published", range = ns::NS)]
    pub handoff_ns: Dur,
    /// driver: time to find a slot for a page that is in none
    #[param(default = "0", source = "open 0..1000: what the choice of a slot takes is not published; stands at none, and is fitted where a paper has numbers", range = ns::NS)]
    pub replace_ns: Dur,
    /// driver: time between two looks at an acknowledgement
    #[param(acts = "nvdimm.kind=cached", default = "500", source = "open 250..1000: the pace of the driver's loop is not published", range = ns::POLL)]
    pub poll_ns: Dur,
    /// false is a fault: no flush before a writeback
    #[param(acts = "nvdimm.kind=cached", default = "true", source = "paper: NVDIMM-C §V-B")]
    pub flush: bool,
    /// false is a fault: no invalidation after a cachefill
    #[param(acts = "nvdimm.kind=cached", default = "true", source = "paper: NVDIMM-C §V-B")]
    pub invalidate: bool,
}

/// The device that waits in place of NAND.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "nvdimm.hypothetical")]
pub struct HypotheticalParameters {
    /// what the hypothetical device waits in place of NAND and windows (tD)
    #[param(default = "0", source = "paper: NVDIMM-C §VII-D", range = ns::NS)]
    pub td_ns: Dur,
    /// waits of tD that a fault takes, in thousandths
    #[param(default = "3000", source = "paper: NVDIMM-C §VII-D, three waits", min = 0, max = 10_000)]
    pub waits_permille: u64,
}

/// What may be wrong with the device side.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "nvdimm.device")]
pub struct FaultParameters {
    /// true is a fault: the device does not wait for its window
    #[param(default = "false", source = "open false: a fault to try; there is none unless it is asked for")]
    pub ignore_window: bool,
    /// a fault: the detector sees refreshes so late
    #[param(default = "0", source = "open 0: a fault to try; there is none unless it is asked for", range = ns::NS)]
    pub detector_late_ns: Dur,
    /// a fault: of so many refreshes the detector misses one; 0 for none
    #[param(
        default = "0",
        source = "open 0: a fault to try; there is none unless it is asked for",
        min = 0,
        max = 1_000_000_000
    )]
    pub misses_one_in: u64,
    /// a fault: lines that the device reads in each window beyond what fits
    #[param(
        default = "0",
        source = "open 0: a fault to try; there is none unless it is asked for",
        min = 0,
        max = 1024
    )]
    pub overrun_lines: u64,
}

/// The tables that act on an NVDIMM as `settings` describe it.
pub fn tables(settings: &Settings) -> Vec<&'static [Param]> {
    let mut tables = vec![
        ControllersParameters::TABLE,
        QueueParameters::TABLE,
        DdrParameters::TABLE,
        ControllerParameters::TABLE,
        AcknowledgeParameters::TABLE,
        RefreshParameters::TABLE,
        KindParameters::TABLE,
        NvdimmParameters::TABLE,
        FaultTimeParameters::TABLE,
    ];
    match KindParameters::from_settings(settings).kind {
        Kind::Cached => {
            tables.extend([DriverParameters::TABLE, FaultParameters::TABLE, NandParameters::TABLE]);
        }
        Kind::Hypothetical => tables.extend([DriverParameters::TABLE, HypotheticalParameters::TABLE]),
        Kind::Dram => {}
    }
    tables
}

/// Every parameter.
pub(crate) const TABLES: &[&[Param]] = &[
    KindParameters::TABLE,
    NvdimmParameters::TABLE,
    FaultTimeParameters::TABLE,
    DriverParameters::TABLE,
    HypotheticalParameters::TABLE,
    FaultParameters::TABLE,
];
