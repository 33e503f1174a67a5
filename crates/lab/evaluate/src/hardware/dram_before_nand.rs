//! A device whose DRAM caches NAND behind CXL: how much it reads of working sets in its DRAM and beyond, what a chain of loads
//! takes, and what a Redis takes for a request more than with its data in the host's DRAM.

use crate::figure::{Figure, Lines, row};
use crate::runs::{Key, Runs};
use machine::ConfigError;

const MEASURED: &str = include_str!("../../../../../validation/hardware/cmm-h.csv");
/// The machine that stands for the device and its host.
const MACHINE: &str = "cmmh";
/// Visits pages, in order or at random.
const VISITS: &str = "loaded-latency";
const STORE: &str = "redis-ycsb";
/// Pages of the device's DRAM.
const SLOTS: f64 = 12288.0;
/// Cores of the machine, all of which read at once.
const READERS: u64 = 16;
/// Working sets that are read, against the size of the DRAM; the first and the last are published.
const WORKING_SETS: [f64; 8] = [0.04, 0.17, 0.33, 0.5, 0.67, 1.0, 1.5, 2.67];
/// Records of the Redis, each a thousand and twenty-fourth of what was measured.
const STORES: [(&str, u64); 2] = [("redis-10m", 9_766), ("redis-30m", 29_297)];
const QUANTILES: [&str; 3] = ["p50", "p90", "p99"];
/// Its data in the host's DRAM.
const LOCAL: [(&str, &str); 3] =
    [("memory.kind", "ddr4"), ("memory.link", "direct"), ("memory.controllers", "4")];

fn reading(set: f64) -> String {
    format!("{MACHINE}, {set} of the DRAM")
}

fn sets(pairs: &[(&'static str, u64)], words: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let numbers = pairs.iter().map(|(key, value)| (*key, value.to_string()));
    numbers.chain(words.iter().map(|(key, word)| (*key, (*word).to_string()))).collect()
}

pub(super) fn declare(runs: &mut Runs) -> Result<(), ConfigError> {
    for set in WORKING_SETS {
        let pages = (SLOTS * set) as u64;
        // Each page once before anything is counted, so that what was written at the beginning has left where it has to.
        let numbers = [
            ("workload.pages", pages),
            ("workload.warm", pages),
            ("workload.operations", (pages / 2).max(2 * READERS)),
            ("workload.lines", 64),
        ];
        let sets = sets(&numbers, &[("workload.pattern", "sequential")]);
        runs.add(Key::new(&reading(set), VISITS, READERS), MACHINE, &sets)?;
    }
    let chase = [("workload.pages", 4096), ("workload.warm", 20_000), ("workload.operations", 60_000)];
    runs.add(Key::new(MACHINE, VISITS, 4), MACHINE, &sets(&chase, &[]))?;
    for (name, keys) in STORES {
        // YCSB times requests from the first one behind loading; how many is not published.
        let asked = [("workload.keys", keys), ("workload.warm", 0), ("workload.operations", keys)];
        let own = sets(&asked, &[]);
        let local: Vec<_> = own.iter().cloned().chain(sets(&[], &LOCAL)).collect();
        runs.add(Key::new(name, STORE, 1), MACHINE, &own)?;
        runs.add(Key::new(&format!("{name}, local"), STORE, 1), MACHINE, &local)?;
    }
    Ok(())
}

/// A measured value.
fn measured(experiment: &str, point: &str) -> f64 {
    let of = |line: &&str| line.split(',').take(2).eq([experiment, point]);
    let value = |line: &str| line.split(',').nth(3)?.parse().ok();
    MEASURED.lines().find(of).and_then(value).unwrap_or(f64::NAN)
}

/// GB/s.
fn bandwidth(runs: &Runs, set: f64) -> f64 {
    runs.get(&reading(set), VISITS, READERS, "throughput.bytes_per_second") / 1e9
}

fn time(runs: &Runs, key: (&str, &str, u64), quantile: &str) -> f64 {
    runs.get(key.0, key.1, key.2, &format!("operation.time.{quantile}"))
}

/// Microseconds of a request: those measured with local memory, and what the device adds.
fn request(runs: &Runs, name: &str, quantile: &str) -> f64 {
    let local = format!("{name}, local");
    let added = time(runs, (name, STORE, 1), quantile) - time(runs, (&local, STORE, 1), quantile);
    measured(name, &format!("local-{quantile}")) + added / 1e3
}

/// The values of `hardware.cmmh.WHAT`.
pub(super) fn finding(runs: &Runs, what: &str) -> Option<Vec<f64>> {
    Some(match what {
        "bandwidth" => [0.04, 2.67].map(|set| bandwidth(runs, set)).to_vec(),
        "chase" => {
            let told = ["mean", "p10", "p50", "p90", "p99", "p999"];
            told.map(|quantile| time(runs, (MACHINE, VISITS, 4), quantile)).to_vec()
        }
        name @ ("redis-10m" | "redis-30m") => {
            QUANTILES.map(|quantile| request(runs, name, quantile)).to_vec()
        }
        _ => return None,
    })
}

/// Bandwidth by working set.
pub(super) fn figures(runs: &Runs) -> Vec<Figure> {
    let simulated = WORKING_SETS.map(|set| row("", "simulated", Some(set), bandwidth(runs, set)));
    let published = ["0.04", "2.67"].map(|set| {
        let gb = measured("read-bandwidth", set) / 1e3;
        row("", "measured", set.parse().ok(), gb)
    });
    let lines = Lines {
        name: "cmmh-bandwidth",
        title: "Reads of a working set, 48 GB of DRAM before NAND",
        caption: "Measured (CMM-H) where it is published, and simulated.",
        axis: "GB/s",
        x: "working set, against the DRAM",
        order: &["measured", "simulated"],
    };
    vec![lines.figure("lines", published.into_iter().chain(simulated).collect())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_values_are_found_by_experiment_and_point() {
        assert_eq!(measured("read-bandwidth", "0.04").round() as u64, 22_345);
        assert_eq!(measured("chase-16-gib-4-threads", "p99").round() as u64, 27_883);
        assert_eq!(measured("redis-30m", "local-p90").round() as u64, 58);
        assert!(measured("redis-30m", "p75").is_nan());
    }
}
