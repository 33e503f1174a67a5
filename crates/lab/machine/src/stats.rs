//! Every statistic that a run reports: the tables of all systems, and what follows from several.

use crate::error::{ConfigError, suggestion};
use crate::registry::SYSTEMS;
use crate::throughput::Throughput;
use params::{StatisticInfo, Tally};
use std::sync::LazyLock;
use units::Dur;

/// The tables of all who report.
fn tables() -> impl Iterator<Item = &'static StatisticInfo> {
    SYSTEMS.iter().flat_map(|system| system.statistics).copied().flatten()
}

/// The table; a test holds that every reported statistic has a row. A name that several report stands once.
pub static STATISTICS: LazyLock<Vec<StatisticInfo>> = LazyLock::new(|| {
    let mut all: Vec<StatisticInfo> = Vec::new();
    for row in tables().filter(|row| row.reported) {
        if all.iter().all(|known| known.name != row.name) {
            all.push(*row);
        }
    }
    all
});

/// The statistics that may be behind more or less of the time `cause`; one that several report may come twice.
pub fn behind(cause: &str) -> impl Iterator<Item = &'static StatisticInfo> {
    tables().filter(move |row| row.explains.contains(&cause))
}

/// Whether a report tells what was counted under `name`.
pub(crate) fn is_reported(name: &str) -> bool {
    tables().all(|row| row.name != name || row.reported)
}

/// What the statistic called `name` is.
///
/// # Errors
/// When there is none; the nearest names are offered.
pub fn statistic(name: &str) -> Result<&'static StatisticInfo, ConfigError> {
    STATISTICS.iter().find(|s| s.name == name).ok_or_else(|| {
        let near = suggestion(name, STATISTICS.iter().map(|s| s.name));
        ConfigError::new(format!("no statistic is called \"{name}\"{near} (coreplane show stats lists them)"))
    })
}

/// What follows from what was counted in `time` by programs on `threads` cores.
pub(crate) fn derived(tally: &Tally, time: Dur, threads: usize, each: &mut dyn FnMut(&'static str, f64)) {
    let seconds = time.as_ns() * 1e-9;
    let per_second = |n: f64| if seconds > 0.0 { n / seconds } else { 0.0 };
    let data = tally.number("cpu.bytes_moved");
    // What the other socket keeps with its lines is nothing that the program wrote.
    let media = tally.number("memory.bytes_written") - tally.number("memory.directory_bytes_written");
    let operations = tally.number("cpu.operations") - tally.number("cpu.failed_operations");
    let throughput = Throughput {
        operations_per_second: per_second(operations),
        bytes_per_second: per_second(if data > 0.0 { data } else { media }),
    };
    throughput.each(each);
    let core_time = time.as_ns() * threads as f64;
    // Of no time every share is 0.
    let core_time = if core_time > 0.0 { core_time } else { f64::INFINITY };
    let all = SYSTEMS.iter().filter_map(|system| system.derived);
    all.for_each(|derive| derive(tally, core_time, each));
}

#[cfg(test)]
mod tests {
    use super::*;
    use params::StatSink;

    #[test]
    fn a_name_that_several_report_has_one_unit_and_every_row_says_something() {
        for row in tables().filter(|row| row.reported) {
            let first = statistic(row.name).unwrap();
            assert_eq!(first.unit, row.unit, "{}", row.name);
            assert!(!row.meaning.is_empty() && !row.name.is_empty());
            assert!(
                row.column.is_empty() || first.column == row.column,
                "{}: its column is in its first row",
                row.name
            );
            assert!(row.explains.iter().all(|time| statistic(time).is_ok()), "{}", row.name);
        }
    }

    #[test]
    fn what_the_other_socket_keeps_with_its_lines_is_no_throughput() {
        let mut tally = Tally::default();
        tally.count("memory.bytes_written", 3000);
        tally.count("memory.directory_bytes_written", 1000);
        let mut found = None;
        derived(&tally, Dur::ns(1000), 1, &mut |name, value| {
            found = found.or((name == "throughput.bytes_per_second").then_some(value.round() as u64));
        });
        assert_eq!(found, Some(2_000_000_000));
    }

    #[test]
    fn of_no_time_every_rate_and_share_is_nothing() {
        let mut tally = Tally::default();
        tally.count("cpu.operations", 3);
        tally.count("memory.bytes_written", 64);
        tally.time("ordering.fence_stall", Dur::ns(5));
        derived(&tally, Dur::ZERO, 4, &mut |name, value| assert!(value.abs() < 1e-300, "{name} {value}"));
    }

    #[test]
    fn an_unknown_statistic_is_an_error_that_offers_near_names() {
        let error = statistic("ordering.nack").unwrap_err().to_string();
        assert!(error.contains("did you mean ordering.nacks"), "{error}");
    }
}
