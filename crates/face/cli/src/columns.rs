//! What tables show of each machine, beside time and speedup.

use crate::quantity;
use machine::{Report, STATISTICS};

/// Statistics and the heads of their columns.
const SHOWN: [(&str, &str); 16] = [
    ("ordering.stall_share", "stalled"),
    ("ordering.blocked_share", "blocked"),
    ("ordering.epochs", "epochs"),
    ("ordering.cross_dependences", "cross deps"),
    ("ordering.persist_buffer.mean", "PB mean"),
    ("memory.writes", "PM writes"),
    ("memory.reads", "PM reads"),
    ("neardata.requests", "device requests"),
    ("neardata.parallel_share", "side by side"),
    ("nvdimm.faults", "DIMM faults"),
    ("nvdimm.hit_share.page", "pages found"),
    ("nand.write_amplification", "write ampl."),
    ("os.major_faults", "faults"),
    ("remote.lines_fetched", "lines fetched"),
    ("remote.bytes_received", "received"),
    ("remote.bytes_sent", "sent"),
];

/// The same of machines at page fidelity.
const SHOWN_PAGES: [(&str, &str); 7] = [
    ("os.minor_faults", "minor faults"),
    ("os.major_faults", "major faults"),
    ("os.swap_bytes_max", "swap max"),
    ("os.pm_integrated_bytes_max", "PM online max"),
    ("os.descriptor_bytes_max", "descriptors"),
    ("os.user_share", "user share"),
    ("energy_j", "energy"),
];

/// The statistic of a column, by its head.
pub(crate) fn column(head: &str) -> Option<&'static str> {
    SHOWN.iter().chain(&SHOWN_PAGES).find(|(_, short)| *short == head).map(|(statistic, _)| *statistic)
}

/// The columns for a machine like this.
pub(crate) fn of(report: &Report) -> &'static [(&'static str, &'static str)] {
    if report.series.is_some() { &SHOWN_PAGES } else { &SHOWN }
}

/// A statistic's value as a table shows it.
pub(crate) fn shown(name: &str, value: f64) -> String {
    let unit = STATISTICS.iter().find(|info| info.name == name).map_or("1", |info| info.unit);
    quantity::with_unit(name, value, unit)
}

/// How many differences are named.
const NAMED: usize = 2;
/// What moves by less is not named.
const MOVED: f64 = 0.05;

/// The columns that differ most between two machines, each with both values; nothing where none differs.
pub(crate) fn apart(report: &Report, base: &Report) -> Option<String> {
    let of = |(name, head): &(&'static str, &'static str)| {
        let (here, there) = (report.get(name).unwrap_or(0.0), base.get(name).unwrap_or(0.0));
        let moved = (here - there).abs() / here.abs().max(there.abs()).max(f64::MIN_POSITIVE);
        (moved > MOVED)
            .then(|| (moved, format!("{head} ({} against {})", shown(name, here), shown(name, there))))
    };
    let mut all: Vec<(f64, String)> = self::of(report).iter().filter_map(of).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let named: Vec<String> = all.into_iter().take(NAMED).map(|(_, said)| said).collect();
    (!named.is_empty()).then(|| named.join(" and "))
}
