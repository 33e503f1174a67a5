//! Speed of machines at page fidelity: programs that fill memory, go over it, and visit it at random.

use crate::Failure;
use crate::output;
use machine::{Description, RunOptions, WorkloadDescription};
use serde_json::json;

/// Million visits of pages a second.
pub(crate) const GOAL: f64 = 20.0;

/// What runs: `spec-mix`'s programs, and how often they go over their memory.
const CASES: [(&str, &str, &str); 3] =
    [("sweeps", "bwaves", "50"), ("random", "mcf", "12"), ("the mix", "all", "8")];

/// For each case its name, million visits a second, and faults a visit.
pub(crate) fn rates() -> Result<Vec<serde_json::Value>, Failure> {
    CASES.into_iter().map(|(case, program, passes)| rate(case, program, passes)).collect()
}

fn rate(case: &str, program: &str, passes: &str) -> Result<serde_json::Value, Failure> {
    let machine = Description::preset("amf")?;
    let mut workload = WorkloadDescription::named("spec-mix")?;
    for (key, value) in
        [("workload.instances", "18"), ("workload.program", program), ("workload.passes", passes)]
    {
        workload.set(key, value)?;
    }
    let (report, seconds) = output::timed(|| machine::run(&machine, &workload, &RunOptions::default()));
    let report = report.map_err(output::failed)?;
    let faults = report.get("os.minor_faults").unwrap_or(0.0);
    Ok(json!({
        "case": case,
        "million_visits_per_second": report.references as f64 / seconds / 1e6,
        "faults_per_visit": faults / report.references as f64,
    }))
}
