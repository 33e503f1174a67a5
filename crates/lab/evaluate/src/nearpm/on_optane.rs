//! The paper's programs where devices keep their data in Optane DIMMs.

use super::{MACHINES, MECHANISMS, WORKLOADS, add, of_programs};
use crate::Effort;
use crate::figure::Grid;
use crate::media::{OPTANE, on_optane};
use crate::runs::Runs;
use machine::ConfigError;

/// Claims that are of all programs.
const CLAIMS: [&str; 6] = [
    "nearpm.overhead-share",
    "nearpm.movement-share",
    "nearpm.region-speedup",
    "nearpm.e2e.md",
    "nearpm.e2e.sd",
    "nearpm.e2e.md-swsync",
];

pub(super) fn declare((runs, effort): (&mut Runs, Effort)) -> Result<(), ConfigError> {
    for machine in MACHINES.map(|machine| format!("{machine}{OPTANE}")) {
        for (mechanism, _) in MECHANISMS {
            for workload in WORKLOADS {
                add((&mut *runs, effort), (&machine, &machine, mechanism), workload, 1, &[])?;
            }
        }
    }
    Ok(())
}

pub(super) fn tables(runs: &Runs) -> Vec<Grid> {
    let caption = "Logging, checkpointing and shadow paging: the platform and its link as they are, and behind each device a DIMM as it was measured instead of constant times.";
    vec![on_optane(&CLAIMS, &|id, ending| of_programs(runs, id, ending), caption)]
}
