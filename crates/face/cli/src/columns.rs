//! What tables show of each machine, beside time and speedup.

use crate::quantity;
use machine::{Report, STATISTICS, StatisticInfo};

/// The statistics that have a column.
pub(crate) fn all() -> impl Iterator<Item = &'static StatisticInfo> {
    STATISTICS.iter().filter(|info| !info.column.is_empty())
}

/// The statistic of a column, by its head.
pub(crate) fn column(head: &str) -> Option<&'static str> {
    all().find(|info| info.column == head).map(|info| info.name)
}

/// A statistic's value as a table shows it.
pub(crate) fn shown(info: &StatisticInfo, value: f64) -> String {
    quantity::with_unit(info.name, value, info.unit)
}

/// How many differences are named.
const NAMED: usize = 2;
/// What moves by less is not named.
const MOVED: f64 = 0.05;

/// Shares have to differ by so much, a tenth of a percent.
const SEEN: f64 = 0.001;

/// The columns that differ most between two machines, each with both values; nothing where none differs.
pub(crate) fn apart(report: &Report, base: &Report) -> Option<String> {
    let of = |info: &'static StatisticInfo| {
        // What a machine does not report has not happened there.
        let value = |report: &Report| report.get(info.name).unwrap_or(0.0);
        let (here, there) = (value(report), value(base));
        let moved = (here - there).abs() / here.abs().max(there.abs()).max(f64::MIN_POSITIVE);
        // Shares of next to nothing differ by any factor, and say nothing.
        let is_seen = !quantity::is_share(info.name, info.unit) || (here - there).abs() >= SEEN;
        (moved > MOVED && is_seen).then(|| {
            (moved, format!("{} ({} against {})", info.column, shown(info, here), shown(info, there)))
        })
    };
    let mut all: Vec<(f64, String)> = all().filter_map(of).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let named: Vec<String> = all.into_iter().take(NAMED).map(|(_, said)| said).collect();
    (!named.is_empty()).then(|| named.join(" and "))
}
