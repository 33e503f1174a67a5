//! A CXL expander: what a load takes behind it, and how much it reads and writes.

use super::under_load::{WORKLOAD, moved, threads};
use crate::curve::{Point, cores, keys};
use crate::runs::{Key, Runs};
use machine::{ConfigError, Description};

/// The machine that stands for the host and its expander.
const MACHINE: &str = "cxl-expander";
/// Shares of reads whose bandwidth is published: reads alone, and 3, 2 and 1 to a write.
const READS: [u64; 4] = [100, 75, 67, 50];

fn name(share: u64, gap: Option<f64>) -> String {
    let load = if gap.is_some() { "all" } else { "none" };
    format!("{MACHINE}, reads {share} %, load {load}")
}

/// One load at a time, and as much of each share as cores ask for.
fn wanted() -> impl Iterator<Item = (u64, Option<f64>)> {
    std::iter::once((100, None)).chain(READS.map(|share| (share, Some(0.0))))
}

pub(super) fn declare(runs: &mut Runs) -> Result<(), ConfigError> {
    let machine = Description::preset(MACHINE)?;
    for (share, gap) in wanted() {
        let key = Key::new(&name(share, gap), WORKLOAD, threads(gap, cores(&machine)));
        runs.add(key, MACHINE, &keys(&machine, share, gap))?;
    }
    Ok(())
}

/// The values of `hardware.cxl.WHAT`.
pub(super) fn finding(runs: &Runs, what: &str) -> Option<Vec<f64>> {
    if !["load-to-use", "reads", "mixed"].contains(&what) {
        return None;
    }
    let cores = Description::preset(MACHINE).map_or(1, |machine| cores(&machine));
    let point = |(share, gap): (u64, Option<f64>)| -> Point {
        moved(runs, &name(share, gap), share, threads(gap, cores))
    };
    let mut points = wanted().map(point);
    let (idle, reads) = (points.next(), points.next());
    Some(match what {
        "load-to-use" => idle.iter().map(|p| p.load_to_use_ns).collect(),
        "reads" => reads.iter().map(|p| p.gb_per_s).collect(),
        _ => points.map(|p| p.gb_per_s).collect(),
    })
}
