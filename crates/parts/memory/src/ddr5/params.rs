//! Parameters of a DDR5 channel.

use super::{DDR5_4800, Refresh, with};
use crate::ddr4::params::{ChannelParameters, controller_clocks};
use crate::ddr4::{GroupBits, Spec};
use params::{Dur, Parameters, Settings, Words};

/// Sizes of DRAM devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum Density {
    /// 16 Gb.
    #[word = "16"]
    Gb16,
    /// 32 Gb.
    #[word = "32"]
    Gb32,
}

/// Which part of an address names the bank group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum Mapping {
    /// The lowest: neighbouring lines are in different groups.
    GroupsByLine,
    /// The same, and group and bank each XOR bits of the row.
    HashedByLine,
    /// The lowest above a row: neighbouring rows are.
    GroupsByRow,
}

/// How many banks a refresh takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum RefreshWord {
    /// All of a rank.
    AllBanks,
    /// The same one of each group.
    SameBank,
}

/// The channel.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.ddr5")]
pub struct Ddr5Parameters {
    /// size of the DRAM devices of a channel of DDR5-4800; decides what a refresh needs: of all banks 295 or 410 ns, of one in each
    /// group 130 or 190
    #[param(default = "16", source = "open 16|32: both are sold")]
    pub density_gbit: Density,
    /// where an address has its bank group: groups-by-line, neighbouring lines of a sub-channel are in different groups;
    /// hashed-by-line, these too, and group and bank are each XOR bits of the row, so that what is far apart by a power of two is in
    /// different banks; groups-by-row, neighbouring rows are in different groups, and the lines of one get two thirds of the pins
    #[param(
        default = "hashed-by-line",
        source = "open hashed-by-line|groups-by-line|groups-by-row: hosts interleave groups and hash banks; by which bits is not published"
    )]
    pub mapping: Mapping,
    /// what a refresh takes: all-banks, a whole rank; same-bank, one bank of each group, beside which the others go on
    #[param(default = "all-banks", source = "open all-banks|same-bank: JESD79-5 has both, a host chooses")]
    pub refresh: RefreshWord,
    /// time between refreshes of all banks; of the same bank in every group an eighth of it
    #[param(default = "3900", source = "datasheet: JESD79-5, up to 85 C", range = (1, 100_000_000))]
    pub trefi_ns: Dur,
    /// refreshes that may be put off while requests wait
    #[param(default = "0", source = "datasheet: JESD79-5, at most four", min = 0, max = 4)]
    pub postponed: u64,
}

/// A sub-channel as `s` describes it.
///
/// # Errors
/// The key that does not fit, and what is accepted.
pub fn sub_channel(s: &Settings) -> Result<Spec, String> {
    let (ddr5, own) = (Ddr5Parameters::from_settings(s), ChannelParameters::from_settings(s));
    let refresh = match ddr5.refresh {
        RefreshWord::AllBanks => Refresh::AllBanks,
        RefreshWord::SameBank => Refresh::SameBank,
    };
    let gigabits = match ddr5.density_gbit {
        Density::Gb16 => 16,
        Density::Gb32 => 32,
    };
    let spec = Spec {
        groups: match ddr5.mapping {
            Mapping::GroupsByLine => GroupBits::Lines,
            Mapping::HashedByLine => GroupBits::HashedLines,
            Mapping::GroupsByRow => GroupBits::Rows,
        },
        postponed: ddr5.postponed,
        controller: controller_clocks(s, &DDR5_4800)?,
        ranks: own.ranks,
        queue: own.queue,
        ..with(DDR5_4800, gigabits, refresh, ddr5.trefi_ns)?
    };
    if spec.ranks > 2 {
        return Err(format!("memory.ddr.ranks = {}: a channel of DDR5 takes 1 or 2", spec.ranks));
    }
    if spec.refi < spec.least_refresh_interval() {
        let least = spec.least_refresh_interval() * spec.clock_ps * refresh.shares();
        let (given, least) = (ddr5.trefi_ns.as_ns(), least.div_ceil(1000));
        return Err(format!("memory.ddr5.trefi_ns = {given}: give at least {least}"));
    }
    spec.check().map_err(|e| format!("memory.ddr5: {e}"))?;
    Ok(spec)
}
