//! Optane DIMMs: each row of the published tables is one run of the whole machine, and an error.

use super::knees;
use super::rows::{self, MACHINE, Part, Point, Row};
use crate::Effort;
use crate::claims::Claim;
use crate::figure::{Cell, Figure, Grid, Lines, row};
use crate::runs::{Key, Runs};
use crate::verdict::Finding;
use machine::ConfigError;

pub(super) const BANDWIDTH: &str = "throughput.bytes_per_second";
const OPERATIONS: [&str; 4] = ["load", "ntstore", "store", "store+clwb"];

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

/// The same of the rows that say which DIMMs a thread has.
fn alignments(effort: Effort) -> impl Iterator<Item = Row> {
    rows::alignments().into_iter().step_by(step(effort))
}

pub(super) fn declare(runs: &mut Runs, effort: Effort) -> Result<(), ConfigError> {
    let points = [rows::by_threads(), rows::by_fences()].into_iter().flatten().map(|point| point.row);
    for row in sample(effort).chain(alignments(effort)).chain(points) {
        runs.add(Key::new(&row.name(), "lattester", row.threads), MACHINE, &row.sets())?;
    }
    for (name, sets) in idle() {
        runs.add(Key::new(name, "lattester", 1), MACHINE, &sets)?;
    }
    knees::declare(runs)
}

/// One access at a time, with the fence that was timed with it: the runs whose mean time is published.
pub(super) fn idle() -> [(&'static str, Vec<(&'static str, String)>); 3] {
    let of = |operation: &str, pattern: &str| {
        vec![
            ("workload.operation", operation.to_string()),
            ("workload.pattern", pattern.to_string()),
            ("workload.access_size", "64".to_string()),
            ("workload.stride", "64".to_string()),
            ("workload.fence_size", "64".to_string()),
        ]
    };
    [
        ("reads one after the other", of("load", "stride")),
        ("reads at random", of("load", "random")),
        ("non-temporal stores", of("ntstore", "stride")),
    ]
}

/// What the runs say of `hardware.optane.OF`.
pub(super) fn finding(runs: &Runs, claim: &Claim, of: &str) -> Finding {
    if of == "idle.fit" {
        let time = |(name, _): &(&str, _)| 64e9 / runs.get(name, "lattester", 1, BANDWIDTH);
        return Finding::Values(idle().iter().map(time).collect());
    }
    match of {
        "threads" => return points(runs, rows::by_threads(), |row| [1, 4, 24].contains(&row.threads)),
        "fence-interval" => return points(runs, rows::by_fences(), |_| true),
        _ => {}
    }
    if let Some(values) = knees::finding(runs, of) {
        return Finding::Values(values);
    }
    let [most_median, most_p90] = if of == "all" { [0.08, 0.25] } else { [0.15, f64::INFINITY] };
    let is_test = |row: &Row| row.part == Part::Test;
    let rows: Vec<Row> = match of.rsplit_once('.') {
        Some((operation, part)) => sample(Effort::Whole)
            .filter(|row| row.operation == operation && row.part.name() == part)
            .collect(),
        None if of == "all" => sample(Effort::Whole).filter(is_test).collect(),
        None if of == "alignment" => alignments(Effort::Whole).collect(),
        None => Vec::new(),
    };
    let Some(errors) = Errors::of(runs, &rows) else { return Finding::unknown(&claim.id) };
    let holds = errors.median <= most_median && errors.p90 <= most_p90;
    let because =
        format!("{} rows: median {:.3}, 90th percentile {:.3}", errors.rows, errors.median, errors.p90);
    Finding::Statement { holds, because }
}

/// Bandwidths of a figure's points in its unit, which is GiB/s.
fn points(runs: &Runs, of: Vec<Point>, wanted: impl Fn(&Row) -> bool) -> Finding {
    let rows = of.iter().map(|point| &point.row).filter(|row| wanted(row));
    Finding::Values(rows.map(|row| simulated(runs, row) * rows::MIB / rows::GIB).collect())
}

/// How far a row's bandwidth is from the measured one, as a share of that.
fn error(runs: &Runs, row: &Row) -> f64 {
    simulated(runs, row) / row.mib_per_s - 1.0
}

/// MiB/s, as the program that measured would have told them.
fn simulated(runs: &Runs, row: &Row) -> f64 {
    row.told(runs.get(&row.name(), "lattester", row.threads, BANDWIDTH))
}

/// How far rows are from what was measured, as shares of that.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Errors {
    rows: usize,
    median: f64,
    p90: f64,
}

impl Errors {
    /// Of no row there is none.
    fn of<'a>(runs: &Runs, rows: impl IntoIterator<Item = &'a Row>) -> Option<Errors> {
        Errors::among(rows.into_iter().map(|row| error(runs, row).abs()).collect())
    }

    fn among(mut errors: Vec<f64>) -> Option<Errors> {
        errors.sort_by(f64::total_cmp);
        let rows = errors.len();
        let at = |share: f64| errors.get((rows as f64 * share) as usize).copied();
        Some(Errors { rows, median: at(0.5)?, p90: at(0.9)? })
    }
}

/// Where the next access is, in a word.
fn kind(row: &Row) -> &'static str {
    match (row.pattern, row.stride) {
        ("random", _) => "at random",
        (_, stride) if stride < row.access => "overlapping",
        (_, stride) if stride == row.access => "one after the other",
        (_, stride) if stride < 4096 => "gaps below 4 KiB",
        _ => "4 KiB apart or more",
    }
}

/// A row, and what it is about.
type Kind = (&'static str, Row);

pub(super) fn tables(runs: &Runs) -> Vec<Grid> {
    let rows = sample(Effort::Whole).map(|row| (kind(&row), row));
    let rows: Vec<Kind> = rows.chain(alignments(Effort::Whole).map(|row| ("which DIMMs", row))).collect();
    vec![by_kind(runs, &rows), all(runs, &rows), super::other_socket::table(runs)]
}

/// Errors of each operation by where the next access is.
fn by_kind(runs: &Runs, rows: &[Kind]) -> Grid {
    let mut kinds: Vec<&str> = rows.iter().map(|(kind, _)| *kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let pairs = OPERATIONS.iter().flat_map(|operation| kinds.iter().map(move |kind| (*operation, *kind)));
    let line = |(operation, of): (&str, &str)| {
        let those = rows.iter().filter(|(kind, row)| row.operation == operation && *kind == of);
        let errors = Errors::of(runs, those.map(|(_, row)| row))?;
        let words = [operation, of].map(|word| Cell::Text(word.into()));
        let numbers = [errors.rows as f64, errors.median, errors.p90].map(Cell::Number);
        Some(words.into_iter().chain(numbers).collect())
    };
    Grid {
        title: "Optane: errors by operation and by where the next access is".into(),
        caption: "Shares of the measured bandwidth; rows marked fit and rows marked test.".into(),
        head: ["operation", "next access", "rows", "median", "nine in ten within"].map(String::from).to_vec(),
        rows: pairs.filter_map(line).collect(),
    }
}

/// Row by row, those that are farthest off first.
fn all(runs: &Runs, rows: &[Kind]) -> Grid {
    let mut rows: Vec<(f64, &Row)> = rows.iter().map(|(_, row)| (error(runs, row), row)).collect();
    rows.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let line = |(error, row): &(f64, &Row)| {
        let words = [row.name(), row.part.name().into()].map(Cell::Text);
        let numbers = [row.mib_per_s, simulated(runs, row), *error].map(Cell::Number);
        words.into_iter().chain(numbers).collect()
    };
    Grid {
        title: "Optane: each row".into(),
        caption: "Bandwidths in MiB/s; the error is a share of the measured one, and rows are in its order."
            .into(),
        head: ["row", "marked", "measured", "simulated", "error"].map(String::from).to_vec(),
        rows: rows.iter().map(line).collect(),
    }
}

pub(super) fn figures(runs: &Runs) -> [Figure; 2] {
    let points = rows::by_threads();
    let x = |threads: u64| Some(threads as f64);
    let mut bandwidths = Vec::new();
    let mut residuals = Vec::new();
    for point in &points {
        let (row_, threads) = (&point.row, point.row.threads);
        let [measured, ours] =
            [row_.mib_per_s, simulated(runs, row_)].map(|rate| rate * rows::MIB / rows::GIB);
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
        axis: "GiB/s",
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
    [figure.figure("lines", bandwidths), below.figure("lines", residuals)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_marked_test_are_most_of_them_and_every_operation_has_both_kinds() {
        let rows = rows::all();
        assert!(rows.len() > 3_500, "{}", rows.len());
        for operation in OPERATIONS {
            let of = |part| rows.iter().filter(|r| r.operation == operation && r.part == part).count();
            assert!(of(Part::Fit) > 50 && of(Part::Test) > 2 * of(Part::Fit), "{operation}");
        }
    }

    #[test]
    fn every_region_of_a_thread_has_rows() {
        let rows = rows::alignments();
        for region in ["own", "shared", "dimm", "controller", "channels"] {
            assert!(rows.iter().filter(|r| r.region == region).count() > 20, "{region}");
        }
    }

    #[test]
    fn figures_have_the_points_that_claims_are_of() {
        let claimed = |threads: &u64| [1, 4, 24].contains(threads);
        assert_eq!(rows::by_threads().iter().filter(|p| claimed(&p.row.threads)).count(), 9);
        assert_eq!(rows::by_fences().len(), 15);
    }

    #[test]
    fn errors_are_of_sorted_shares() {
        let errors = (0..10).rev().map(f64::from).collect();
        assert_eq!(Errors::among(errors), Some(Errors { rows: 10, median: 5.0, p90: 9.0 }));
        assert_eq!(Errors::among(Vec::new()), None);
    }
}
