//! Bands of a user's own program: times, and speedups against one of the machines.

use super::band::Band;
use super::design::{Point, design, least};
use super::space::Space;
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
    /// Does a design over what is open of `jobs`, except the keys that `closed` has.
    ///
    /// # Errors
    /// When a job cannot be done as it was given, there are too many or too few runs, or results cannot be kept.
    pub fn of(
        jobs: &[Job],
        closed: &BTreeSet<String>,
        seed: u64,
        wanted: &Wanted<'_>,
        progress: &dyn Progress,
    ) -> Result<Spread, RunError> {
        let space = Space::of_jobs(jobs, closed);
        let points = design(space.dimensions.len(), runs(&space, wanted.runs, RUNS, "this")?, seed);
        let study = Study::new(jobs, &space, &points, &wanted.build);
        let begin = |left: usize| progress.begin(&said("bands", &space, &points, study.len(), left), left);
        let outcomes = study.run(wanted.keep, begin, || progress.step())?;
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

/// What is going to be done.
pub(super) fn said(who: &str, space: &Space, points: &[Point], all: usize, left: usize) -> String {
    let (runs, open) = (points.len(), space.dimensions.len());
    format!("{who}: {runs} runs over {open} open parameters, {all} simulations, {left} of them to do")
}
