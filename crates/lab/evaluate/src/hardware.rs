//! Measured devices: each row of the published tables is one run of the whole machine, and an error.

mod dram_before_nand;
mod expander;
mod rows;
mod under_load;

use crate::claims::Claim;
use crate::figure::{Figure, Lines, row};
use crate::runs::{Key, Runs};
use crate::verdict::Finding;
use crate::{Effort, Paper};
use machine::ConfigError;
use rows::{Part, Row};

/// The evaluation.
pub const PAPER: Paper = Paper {
    name: "hardware",
    is_collection: true,
    about: |seed| {
        format!(
            "seed {seed}; one row in five of Optane's published bandwidths, each a run of the `optane` machine (values were chosen by curves on which rows of both kinds are); DDR4 under load on `cascade-lake`, an expander on `cxl-expander`, a device whose DRAM caches NAND on `cmmh`"
        )
    },
    declare,
    finding,
    figures,
    tables: crate::no_tables,
    runs: 20,
    live: None,
};

/// The machine that stands for the host of the measurements.
const MACHINE: &str = "optane";
const BANDWIDTH: &str = "throughput.bytes_per_second";

/// Of so many rows one is run.
fn step(effort: Effort) -> usize {
    match effort {
        Effort::Whole => 5,
        Effort::Design => 40,
    }
}

/// The rows that are run: spread over the tables, which are sorted.
fn sample(effort: Effort) -> impl Iterator<Item = Row> {
    rows::all().into_iter().step_by(step(effort))
}

fn declare(effort: Effort) -> Result<Runs, ConfigError> {
    let mut runs = Runs::default();
    for row in sample(effort) {
        runs.add(Key::new(&row.name(), "lattester", row.threads), MACHINE, &row.sets())?;
    }
    under_load::declare(&mut runs)?;
    expander::declare(&mut runs)?;
    dram_before_nand::declare(&mut runs)?;
    for (name, sets) in idle() {
        runs.add(Key::new(name, "lattester", 1), MACHINE, &sets)?;
    }
    for point in rows::by_threads() {
        runs.add(Key::new(&point.row.name(), "lattester", point.row.threads), MACHINE, &point.row.sets())?;
    }
    Ok(runs)
}

/// One access at a time: the runs whose mean time is published.
fn idle() -> [(&'static str, Vec<(&'static str, String)>); 3] {
    let of = |operation: &str, pattern: &str, rest: (&'static str, &str)| {
        vec![
            ("workload.operation", operation.to_string()),
            ("workload.pattern", pattern.to_string()),
            ("workload.access_size", "64".to_string()),
            ("workload.stride", "64".to_string()),
            (rest.0, rest.1.to_string()),
        ]
    };
    [
        ("reads one after the other", of("load", "stride", ("cpu.outstanding_misses", "1"))),
        ("reads at random", of("load", "random", ("cpu.outstanding_misses", "1"))),
        ("non-temporal stores", of("ntstore", "stride", ("workload.fence_size", "64"))),
    ]
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
    let of = claim.id.strip_prefix("hardware.optane.").unwrap_or_default();
    if of == "idle.fit" {
        let time = |(name, _): &(&str, _)| 64e9 / runs.get(name, "lattester", 1, BANDWIDTH);
        return Finding::Values(idle().iter().map(time).collect());
    }
    let (most_median, most_p90) = if of == "all" { (0.08, 0.25) } else { (0.15, f64::INFINITY) };
    let counts = |row: &Row| match of.rsplit_once('.') {
        Some((operation, part)) => row.operation == operation && row.part.name() == part,
        None => of == "all" && row.part == Part::Test,
    };
    let errors = sample(Effort::Whole).filter(counts).map(|row| error(runs, &row).abs());
    let Some([median, p90]) = quantiles(errors.collect()) else { return Finding::unknown(&claim.id) };
    let holds = median.1 <= most_median && p90.1 <= most_p90;
    let because = format!("{} rows: median {:.3}, 90th percentile {:.3}", median.0, median.1, p90.1);
    Finding::Statement { holds, because }
}

/// How far a row's bandwidth is from the measured one, as a share of that.
fn error(runs: &Runs, row: &Row) -> f64 {
    simulated(runs, row) / row.mb_per_s - 1.0
}

/// MB/s.
fn simulated(runs: &Runs, row: &Row) -> f64 {
    runs.get(&row.name(), "lattester", row.threads, BANDWIDTH) / 1e6
}

/// How many there are, with their median and their 90th percentile; none of nothing.
fn quantiles(mut errors: Vec<f64>) -> Option<[(usize, f64); 2]> {
    errors.sort_by(f64::total_cmp);
    let count = errors.len();
    let at = |share: f64| errors.get((count as f64 * share) as usize).map(|e| (count, *e));
    Some([at(0.5)?, at(0.9)?])
}

fn figures(runs: &Runs) -> Vec<Figure> {
    let points = rows::by_threads();
    let x = |threads: u64| Some(threads as f64);
    let mut bandwidths = Vec::new();
    let mut residuals = Vec::new();
    for point in &points {
        let (row_, threads) = (&point.row, point.row.threads);
        let [measured, ours] = [row_.mb_per_s / 1e3, simulated(runs, row_) / 1e3];
        bandwidths.push(row("", &format!("{}, measured", point.series), x(threads), measured));
        bandwidths.push(row("", &format!("{}, simulated", point.series), x(threads), ours));
        residuals.push(row("", point.series, x(threads), (ours / measured - 1.0) * 100.0));
    }
    let order = ["read", "ntstore", "store+clwb"];
    let both: Vec<String> =
        order.iter().flat_map(|s| [format!("{s}, measured"), format!("{s}, simulated")]).collect();
    let both: Vec<&str> = both.iter().map(String::as_str).collect();
    let figure = Lines {
        name: "optane-threads",
        title: "Bandwidth of one DIMM by threads",
        caption: "Measured (Yang et al., FAST 2020) and simulated.",
        axis: "GB/s",
        x: "threads",
        order: &both,
    };
    let below = Lines {
        name: "optane-residuals",
        title: "Simulated over measured",
        caption: "Of the figure above.",
        axis: "error in %",
        x: "threads",
        order: &order,
    };
    let optane = [figure.figure("lines", bandwidths), below.figure("lines", residuals)];
    optane.into_iter().chain(under_load::figures(runs)).chain(dram_before_nand::figures(runs)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_marked_test_are_most_of_them_and_every_operation_has_both_kinds() {
        let rows = rows::all();
        assert!(rows.len() > 3_500, "{}", rows.len());
        for operation in ["load", "store", "store+clwb", "ntstore"] {
            let of = |part| rows.iter().filter(|r| r.operation == operation && r.part == part).count();
            assert!(of(Part::Fit) > 50 && of(Part::Test) > 2 * of(Part::Fit), "{operation}");
        }
    }

    #[test]
    fn quantiles_are_of_sorted_errors() {
        let errors = (0..10).rev().map(f64::from).collect();
        assert_eq!(quantiles(errors), Some([(10, 5.0), (10, 9.0)]));
        assert_eq!(quantiles(Vec::new()), None);
    }
}
