//! Parameters of a DDR4 channel.

use super::{GroupBits, Spec};
use params::{Dur, Parameters, Settings, Words, ns};

/// Data rates that are known, in MT/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum Speed {
    /// DDR4-1600.
    #[word = "1600"]
    Mt1600,
    /// DDR4-1866.
    #[word = "1866"]
    Mt1866,
    /// DDR4-2133.
    #[word = "2133"]
    Mt2133,
    /// DDR4-2400.
    #[word = "2400"]
    Mt2400,
    /// DDR4-2666.
    #[word = "2666"]
    Mt2666,
    /// DDR4-2933.
    #[word = "2933"]
    Mt2933,
    /// DDR4-3200.
    #[word = "3200"]
    Mt3200,
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
    /// As controllers of Skylake-SP and Cascade Lake have it with open pages.
    #[word = "skylake-sp"]
    SkylakeSp,
    /// The same with fine-grained banks.
    #[word = "skylake-sp-fine"]
    SkylakeSpFine,
}

/// The channel.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.ddr")]
pub struct DdrParameters {
    /// data rate of a channel of DDR4
    #[param(default = "1600", source = "paper: NVDIMM-C Table I")]
    pub speed: Speed,
    /// size of its DRAM devices; decides what a refresh needs: 260, 350 or 550 ns
    #[param(default = "8", source = "paper: NVDIMM-C §III-B")]
    pub density_gbit: Density,
    /// where an address has its bank group: groups-below, neighbouring rows are in different groups; groups-above, what is
    /// near is in one, and a stream gets 80 % of the pins; skylake-sp, as servers of Skylake and Cascade Lake have it with
    /// open pages, each bit of group and bank XOR one of the row's; skylake-sp-fine, neighbouring lines in two groups besides
    #[param(
        default = "groups-below",
        source = "open groups-below|groups-above: hosts interleave groups; which bits name them is published of few (Linux, drivers/edac)"
    )]
    pub mapping: Mapping,
}

/// What a controller adds to a channel, of whichever standard.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.ddr")]
pub struct ControllerParameters {
    /// time that the channel's controller adds to a read
    #[param(default = "1.25", source = "open 1.25..10: one clock at least; stands at that, with which software was fitted to nvdimmc.baseline.4k", range = ns::NS)]
    pub controller_ns: Dur,
}

/// What a controller adds for who waits until a write is durable, where no memory before the channel says so.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.ddr")]
pub struct AcknowledgeParameters {
    /// time from the write pending queue's taking a write to the acknowledgement
    #[param(default = "20", source = "open 10..40: not published, half to twice", range = ns::NS)]
    pub acknowledge_ns: Dur,
}

/// What a channel of a machine's own has besides, of whichever standard; an NVDIMM-C brings its own.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.ddr")]
pub struct ChannelParameters {
    /// ranks of a channel: 1, 2 or 4; of DDR5 1 or 2
    #[param(default = "2", source = "open 1|2|4: hosts take one to four", min = 1, max = 4, power_of_two)]
    pub ranks: usize,
    /// requests that a channel puts in order, of reads and of writes each
    #[param(
        default = "32",
        source = "open 16..64: not published; stands at 32, as reference simulators have it",
        min = 1,
        max = 64
    )]
    pub queue: usize,
}

/// What a memory's media are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum MediaWord {
    /// One server that takes constant times.
    Fixed,
    /// A channel of DDR4.
    Ddr4,
    /// A channel of DDR5.
    Ddr5,
}

/// Its refreshes, as the host has programmed them.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.refresh")]
pub struct RefreshParameters {
    /// time between refreshes
    #[param(default = "7800", source = "datasheet: JESD79-4, up to 85 C", range = (1, 100_000_000))]
    pub trefi_ns: Dur,
    /// time after a refresh in which the host sends nothing; a device that works in refreshes stretches it
    #[param(default = "350", source = "datasheet: JESD79-4, 8 Gb", range = ns::SERVICE)]
    pub trfc_ns: Dur,
    /// refreshes that may be put off while requests wait
    #[param(default = "0", source = "datasheet: JESD79-4 §4.26", min = 0, max = 8)]
    pub postponed: u64,
}

/// A channel as `s` describes it: its DRAM's own numbers, and the refresh interval that the host has programmed.
///
/// # Errors
/// A density that is not known, or a controller that takes too long.
pub fn channel(s: &Settings) -> Result<Spec, String> {
    let ddr = DdrParameters::from_settings(s);
    let speed = match ddr.speed {
        Speed::Mt1600 => Spec::DDR4_1600,
        Speed::Mt1866 => Spec::DDR4_1866,
        Speed::Mt2133 => Spec::DDR4_2133,
        Speed::Mt2400 => Spec::DDR4_2400,
        Speed::Mt2666 => Spec::DDR4_2666,
        Speed::Mt2933 => Spec::DDR4_2933,
        Speed::Mt3200 => Spec::DDR4_3200,
    };
    let gigabits = match ddr.density_gbit {
        Density::Gb4 => 4,
        Density::Gb8 => 8,
        Density::Gb16 => 16,
    };
    let spec = speed.with_density(gigabits)?;
    Ok(Spec {
        refi: spec.clocks(s.dur("memory.refresh.trefi_ns")),
        postponed: s.number("memory.refresh.postponed"),
        controller: controller_clocks(s, &spec)?,
        groups: match ddr.mapping {
            Mapping::GroupsBelow => GroupBits::Rows,
            Mapping::GroupsAbove => GroupBits::Top,
            Mapping::SkylakeSp => GroupBits::Skylake,
            Mapping::SkylakeSpFine => GroupBits::SkylakeFine,
        },
        ..spec
    })
}

/// What the controller adds to a read, in clocks of `spec`, whichever standard that is of.
///
/// # Errors
/// It is more than a controller may add.
pub(crate) fn controller_clocks(s: &Settings, spec: &Spec) -> Result<u64, String> {
    let takes = ControllerParameters::from_settings(s).controller_ns;
    let clocks = spec.clocks(takes);
    if clocks > Spec::MOST_CONTROLLER {
        let most = Spec::MOST_CONTROLLER * spec.clock_ps / 1000;
        return Err(format!("memory.ddr.controller_ns = {}: give at most {most}", takes.as_ns()));
    }
    Ok(clocks)
}

/// `dram` as a host refreshes it that sends nothing for `memory.refresh.trfc_ns`.
///
/// # Errors
/// The key that does not fit, and what is accepted.
pub fn refreshed(s: &Settings, dram: &Spec) -> Result<Spec, String> {
    let host = Spec { rfc: dram.clocks(s.dur("memory.refresh.trfc_ns")), ..*dram };
    let (trfc, trefi) = (s.dur("memory.refresh.trfc_ns"), s.dur("memory.refresh.trefi_ns"));
    if host.check().is_err() && trfc + Dur::ns(100) >= trefi {
        return Err(format!(
            "memory.refresh.trfc_ns = {}: a refresh has to end before the next; memory.refresh.trefi_ns = {} leaves up to {}",
            trfc.as_ns(),
            trefi.as_ns(),
            (trefi.as_ns() - 100.0).max(0.0)
        ));
    }
    if host.rfc < dram.rfc {
        let needs = Dur::ps(dram.rfc * dram.clock_ps).as_ns();
        return Err(format!(
            "memory.refresh.trfc_ns = {}: these devices need at least {needs} (memory.ddr.density_gbit)",
            trfc.as_ns()
        ));
    }
    if host.rfc > host.longest_refresh() {
        let most = host.longest_refresh() * host.clock_ps / 1000;
        return Err(format!("memory.refresh.trfc_ns = {}: give at most {most}", trfc.as_ns()));
    }
    host.check().map_err(|e| format!("memory.refresh: {e}"))?;
    Ok(host)
}

/// A channel of a machine's own.
///
/// # Errors
/// The key that does not fit, and what is accepted.
pub fn own_channel(s: &Settings) -> Result<Spec, String> {
    let own = ChannelParameters::from_settings(s);
    let spec = Spec { ranks: own.ranks, queue: own.queue, ..channel(s)? };
    refreshed(s, &spec)
}
