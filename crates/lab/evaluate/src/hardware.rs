//! Measured devices: Optane DIMMs, DDR4 under load, an expander behind CXL, and a DRAM that caches NAND there.

mod dram_before_nand;
mod expander;
mod knees;
mod optane;
mod other_socket;
mod rows;
mod under_load;

use crate::claims::Claim;
use crate::figure::Figure;
use crate::runs::Runs;
use crate::verdict::Finding;
use crate::{Effort, Paper};
use machine::ConfigError;

/// The evaluation.
pub const PAPER: Paper = Paper {
    name: "hardware",
    is_collection: true,
    about: |seed| {
        format!(
            "seed {seed}; one row in five of Optane's published bandwidths, each a run of the `optane` machine (values were chosen by curves on which rows of both kinds are), and the DIMMs of the other socket on `optane@remote`; DDR4 under load on `cascade-lake`, an expander on `cxl-expander`, a device whose DRAM caches NAND on `cmmh`"
        )
    },
    declare,
    finding,
    figures,
    tables: optane::tables,
    runs: 20,
    live: None,
};

fn declare(effort: Effort) -> Result<Runs, ConfigError> {
    let mut runs = Runs::default();
    optane::declare(&mut runs, effort)?;
    other_socket::declare(&mut runs)?;
    under_load::declare(&mut runs)?;
    expander::declare(&mut runs)?;
    dram_before_nand::declare(&mut runs)?;
    Ok(runs)
}

fn known(claim: &Claim, values: Option<Vec<f64>>) -> Finding {
    values.map_or_else(|| Finding::unknown(&claim.id), Finding::Values)
}

fn finding(runs: &Runs, claim: &Claim, _: u64) -> Finding {
    if let Some(what) = claim.id.strip_prefix("hardware.ddr4.") {
        return known(claim, under_load::finding(runs, what));
    }
    if let Some(what) = claim.id.strip_prefix("hardware.cxl.") {
        return known(claim, expander::finding(runs, what));
    }
    if let Some(what) = claim.id.strip_prefix("hardware.cmmh.") {
        return known(claim, dram_before_nand::finding(runs, what));
    }
    if let Some(what) = claim.id.strip_prefix("hardware.optane.remote-") {
        return known(claim, other_socket::finding(runs, what));
    }
    let of = claim.id.strip_prefix("hardware.optane.").unwrap_or_default();
    optane::finding(runs, claim, of)
}

fn figures(runs: &Runs) -> Vec<Figure> {
    let optane = optane::figures(runs).into_iter().chain(knees::figures(runs));
    optane.chain(under_load::figures(runs)).chain(dram_before_nand::figures(runs)).collect()
}
