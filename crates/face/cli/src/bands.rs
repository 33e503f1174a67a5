//! What of a recorded program's time is not known, as a band: instructions a cycle, and which of its runs it was.

use crate::Failure;
use crate::args::{Common, Settings};
use crate::output;
use machine::params::IPC_INTERVAL;
use machine::{Description, Report, RunError, RunOptions, WorkloadDescription};
use rayon::prelude::*;
use serde_json::{Value, json};
use units::watch;

/// A run of a machine: with which recording, and at which end of the interval of `cpu.ipc`, if at one.
type Variant = (usize, Option<usize>);

/// A machine's runs: first the one that counts.
pub(crate) struct Runs {
    reports: Vec<(Variant, Report, f64)>,
}

/// The recordings of a workload's name, in their order; one description of anything else.
pub(crate) fn workloads(name: &str) -> Result<Vec<WorkloadDescription>, Failure> {
    match name.strip_prefix("trace:") {
        // A file may have a comma in its name.
        Some(file) if std::path::Path::new(file).exists() => Ok(vec![output::workload(name)?]),
        Some(files) => files.split(',').map(|file| output::workload(&format!("trace:{file}"))).collect(),
        None => Ok(vec![output::workload(name)?]),
    }
}

/// Whether the recordings leave the instructions a cycle open, and nobody has set them.
fn is_open(machine: &Description, workload: &WorkloadDescription) -> bool {
    workload.counts_instructions() && machine.set_by_user().all(|key| key != "cpu.ipc")
}

/// Every run that a machine takes.
fn variants(machine: &Description, workloads: &[WorkloadDescription], ends: bool) -> Vec<Variant> {
    let mut all: Vec<Variant> = (0..workloads.len()).map(|n| (n, None)).collect();
    if ends && is_open(machine, &workloads[0]) {
        all.extend((0..workloads.len()).flat_map(|n| [(n, Some(0)), (n, Some(1))]));
    }
    all
}

/// How many runs there are to make.
pub(crate) fn count(jobs: &[(Description, Vec<WorkloadDescription>)], ends: bool) -> usize {
    jobs.iter().map(|(machine, workloads)| variants(machine, workloads, ends).len()).sum()
}

/// Runs all variants of all machines; `done` is called after each.
pub(crate) fn run(
    jobs: &[(Description, Vec<WorkloadDescription>)],
    options: &RunOptions,
    ends: bool,
    done: impl Fn() + Sync,
) -> Result<Vec<Runs>, RunError> {
    let all: Vec<(usize, Variant)> = jobs
        .iter()
        .enumerate()
        .flat_map(|(job, (machine, workloads))| {
            variants(machine, workloads, ends).into_iter().map(move |variant| (job, variant))
        })
        .collect();
    let own = watch::entered();
    let reports: Result<Vec<_>, RunError> = all
        .par_iter()
        .map(|(job, variant)| {
            let (machine, workloads) = &jobs[*job];
            let mut machine = machine.clone();
            if let Some(end) = variant.1 {
                machine.set("cpu.ipc", IPC_INTERVAL[end])?;
            }
            let work = || machine::run(&machine, &workloads[variant.0], options);
            let (report, host) = output::timed(|| watch::one_of(own.as_ref(), work));
            done();
            Ok((*job, (*variant, report?, host)))
        })
        .collect();
    let mut runs: Vec<Runs> = jobs.iter().map(|_| Runs { reports: Vec::new() }).collect();
    for (job, report) in reports? {
        runs[job].reports.push(report);
    }
    Ok(runs)
}

impl Runs {
    /// The run that counts, and the host's seconds for it.
    pub(crate) fn report(&self) -> (&Report, f64) {
        (&self.reports[0].1, self.reports[0].2)
    }

    /// The time in nanoseconds: the mean over the recordings.
    pub(crate) fn time(&self) -> f64 {
        mean(&self.times(|end| end.is_none()))
    }

    fn times(&self, which: impl Fn(Option<usize>) -> bool) -> Vec<f64> {
        let wanted = self.reports.iter().filter(|((_, end), ..)| which(*end));
        wanted.map(|(_, report, _)| report.time.as_ns()).collect()
    }

    /// How much faster than `base` each run is.
    fn speedups(&self, base: &Runs) -> Vec<f64> {
        let pairs = self.reports.iter().zip(&base.reports);
        pairs.filter(|(a, b)| a.0 == b.0).map(|(a, b)| b.1.time.as_ns() / a.1.time.as_ns()).collect()
    }

    /// The least and the greatest speedup of all runs, where there is more than one.
    pub(crate) fn speedup_band(&self, base: &Runs) -> Option<(f64, f64)> {
        (self.reports.len() > 1).then(|| extremes(&self.speedups(base)))
    }

    /// The least and the greatest time, where there is more than one run.
    pub(crate) fn time_band(&self) -> Option<(f64, f64)> {
        (self.reports.len() > 1).then(|| extremes(&self.times(|_| true)))
    }

    /// For JSON; nothing where there is one run.
    pub(crate) fn to_json(&self, base: Option<&Runs>) -> Option<Value> {
        let (low, high) = self.time_band()?;
        let mut band = json!({"time_ns": [low, high]});
        let ends = [0, 1].map(|end| self.times(|at| at == Some(end)));
        if !ends[0].is_empty() {
            band["cpu.ipc"] = json!({"values": IPC_INTERVAL.map(|v| v.parse::<f64>().unwrap_or(0.0)), "time_ns": ends.map(|times| mean(&times))});
        }
        let recordings = self.times(|end| end.is_none());
        if recordings.len() > 1 {
            band["recordings"] = json!({"mean_ns": mean(&recordings), "time_ns": recordings});
        }
        if let Some((low, high)) = base.and_then(|base| self.speedup_band(base)) {
            band["speedup"] = json!([low, high]);
        }
        Some(band)
    }
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len().max(1) as f64
}

fn extremes(numbers: &[f64]) -> (f64, f64) {
    numbers.iter().fold((f64::INFINITY, 0.0), |(low, high), n| (n.min(low), n.max(high)))
}

/// What has to be said of a recording.
pub(crate) fn remarks(workloads: &[WorkloadDescription]) -> Vec<String> {
    let mut remarks = Vec::new();
    let Some(threads) = workloads[0].recorded_threads() else { return remarks };
    if threads > 1 && workloads.len() == 1 {
        remarks.push(format!(
            "one schedule of {threads} threads was recorded; another run of the program has another one (several recordings give a band: trace:A,B,...)"
        ));
    }
    if !workloads.iter().all(WorkloadDescription::counts_instructions) {
        remarks.push(
            "computation is not recorded: every reference is charged cpu.instructions_per_reference instructions".into(),
        );
    }
    remarks
}

/// Says remarks on standard error, unless nothing is wanted there.
pub(crate) fn say(common: &Common, remarks: &[String]) {
    if !common.quiet && !output::is_json(common) {
        remarks.iter().for_each(|remark| crate::lines::remark(remark));
    }
}

/// `--set` applied to a machine and to all recordings of a workload.
pub(crate) fn apply(
    settings: &Settings,
    machine: &mut Description,
    workloads: &mut [WorkloadDescription],
) -> Result<(), Failure> {
    workloads.iter_mut().try_for_each(|workload| output::apply(settings, machine, workload))
}
