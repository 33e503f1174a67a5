//! What of a machine and a workload a curve can be drawn of, and which keys it sets itself.

use super::sizes;
use machine::{ConfigError, Description, WorkloadDescription};
use protocol::PAGE_BYTES;

/// Keys that every run of a curve sets, and why.
const OWN: [(&str, &str); 4] = [
    ("workload.threads", "one thread follows a chain, and every other core is one of traffic (cpu.cores)"),
    ("workload.stores", "it follows from the shares of reads (--reads)"),
    ("workload.gap_ns", "its points are the gaps that it goes through"),
    ("workload.warm", "it follows from what the caches hold"),
];
/// What traffic does after the chain's last load, until it looks whether that was it, is counted: of fewer loads too much.
const LEAST_LOADS: u64 = 100;

/// Refuses what cannot be drawn.
pub(super) fn check(
    machine: &Description,
    workload: &WorkloadDescription,
    reads: &[u64],
) -> Result<(), ConfigError> {
    if !machine.is_line() {
        let (name, fidelity) = (&machine.name, machine.fidelity());
        return Err(ConfigError(format!(
            "{name}: a machine at {fidelity} fidelity has no memory under load; give one at line fidelity"
        )));
    }
    check_shares(reads)?;
    check_own(machine, workload)?;
    check_sizes(machine, workload)
}

fn check_shares(reads: &[u64]) -> Result<(), ConfigError> {
    if reads.is_empty() {
        return Err(ConfigError("--reads: a share of reads: give at least one, 50 to 100 (%)".into()));
    }
    if let Some(wrong) = reads.iter().find(|r| !(50..=100).contains(*r)) {
        return Err(ConfigError(format!(
            "--reads: a share of reads of {wrong} %: accepted are 50 to 100 (a store that goes through caches reads its line first)"
        )));
    }
    if let Some((_, twice)) = reads.iter().enumerate().find(|(n, r)| reads[..*n].contains(r)) {
        return Err(ConfigError(format!("--reads: a share of reads of {twice} % is given twice")));
    }
    Ok(())
}

/// A key that the user gives and that each run sets over would do nothing.
fn check_own(machine: &Description, workload: &WorkloadDescription) -> Result<(), ConfigError> {
    if let Some((key, why)) = OWN.iter().find(|(key, _)| workload.is_given(key)) {
        return Err(ConfigError(format!(
            "{key}: does nothing, since a curve sets it for each of its runs: {why}"
        )));
    }
    for (key, most) in sizes(machine) {
        let given = machine.settings.number(key);
        if given > most && machine.set_by_user().any(|set| set == key) {
            return Err(ConfigError(format!(
                "{key} = {given}: does nothing, since a curve cuts caches in which nothing is to be found; give at most {most}"
            )));
        }
    }
    Ok(())
}

/// Caches hold too much of a small region, and of a short run too much is not of its time.
fn check_sizes(machine: &Description, workload: &WorkloadDescription) -> Result<(), ConfigError> {
    let cached: u64 = sizes(machine).map(|(key, most)| machine.settings.number(key).min(most)).iter().sum();
    let least = (2 * cached).div_ceil(PAGE_BYTES);
    let bounds = [
        ("workload.pages", least, "the caches hold too much of such a region to measure its memory"),
        ("workload.operations", LEAST_LOADS, "so few loads are too short a run to measure"),
    ];
    for (key, least, why) in bounds {
        let given = workload.settings.number(key);
        if given < least {
            return Err(ConfigError(format!("{key} = {given}: {why}; give at least {least}")));
        }
    }
    Ok(())
}
