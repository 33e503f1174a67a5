//! Tables of what designs cost and need.

use crate::bands::Runs;
use crate::lines::{paragraph, say};
use crate::output::Table;
use crate::quantity::plain;
use evaluate::designs::{Design, needs, state};
use evaluate::{Cell, Grid};

/// What the machines of a comparison cost and need: nothing where one has no ordering model.
pub(crate) fn of(names: &[String], runs: &[Runs]) -> Vec<Grid> {
    let designs = names.iter().zip(runs).map(|(name, of)| {
        let report = of.report().0;
        // As runs have it: a machine's cores, or a thread each.
        let threads = report.workload_description.threads();
        let cores = threads.max(report.description.settings.count("cpu.cores"));
        Design::of(name, &report.description, cores, |statistic| report.get(statistic))
    });
    let Some(designs) = designs.collect::<Option<Vec<_>>>() else { return Vec::new() };
    if designs.is_empty() { Vec::new() } else { vec![state(&designs), needs(&designs)] }
}

/// A table with its caption.
pub(crate) fn print(grid: &Grid) {
    // A dash stands for a number that there is none of.
    let is_word = |cell: Option<&Cell>| matches!(cell, Some(Cell::Text(text)) if text != "-");
    let is_text = |column: usize| grid.rows.iter().any(|r| is_word(r.get(column)));
    let columns = grid.head.len();
    let left = (0..columns).take_while(|c| is_text(*c)).count();
    let text_from = (0..columns).rev().take_while(|c| is_text(*c)).last().unwrap_or(columns);
    let mut table = Table::new(grid.head.iter().cloned()).left(left).text_from(text_from);
    for row in &grid.rows {
        table.row(row.iter().map(|cell| match cell {
            Cell::Text(text) => text.clone(),
            Cell::Number(number) => plain(*number),
        }));
    }
    say!("\n{}", grid.title);
    paragraph(&grid.caption);
    println!();
    table.print();
}
