//! `coreplane bench`: how fast this host simulates.

use crate::Failure;
use crate::args::BenchArgs;
use crate::output::{self, Table};
use machine::{Description, RunOptions, WorkloadDescription};
use serde_json::json;

/// The goals of the performance budget, in million a second.
const GOAL_REFERENCES: f64 = 10.0;

const MACHINES: [&str; 7] = ["intel", "hops-ep", "hops-rp", "asap-ep", "asap-rp", "bbb", "eadr"];

pub(crate) fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let bar = output::progress(&args.common, MACHINES.len(), "bench");
    let mut rows = Vec::new();
    for name in MACHINES {
        rows.push(one(name)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    if output::is_json(&args.common) {
        output::print_json(&json!({"goal_million_references_per_second": GOAL_REFERENCES, "machines": rows}));
        return Ok(());
    }
    println!(
        "million references a host second, four harts, workload bench (goal {GOAL_REFERENCES} with ASAP on)\n"
    );
    let mut table = Table::new(["machine", "Mref/s", "of goal", "L1 hits", "events/ref"]);
    for r in &rows {
        let f = |key: &str| r[key].as_f64().unwrap_or(0.0);
        let speed = f("million_references_per_second");
        table.row([
            r["machine"].as_str().unwrap_or("").to_string(),
            format!("{speed:.1}"),
            format!("{:.2}", speed / GOAL_REFERENCES),
            format!("{:.1} %", f("l1_hit_share") * 100.0),
            format!("{:.2}", f("events_per_reference")),
        ]);
    }
    table.print();
    Ok(())
}

fn one(name: &str) -> Result<serde_json::Value, Failure> {
    let machine = Description::preset(name)?;
    let workload = WorkloadDescription::named("bench")?;
    let options = RunOptions { seed: 1, ..RunOptions::default() };
    let mut best = f64::MAX;
    let mut last = None;
    for _ in 0..3 {
        let (report, seconds) = output::timed(|| machine::run(&machine, &workload, &options));
        best = best.min(seconds);
        last = Some(report?);
    }
    let report = last.ok_or_else(|| Failure::BadInput("no run".into()))?;
    let references = report.references as f64;
    Ok(json!({
        "machine": name,
        "million_references_per_second": references / best / 1e6,
        "l1_hit_share": report.get("cpu.l1.hits").unwrap_or(0.0) / report.get("cpu.references").unwrap_or(1.0),
        "events_per_reference": report.events as f64 / references,
    }))
}
