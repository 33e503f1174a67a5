//! `--bands` of `run` and `compare`: what nobody has published is varied on all machines alike.

use crate::Failure;
use crate::args::{Common, Settings};
use crate::bands::ratio;
use crate::kept::{Kept, build};
use crate::lines::say;
use crate::output;
use crate::progress;
use evaluate::bands::spread::Spread;
use evaluate::bands::study::{Job, Outcome};
use evaluate::bands::{Progress, Wanted};
use evaluate::{Band, Effect, Spans};
use machine::{Description, OPERATION_RATE, WorkloadDescription};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// A bar for the presets' runs, then for the design's.
pub(crate) struct Shown(progress::Progress);

impl Shown {
    pub(crate) fn new(common: &Common, what: &str) -> Shown {
        Shown(progress::bar(common, 0, what))
    }
}

impl Progress for Shown {
    fn begin(&self, what: &str, steps: usize) {
        self.0.say(what);
        self.0.again(steps as u64);
    }

    fn step(&self) {
        self.0.step();
    }
}

/// How far the times of some machines go, and their speedups against one of them.
pub(crate) struct Spreads {
    spread: Spread,
    measure: Measure,
}

/// What is made of the results of every machine's jobs.
#[derive(Clone, Copy)]
struct Measure {
    /// Recordings of the program, each of which every machine runs.
    recordings: usize,
    /// Speedups are of operations a second, since programs work for a given time.
    by_rate: bool,
}

impl Measure {
    fn time(self, all: &[Outcome], number: usize) -> Option<f64> {
        self.mean(all, number, "time_ns")
    }

    /// How many times as fast the machine with that number is as the one with the number `base`.
    fn speedup(self, all: &[Outcome], number: usize, base: usize) -> Option<f64> {
        match self.by_rate {
            true => ratio(self.mean(all, number, OPERATION_RATE)?, self.mean(all, base, OPERATION_RATE)?),
            false => ratio(self.time(all, base)?, self.time(all, number)?),
        }
    }

    fn mean(self, all: &[Outcome], number: usize, of: &str) -> Option<f64> {
        let own = &all[number * self.recordings..(number + 1) * self.recordings];
        let all: Option<Vec<f64>> = own.iter().map(|o| o.as_ref().ok()?.get(of).copied()).collect();
        all.map(|all| all.iter().sum::<f64>() / self.recordings as f64)
    }
}

/// The bands of a machine.
pub(crate) struct Spanned {
    /// Of its time in nanoseconds.
    pub(crate) time: Option<Band>,
    /// Of its speedup.
    pub(crate) speedup: Option<Band>,
}

impl Spreads {
    /// Runs the design for machines with the same workload, of which one may be what the others are measured against.
    pub(crate) fn of(
        jobs: &[(Description, Vec<WorkloadDescription>)],
        (name, settings, common): (&str, &Settings, &Common),
        base: Option<usize>,
        runs: Option<usize>,
        out: Option<&Path>,
    ) -> Result<Spreads, Failure> {
        let given = settings.set.iter().filter_map(|s| Some(s.split_once('=')?.0.to_string()));
        let users = jobs.iter().flat_map(|(machine, _)| machine.set_by_user().map(String::from));
        let closed = given.chain(users).collect();
        // What speedups are of.
        let by_rate =
            jobs.iter().flat_map(|(_, workloads)| workloads).any(WorkloadDescription::lasts_a_given_time);
        let wanted = std::iter::once("time_ns").chain(by_rate.then_some(OPERATION_RATE));
        let wanted: BTreeSet<String> = wanted.map(String::from).collect();
        let mut all = Vec::new();
        for (number, (machine, workloads)) in jobs.iter().enumerate() {
            all.extend(workloads.iter().enumerate().map(|(recording, workload)| Job {
                name: format!("{number} {} {recording} {}", machine.name, workload.name),
                machine: machine.clone(),
                workload: workload.clone(),
                wanted: wanted.clone(),
                counted: None,
            }));
        }
        let keep = Kept::new(out);
        let wanted = Wanted { runs, keep: &keep, build: build(Some(name)) };
        let shown = Shown::new(common, name);
        let recordings = jobs.first().map_or(1, |(_, workloads)| workloads.len());
        let measure = Measure { recordings, by_rate };
        let numbers = |results: &[Outcome]| {
            let others = || (0..jobs.len()).filter(|n| Some(*n) != base);
            let speedups =
                base.into_iter().flat_map(|base| others().map(move |n| measure.speedup(results, n, base)));
            speedups.chain((0..jobs.len()).map(|n| measure.time(results, n))).collect()
        };
        let spread = Spread::of(&all, &closed, settings.seed, &wanted, &shown, numbers);
        Ok(Spreads { spread: spread.map_err(output::failed)?, measure })
    }

    /// What was varied, in a line.
    pub(crate) fn about(&self) -> String {
        let (runs, open) = (self.spread.points.len(), self.spread.space.dimensions.len());
        let outside = &self.spread.space.outside;
        let of = |(_, key, value): &(String, String, String)| format!("{key} = {value}");
        let left: Vec<String> = outside.iter().map(of).collect::<BTreeSet<_>>().into_iter().collect();
        let left = if left.is_empty() {
            String::new()
        } else {
            format!("; outside of what it may be, and so as it is: {}", left.join(", "))
        };
        format!("bands: {runs} runs over {open} open parameters (show MACHINE lists them){left}")
    }

    /// The bands of the machine with that number, its speedup being against `base`.
    pub(crate) fn band(&self, number: usize, base: Option<usize>) -> Spanned {
        let of = |base| self.spread.band(|results| self.measure.speedup(results, number, base));
        Spanned {
            time: self.spread.band(|results| self.measure.time(results, number)),
            speedup: base.and_then(of),
        }
    }
}

/// The ends of the band of one number.
pub(crate) fn ends(band: &Band) -> Option<(f64, f64)> {
    match &band.spans {
        Spans::Values(ends) => ends.first().copied(),
        Spans::Statement { .. } => None,
    }
}

/// The parameter that moves it most, if any does.
pub(crate) fn decides(band: &Band) -> &str {
    band.effects.first().map_or("no open parameter", |effect| &effect.name)
}

impl Spanned {
    /// In words: how much faster a machine is, how sure that is, and what decides it.
    pub(crate) fn say(&self, name: &str, speedup: Option<f64>, baseline: &str) {
        let (Some(band), Some(speedup)) = (&self.speedup, speedup) else { return };
        let ((low, high), by) = (ends(band).unwrap_or_default(), decides(band));
        say!("{name} is {speedup:.2} ({low:.2} to {high:.2}) times as fast as {baseline}; {by} decides");
    }

    /// For JSON.
    pub(crate) fn to_json(&self) -> Value {
        let mut json = json!({});
        for (name, band) in [("time_ns", &self.time), ("speedup", &self.speedup)] {
            let Some(band) = band else { continue };
            json[name] = band.to_json();
            json["failed_runs"] = band.failed.into();
        }
        if let Some(band) = self.speedup.as_ref().or(self.time.as_ref()) {
            json["moved_by"] = band.effects.first().map(|effect| effect.name.clone()).into();
            json["effects"] = band.effects.iter().map(Effect::to_json).collect();
        }
        json
    }
}
