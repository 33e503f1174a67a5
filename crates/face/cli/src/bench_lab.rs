//! Speed of the crash lab and the explorer.

use crate::Failure;
use crate::output;
use check::crash::{self, Bounds, Persistency};
use explore::Given;
use machine::{CrashEvery, Description, RunOptions, WorkloadDescription};

/// A thousand crash points of a hash map of 10,000 operations in ten seconds.
pub(crate) const GOAL_CRASH_POINTS: f64 = 100.0;

/// States of each protocol that are visited.
const STATES: usize = 10_000;

/// What was measured, each a second on one core.
pub(crate) struct Rates {
    pub(crate) crash_points: f64,
    pub(crate) images: f64,
    pub(crate) states: f64,
}

pub(crate) fn rates() -> Result<Rates, Failure> {
    let map = |operations: &str| {
        let mut w = WorkloadDescription::named("hashmap")?;
        w.set("workload.operations", operations)?;
        Ok::<_, Failure>(w)
    };
    let (large, small) = (map("10000")?, map("1000")?);
    let none = || Failure::BadInput("no recovery".into());
    let (mut recover_large, mut recover_small) =
        (large.recovery(1).ok_or_else(none)?, small.recovery(1).ok_or_else(none)?);
    let options = RunOptions { seed: 1, ..RunOptions::default() };
    let machine = Description::preset("asap-rp")?;
    let (timed, seconds) = output::timed(|| {
        crash::timed(&machine, &large, &options, CrashEvery::Persists(50), 1000, &mut recover_large)
    });
    let crash_points = timed?.points as f64 / seconds;
    let log = crash::of_program(&small, 1).ok_or_else(|| Failure::BadInput("no program".into()))?;
    let bounds = Bounds { points: 500, images: 64, failures: 1, skip: 0 };
    let (search, seconds) =
        output::timed(|| crash::search(&log, Persistency::Px86Line, bounds, &mut recover_small, &mut |_| {}));
    let images = search.images as f64 / seconds;
    let explore = |harness: &explore::Harness| harness.explore(&Given::default(), None, STATES);
    let (outcomes, seconds) =
        output::timed(|| machine::protocols().map(explore).collect::<Result<Vec<_>, _>>());
    let states: usize = outcomes.map_err(Failure::BadInput)?.iter().map(|o| o.states).sum();
    Ok(Rates { crash_points, images, states: states as f64 / seconds })
}
