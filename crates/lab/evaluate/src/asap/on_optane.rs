//! The paper's programs before Optane DIMMs.

use super::{WORKLOADS, average, compared, operations, sized};
use crate::Effort;
use crate::figure::Grid;
use crate::media::{OPTANE, on_optane};
use crate::runs::{Key, Runs};
use machine::ConfigError;

/// Claims of release persistency, which the presets on DIMMs have, and their machines.
const CLAIMS: [&str; 3] = ["asap.speedup.rp", "asap.over-hops.rp", "asap.of-ideal"];
const MACHINES: [&str; 4] = ["intel", "hops-rp", "asap-rp", "eadr"];

pub(super) fn declare(runs: &mut Runs) -> Result<(), ConfigError> {
    for workload in WORKLOADS {
        let operations = operations(workload, Effort::Whole)?;
        for machine in MACHINES.map(|machine| format!("{machine}{OPTANE}")) {
            runs.add(Key::new(&machine, workload, 4), &machine, &sized(workload, &operations, &[]))?;
        }
    }
    Ok(())
}

pub(super) fn tables(runs: &Runs) -> Vec<Grid> {
    let numbers = |id: &str, ending: &str| {
        let [machine, over] = compared(id)?.map(|machine| format!("{machine}{ending}"));
        Some(vec![average(runs, &machine, &over)])
    };
    let caption = "Two controllers, a DIMM as it was measured behind each instead of constant times, a page of 4 KiB on one of them.";
    vec![on_optane(&CLAIMS, &numbers, caption)]
}
