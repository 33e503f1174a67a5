//! DDR4 under load: a socket's measured curves of bandwidth against latency, and the same of the machine that stands for it.

use crate::curve::{Point, cores, keys, pause, point_of};
use crate::figure::{Figure, Lines, row};
use crate::runs::{Key, Runs};
use machine::{ConfigError, Description};

const MEASURED: &str = include_str!("../../../../../validation/hardware/ddr4-under-load.csv");
/// The machine that stands for the socket.
const MACHINE: &str = "cascade-lake";
pub(super) const WORKLOAD: &str = "bandwidth-latency";
/// Shares of reads that are compared.
const READS: [u64; 3] = [100, 75, 50];
/// Loads that are run, in per cent of the measured bandwidth; beyond all, as much as the cores can ask for.
const LOADS: [u64; 8] = [15, 25, 40, 50, 62, 75, 83, 90];
/// Where latencies are compared, in per cent of the highest measured bandwidth.
const COMPARED: [f64; 4] = [25.0, 50.0, 75.0, 90.0];

/// Bandwidths in GB/s with a load's time in ns, by bandwidth.
type Curve = Vec<(f64, f64)>;

/// The measured points of a share of reads, by bandwidth.
fn measured(share: u64) -> Curve {
    let point = |line: &str| {
        let mut fields = line.split(',').map(|f| f.parse::<f64>().unwrap_or(f64::NAN));
        Some((fields.next()?, fields.next()?, fields.next()?))
    };
    let own = MEASURED.lines().skip(1).filter_map(point).filter(|(reads, ..)| *reads as u64 == share);
    own.map(|(_, bandwidth, latency)| (bandwidth, latency)).collect()
}

fn highest(curve: &[(f64, f64)]) -> f64 {
    curve.iter().map(|(bandwidth, _)| *bandwidth).fold(0.0, f64::max)
}

/// Name and pause of each run of a share: of the traffic cores none, some, all that they can.
fn runs_of(share: u64, cores: u64) -> Vec<(String, Option<f64>)> {
    let top = Point { read_percent: share, gb_per_s: highest(&measured(share)), load_to_use_ns: 0.0 };
    let name = |load: &str| format!("{MACHINE}, reads {share} %, load {load}");
    let some = LOADS.map(|load| (name(&load.to_string()), Some(pause(&top, load, cores - 1))));
    std::iter::once((name("none"), None)).chain(some).chain([(name("all"), Some(0.0))]).collect()
}

fn machine() -> Result<Description, ConfigError> {
    Description::preset(MACHINE)
}

pub(super) fn declare(runs: &mut Runs) -> Result<(), ConfigError> {
    let machine = machine()?;
    for share in READS {
        for (name, gap) in runs_of(share, cores(&machine)) {
            let threads = threads(gap, cores(&machine));
            runs.add(Key::new(&name, WORKLOAD, threads), MACHINE, &keys(&machine, share, gap))?;
        }
    }
    Ok(())
}

/// Without traffic there is one thread.
pub(super) fn threads(gap: Option<f64>, cores: u64) -> u64 {
    if gap.is_some() { cores } else { 1 }
}

/// What the run of that name says of its memory.
pub(super) fn moved(runs: &Runs, name: &str, share: u64, threads: u64) -> Point {
    let get = |stat: &str| runs.get(name, WORKLOAD, threads, stat);
    let lines = get("memory.reads") + get("memory.writes");
    point_of(share, get("time_ns"), get("cpu.operations"), lines)
}

/// Our points of a share of reads, by bandwidth.
fn simulated(runs: &Runs, share: u64) -> Curve {
    let Ok(machine) = machine() else { return Vec::new() };
    let cores = cores(&machine);
    let one = |(name, gap): (String, Option<f64>)| {
        let p = moved(runs, &name, share, threads(gap, cores));
        (p.gb_per_s, p.load_to_use_ns)
    };
    let mut points: Curve = runs_of(share, cores).into_iter().map(one).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The latency at a bandwidth, on a line between the two points beside it; at the last point's beyond.
fn at(curve: &[(f64, f64)], bandwidth: f64) -> f64 {
    let between = curve.windows(2).find(|pair| pair[1].0 >= bandwidth);
    match (between, curve.last()) {
        (Some(&[(x0, y0), (x1, y1)]), _) if x1 > x0 => y0 + (y1 - y0) * (bandwidth - x0) / (x1 - x0),
        (_, last) => last.map_or(0.0, |(_, latency)| *latency),
    }
}

/// The values of `hardware.ddr4.WHAT`.
pub(super) fn finding(runs: &Runs, what: &str) -> Option<Vec<f64>> {
    if !["unloaded", "saturated", "latency"].contains(&what) {
        return None;
    }
    let curves = READS.map(|share| (measured(share), simulated(runs, share)));
    Some(match what {
        "unloaded" => curves.iter().map(|(_, ours)| ours.first().map_or(0.0, |p| p.1)).collect(),
        "saturated" => curves.iter().map(|(_, ours)| highest(ours)).collect(),
        _ => {
            let latencies = |(measured, ours): &(Curve, Curve)| {
                let top = highest(measured);
                COMPARED.map(|load| at(ours, top * load / 100.0))
            };
            curves.iter().flat_map(latencies).collect()
        }
    })
}

/// The curves, a figure a share.
pub(super) fn figures(runs: &Runs) -> Vec<Figure> {
    let names = ["ddr4-reads-100", "ddr4-reads-75", "ddr4-reads-50"];
    let order = ["measured", "simulated"];
    let of = |(share, name): (u64, &'static str)| {
        let rows = order.iter().zip([measured(share), simulated(runs, share)]);
        let rows = rows.flat_map(|(series, curve)| {
            curve.into_iter().map(move |(bandwidth, latency)| row("", series, Some(bandwidth), latency))
        });
        let title = format!("Six channels of DDR4-2933, {share} % reads");
        let caption = "A dependent load's time by what memory reads and writes: measured (Mess, Cascade Lake) and simulated.";
        let axis = "load to use, ns";
        let lines = Lines { name, title: &title, caption, axis, x: "GB/s", order: &order };
        lines.figure("curve", rows.collect())
    };
    READS.into_iter().zip(names).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_curves_have_their_ends() {
        let hundredths = |value: f64| (value * 100.0).round() as u64;
        let tops = READS.map(|share| hundredths(highest(&measured(share))));
        assert_eq!(tops, [10_621, 9_342, 8_652]);
        assert_eq!(READS.map(|share| hundredths(measured(share)[0].1)), [9_020, 8_920, 9_030]);
    }

    #[test]
    fn latencies_lie_on_lines_between_points() {
        let curve = [(0.0, 90.0), (10.0, 100.0), (20.0, 150.0)];
        let found = [0.0, 5.0, 10.0, 16.0, 20.0, 30.0].map(|x| at(&curve, x).round() as u64);
        assert_eq!(found, [90, 95, 100, 130, 150, 150]);
    }
}
