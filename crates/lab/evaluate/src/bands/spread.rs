//! Bands of a user's own program: times, and speedups against one of the machines.

use super::band::Band;
use super::design::{Point, design, least};
use super::space::Space;
use super::steered::{most, steered};
use super::study::{Job, Outcome, Study};
use super::{MOST_RUNS, Progress, Wanted};
use crate::claims::Claim;
use crate::verdict::Finding;
use machine::{ConfigError, RunError};
use std::collections::BTreeSet;

/// Runs, unless another number is wanted: enough for some corners and a thin hypercube.
const RUNS: usize = 60;

/// Every job in every run of a design.
pub struct Spread {
    /// What is open.
    pub space: Space,
    /// The design.
    pub points: Vec<Point>,
    /// Of each run, what each job ended with.
    pub outcomes: Vec<Vec<Outcome>>,
}

impl Spread {
    /// Does a design over what is open of `jobs`, except the keys that `closed` has. `numbers` makes of the jobs' results
    /// those that bands are asked of later: to their ends the last runs go.
    ///
    /// # Errors
    /// When a job cannot be done as it was given, there are too many or too few runs, or results cannot be kept.
    pub fn of(
        jobs: &[Job],
        closed: &BTreeSet<String>,
        seed: u64,
        wanted: &Wanted<'_>,
        progress: &dyn Progress,
        numbers: impl Fn(&[Outcome]) -> Vec<Option<f64>>,
    ) -> Result<Spread, RunError> {
        let space = Space::of_jobs(jobs, closed);
        let design = (runs(&space, wanted.runs, RUNS, "this")?, seed);
        let all = |_: &[Point], outcomes: &[Vec<Outcome>]| {
            let of_runs: Vec<_> = outcomes.iter().map(|run| numbers(run)).collect();
            let count = of_runs.first().map_or(0, Vec::len);
            (0..count).map(|n| of_runs.iter().map(|run| run[n]).collect()).collect()
        };
        let (points, outcomes) = designed(("bands", jobs, &space), design, wanted, progress, all)?;
        if let Some(Err(why)) = outcomes[0].iter().find(|outcome| outcome.is_err()) {
            return Err(RunError::Violation(why.clone()));
        }
        Ok(Spread { space, points, outcomes })
    }

    /// The band of a number that is made of the jobs' results.
    pub fn band(&self, number: impl Fn(&[Outcome]) -> Option<f64>) -> Option<Band> {
        let found = |outcomes: &Vec<Outcome>| number(outcomes).map(|v| Finding::Values(vec![v]));
        let found: Vec<_> = self.outcomes.iter().map(found).collect();
        let preset = number(self.outcomes.first()?)?;
        Band::of(&Claim::of_value(preset), &self.space, &self.points, &found)
    }
}

/// The runs of a design, and then those to which they point: in which the open parameters together should move a number
/// furthest. `numbers` gives each number in every run. `who` is what is said to be run.
pub(super) fn designed(
    (who, jobs, space): (&str, &[Job], &Space),
    (runs, seed): (usize, u64),
    wanted: &Wanted<'_>,
    progress: &dyn Progress,
    numbers: impl FnOnce(&[Point], &[Vec<Outcome>]) -> Vec<Vec<Option<f64>>>,
) -> Result<(Vec<Point>, Vec<Vec<Outcome>>), RunError> {
    let dimensions = space.dimensions.len();
    let left = most(dimensions, runs);
    let made = |points: &[Point], what: &str| {
        let study = Study::new(jobs, space, points, &wanted.build);
        let said = |left: usize| format!("{who}: {what}, {} simulations, {left} of them to do", study.len());
        study.run(wanted.keep, |left| progress.begin(&said(left), left), || progress.step())
    };
    let mut points = design(dimensions, runs - left, seed);
    let mut outcomes = made(&points, &format!("{} runs over {dimensions} open parameters", points.len()))?;
    let more = steered(&points, &numbers(&points, &outcomes), left);
    if !more.is_empty() {
        let what = format!("{} more where they together should move results furthest", more.len());
        points.extend(more);
        outcomes = made(&points, &what)?;
    }
    Ok((points, outcomes))
}

/// How many runs a design over `space` has.
pub(super) fn runs(
    space: &Space,
    wanted: Option<usize>,
    usual: usize,
    who: &str,
) -> Result<usize, ConfigError> {
    let (open, needed) = (space.dimensions.len(), least(space.dimensions.len()));
    match wanted {
        Some(runs) if runs < needed || runs > MOST_RUNS => Err(ConfigError(format!(
            "--runs {runs}: {who} has {open} open parameters; give {needed} (the preset, and each of them at both ends) to {MOST_RUNS}"
        ))),
        Some(runs) => Ok(runs),
        None => Ok(usual.max(needed)),
    }
}
