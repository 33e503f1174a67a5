//! Every parameter in one table.

use crate::params::{Cost, KernelParameters, MemoryParameters};
use crate::policies::{self, DesignParameters, POLICIES};
use crate::stats;
use params::{Param, Parameters, Settings, StatisticInfo, Statistics, join, rows};

/// Every parameter: of the machine, of its kernel, then of each policy.
pub(crate) const PARAMETERS: &[Param] = &described(&join::<_, { rows(PARTS) }>(PARTS));

/// Those that act on a machine as `settings` describe it: what machines share, and its policy's own.
pub(crate) fn tables(settings: &Settings) -> [&'static [Param]; 2] {
    let policy = DesignParameters::from_settings(settings).design.0;
    let shared = PARAMETERS.split_at(SHARED).0;
    [shared, policy.params]
}

/// What a run on such a machine reports.
pub(crate) fn statistics(settings: &Settings) -> Vec<&'static [StatisticInfo]> {
    let policy = DesignParameters::from_settings(settings).design.0;
    vec![stats::Run::TABLE, stats::Front::TABLE, policy.statistics]
}

/// Whether a key of these does anything, besides what its own row says.
pub(crate) fn acts(settings: &Settings, key: &str) -> bool {
    let policy = DesignParameters::from_settings(settings).design.0;
    // A measured cost stands for these.
    let is_measured = MemoryParameters::from_settings(settings).cost == Cost::Curve;
    let measured: &[&str] =
        if is_measured { &["fusion.pm_read_ns", "fusion.pm_write_ns", "fusion.pm_mbps"] } else { &[] };
    !policy.ignores.iter().chain(measured).any(|start| key.starts_with(start))
}

/// Rows before the policies' own.
const SHARED: usize =
    DesignParameters::TABLE.len() + MemoryParameters::TABLE.len() + KernelParameters::TABLE.len();

const PARTS: &[&[Param]] = &{
    let mut parts: [&[Param]; POLICIES.len() + 3] = [&[]; POLICIES.len() + 3];
    (parts[0], parts[1], parts[2]) =
        (DesignParameters::TABLE, MemoryParameters::TABLE, KernelParameters::TABLE);
    let mut n = 0;
    while n < POLICIES.len() {
        parts[n + 3] = POLICIES[n].params;
        n += 1;
    }
    parts
};

/// The first row is `fusion.design`, whose meaning is what each policy says of itself.
const fn described<const N: usize>(table: &[Param; N]) -> [Param; N] {
    let mut table = *table;
    table[0].meaning = policies::ABOUT;
    table
}
