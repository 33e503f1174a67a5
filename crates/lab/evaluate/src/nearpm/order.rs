//! Partitioned persist ordering: watched in every run, explored, and recovered from after power failures; and each of
//! its rules left out once.

use super::{MD, MECHANISMS, SWSYNC};
use crate::power::cut;
use crate::verdict::Finding;
use explore::explore;
use machine::{Description, RunError, RunOptions, WorkloadDescription, run};
use nearpm::{Mutant, NearSpace};

const EVERY: u64 = 20;
const POINTS: usize = 2000;
const STATES: usize = 2_000_000;
/// Small runs, cut often.
const CUT: [&str; 3] = ["hashmap", "pmemkv", "tatp"];

pub(super) fn finding(seed: u64) -> Finding {
    match decide(seed) {
        Ok(found) => found,
        Err(e) => Finding::Open(e.to_string()),
    }
}

fn decide(seed: u64) -> Result<Finding, RunError> {
    let explored = explore(&NearSpace::SMALL, STATES);
    let caught =
        |m: Mutant| explore(&NearSpace { mutant: Some(m), ..NearSpace::SMALL }, STATES).violation.is_some();
    let missed: Vec<&str> =
        Mutant::ALL.iter().filter(|(_, m, _)| !caught(*m)).map(|(name, ..)| *name).collect();
    let (mut points, mut failures) = (0, 0);
    for machine in [MD, SWSYNC] {
        for (mechanism, _) in MECHANISMS {
            for workload in CUT {
                let (machine, workload) = (Description::preset(machine)?, small(workload, mechanism)?);
                let found = cut(&machine, &workload, EVERY, POINTS, seed)?;
                points += found.points;
                failures += found.failures.len();
            }
        }
    }
    let between = without("neardata.ordering", "none", "shadow", seed)?;
    let across = without("neardata.sync", "none", "checkpoint", seed)?;
    let (Some(between), Some(across)) = (between, across) else {
        return Ok(Finding::Statement { holds: false, because: "a rule left out was not noticed".into() });
    };
    Ok(Finding::Statement {
        holds: explored.complete && explored.violation.is_none() && missed.is_empty() && failures == 0,
        because: format!(
            "{} states explored without a violation, {} of {} mutants caught; {points} power failures, {failures} with \
             data lost; without order between host and device: {between}; without synchronisation: {across}",
            explored.states,
            Mutant::ALL.len() - missed.len(),
            Mutant::ALL.len(),
        ),
    })
}

fn small(workload: &str, mechanism: &str) -> Result<WorkloadDescription, RunError> {
    let mut workload = WorkloadDescription::named(workload)?;
    workload.set("workload.operations", "60")?;
    workload.set("workload.threads", "2")?;
    workload.set("workload.mechanism", mechanism)?;
    _ = workload.set("workload.subscribers", "1000");
    Ok(workload)
}

/// What a run says that goes without one rule; none when nobody notices.
fn without(key: &str, value: &str, mechanism: &str, seed: u64) -> Result<Option<String>, RunError> {
    let mut machine = Description::preset(MD)?;
    machine.set(key, value)?;
    let options = RunOptions { seed, ..RunOptions::default() };
    match run(&machine, &small("btree", mechanism)?, &options) {
        Err(RunError::Violation(text)) => Ok(Some(text)),
        Err(e) => Err(e),
        Ok(_) => Ok(None),
    }
}
