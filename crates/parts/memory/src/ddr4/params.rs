//! Parameters of a DDR4 channel.

use params::{Dur, Parameters, Words, ns};

/// Data rates that are known, in MT/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum Speed {
    /// DDR4-1600.
    #[word = "1600"]
    Mt1600,
    /// DDR4-2400.
    #[word = "2400"]
    Mt2400,
}

/// Sizes of DRAM devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum Density {
    /// 4 Gb.
    #[word = "4"]
    Gb4,
    /// 8 Gb.
    #[word = "8"]
    Gb8,
    /// 16 Gb.
    #[word = "16"]
    Gb16,
}

/// Which part of an address names the bank group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum Mapping {
    /// The lowest above a row: neighbouring rows are in different groups.
    GroupsBelow,
    /// The highest: what is near is in one group, and column commands are tCCD_L apart.
    GroupsAbove,
}

/// The channel.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.ddr")]
pub struct DdrParameters {
    /// data rate of the NVDIMM's channel
    #[param(default = "1600", source = "paper: NVDIMM-C Table I")]
    pub speed: Speed,
    /// size of its DRAM devices; decides what a refresh needs: 260, 350 or 550 ns
    #[param(default = "8", source = "paper: NVDIMM-C §III-B")]
    pub density_gbit: Density,
    /// where an address has its bank group: groups-below, neighbouring rows are in different groups; groups-above, what is
    /// near is in one, and a stream gets 80 % of the pins
    #[param(
        default = "groups-below",
        source = "open groups-below|groups-above: hosts interleave groups; which bits name them is not published"
    )]
    pub mapping: Mapping,
    /// time that the channel's controller adds to a read
    #[param(default = "1.25", source = "open 1.25..10: one clock at least; stands at that, with which software was fitted to nvdimmc.baseline.4k", range = ns::NS)]
    pub controller_ns: Dur,
    /// time from the write pending queue's taking a write to the acknowledgement
    #[param(default = "20", source = "open 10..40: not published, half to twice", range = ns::NS)]
    pub acknowledge_ns: Dur,
}

/// Its refreshes, as the host has programmed them.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.refresh")]
pub struct RefreshParameters {
    /// time between refreshes
    #[param(default = "7800", source = "datasheet: JESD79-4, up to 85 C", range = (1, 100_000_000))]
    pub trefi_ns: Dur,
    /// time after a refresh in which the host sends nothing; an NVDIMM-C stretches it
    #[param(default = "350", source = "datasheet: JESD79-4, 8 Gb", range = ns::SERVICE)]
    pub trfc_ns: Dur,
    /// refreshes that may be put off while requests wait
    #[param(default = "0", source = "datasheet: JESD79-4 §4.26", min = 0, max = 8)]
    pub postponed: u64,
}
