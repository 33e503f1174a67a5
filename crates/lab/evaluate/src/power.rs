//! Power failures of a machine, each recovered from and checked.

use check::crash::{Timed, timed};
use machine::{CrashEvery, Description, RunError, RunOptions, WorkloadDescription};

/// Cuts the power at every `every`-th persist, at most at `points` instants; the program's own recovery checks each.
///
/// # Errors
/// The run cannot be done.
pub(crate) fn cut(
    machine: &Description,
    workload: &WorkloadDescription,
    every: u64,
    points: usize,
    seed: u64,
) -> Result<Timed, RunError> {
    let options = RunOptions { seed, ..RunOptions::default() };
    let mut recover = workload
        .recovery(seed)
        .ok_or_else(|| RunError::Violation(format!("workload {} has no recovery", workload.name)))?;
    timed(machine, workload, &options, CrashEvery::Persists(every), points, &mut recover)
}
