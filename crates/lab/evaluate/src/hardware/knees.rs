//! Where Optane's figures bend: how much the media write by the region that is written half a block at a time, and how long the
//! slowest writes to a region take.

use super::rows::{self, MACHINE};
use crate::figure::{Figure, Lines, row};
use crate::runs::{Key, Runs};
use machine::ConfigError;

const PROGRAM: &str = "lattester";
/// Points of the amplification's figure are these, and so is a series of the tail's.
const AMPLIFICATION: &str = "write-amplification-by-region";
const TAIL: [&str; 2] = ["hotspot-write-tail", "p99.999"];
/// Bytes of regions between which it shows how many blocks the buffer holds.
const KNEE: [u64; 7] = [10_240, 12_288, 14_336, 16_384, 18_432, 20_480, 22_528];
/// Below, the halves of blocks meet: midway between the amplification before and behind the published jump.
const MEET: f64 = 1.2;
/// A region has no tail where the slowest write in 100,000 takes less, in us; published are 18 and more, or .4 and less.
const NONE_US: f64 = 1.0;
/// Bytes of the largest region whose tail is run: beyond, no write waits for a move.
const LARGEST_TAIL: u64 = 1 << 20;
/// Lines written to a region for its tail: 250,000 writes, of which the slowest three are beyond 99.999 %.
const TAIL_LINES: u64 = 1_000_000;
const ORDER: [&str; 2] = ["measured", "simulated"];
/// Simulated time of a run, in ns: enough to write each region many times, and for the tail's lines.
const AMPLIFICATION_NS: u64 = 1_000_000;
const TAIL_NS: u64 = 1_000_000_000;

/// The run whose media's writes are counted.
fn halves(region: u64) -> Key {
    Key::new(&format!("halves of blocks in {region} B"), PROGRAM, 1)
}

/// The run whose writes are timed.
fn hot(region: u64) -> Key {
    Key::new(&format!("writes to {region} B"), PROGRAM, 1)
}

/// Published values by bytes of a region.
fn amplifications() -> Vec<(u64, f64)> {
    rows::values(AMPLIFICATION, "optane")
}

/// The same in us, of the slowest write in 100,000.
fn tails() -> Vec<(u64, f64)> {
    let [figure, series] = TAIL;
    rows::values(figure, series).into_iter().filter(|(region, _)| *region <= LARGEST_TAIL).collect()
}

/// Whether a tail is that of a place that is moved whenever it has taken its writes: published are 47 us and more, or 19 and less.
fn is_whole(us: f64) -> bool {
    us > 40.0
}

/// Non-temporal stores of blocks one after the other by one thread on one DIMM, and a fence after `fence` bytes of each.
fn sets(region: u64, pattern: &str, fence: u64, ns: u64) -> Vec<(&'static str, String)> {
    vec![
        ("memory.dimms", "1".into()),
        ("workload.operation", "ntstore".into()),
        ("workload.pattern", pattern.into()),
        ("workload.access_size", "256".into()),
        ("workload.stride", "256".into()),
        ("workload.fence_size", fence.to_string()),
        ("workload.footprint", region.to_string()),
        ("workload.operations", TAIL_LINES.to_string()),
        ("workload.time_ns", ns.to_string()),
    ]
}

pub(super) fn declare(runs: &mut Runs) -> Result<(), ConfigError> {
    for region in amplifications().into_iter().map(|(region, _)| region).chain(KNEE) {
        runs.add(halves(region), MACHINE, &sets(region, "halves", 128, AMPLIFICATION_NS))?;
    }
    for (region, _) in tails() {
        runs.add(hot(region), MACHINE, &sets(region, "stride", 256, TAIL_NS))?;
    }
    Ok(())
}

fn statistic(runs: &Runs, key: &Key, name: &str) -> f64 {
    runs.get(&key.machine, &key.workload, key.threads, name)
}

/// Bytes that the media wrote for each that was stored.
fn amplification(runs: &Runs, region: u64) -> f64 {
    let of = |name| statistic(runs, &halves(region), name);
    of("memory.bytes_written") / (of("memory.writes") * 64.0)
}

/// Microseconds that 99.999 % of the writes do not exceed.
fn tail(runs: &Runs, region: u64) -> f64 {
    statistic(runs, &hot(region), "operation.time.p99999") / 1e3
}

/// The values of `hardware.optane.WHAT`.
pub(super) fn finding(runs: &Runs, what: &str) -> Option<Vec<f64>> {
    let tails = |wanted: fn(f64) -> bool| {
        let regions = tails().into_iter().filter(move |(_, us)| wanted(*us));
        regions.map(|(region, _)| tail(runs, region)).collect()
    };
    Some(match what {
        "write-amplification" => {
            amplifications().into_iter().map(|(region, _)| amplification(runs, region)).collect()
        }
        "buffer" => {
            let meet = KNEE.into_iter().filter(|region| amplification(runs, *region) < MEET);
            vec![meet.max().unwrap_or(0) as f64]
        }
        "hotspot" => tails(is_whole),
        "hotspot-beyond" => tails(|us| !is_whole(us)),
        "hotspot-end" => {
            let none = self::tails().into_iter().filter(|(region, _)| tail(runs, *region) < NONE_US);
            vec![none.map(|(region, _)| region).min().unwrap_or(0) as f64]
        }
        _ => return None,
    })
}

/// Amplification and tail by region, measured and simulated.
pub(super) fn figures(runs: &Runs) -> [Figure; 2] {
    let both = |points: Vec<(u64, f64)>, ours: &dyn Fn(u64) -> f64| {
        let of = |(region, measured): (u64, f64)| {
            let x = Some(region as f64 / 1024.0);
            [row("", ORDER[0], x, measured), row("", ORDER[1], x, ours(region))]
        };
        points.into_iter().flat_map(of).collect()
    };
    let lines = |name, title, caption, axis| Lines {
        name,
        title,
        caption,
        axis,
        x: "KiB of the region",
        order: &ORDER,
    };
    let written = lines(
        "optane-amplification",
        "Bytes written to the media for each that is stored",
        "First the first halves of all blocks of a region, then the second ones: measured (Yang et al., FAST 2020) and simulated.",
        "bytes",
    );
    let slow = lines(
        "optane-hotspot",
        "The slowest write in 100,000 to a region",
        "Writes of 256 B one after the other: measured (Yang et al., FAST 2020) and simulated.",
        "us",
    );
    [
        written.figure("lines", both(amplifications(), &|region| amplification(runs, region))),
        slow.figure("lines", both(tails(), &|region| tail(runs, region))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_points_that_claims_are_of() {
        assert_eq!(amplifications().len(), 8);
        let (whole, beyond): (Vec<_>, Vec<_>) = tails().into_iter().partition(|(_, us)| is_whole(*us));
        let regions =
            |points: Vec<(u64, f64)>| points.into_iter().map(|(region, _)| region >> 8).collect::<Vec<_>>();
        assert_eq!(regions(whole), [1, 2, 4, 8, 16, 32, 64, 128]);
        assert_eq!(regions(beyond), [256, 512, 1024, 2048, 4096]);
    }
}
