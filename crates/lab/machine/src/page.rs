//! Machines at page fidelity: a description and a workload's programs go to `pagesim`, and what it says becomes a report.

use crate::describe::{Description, Source, WorkloadDescription};
use crate::error::{ConfigError, RunError};
use crate::measured;
use crate::options::RunOptions;
use crate::report::{Phase, Report, Series, Statistic};
use crate::run::run as run_any;
use pagesim::{Error, LineFidelity, Outcome, Probe, Programs};
use protocol::Image;
use trace::ReplayOptions;
use units::Dur;
use workloads::{PageContext, PageWorkload, find_pages};

/// The workload's programs at page fidelity.
///
/// # Errors
/// When it has none.
fn workload_of(workload: &WorkloadDescription) -> Result<&'static PageWorkload, ConfigError> {
    let found = match &workload.source {
        Source::Pages(pages) => Some(*pages),
        Source::BuiltIn(built_in) => find_pages(built_in.name),
        Source::Trace(_) | Source::Shared(_) => None,
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = workloads::PAGE_WORKLOADS.iter().map(|w| w.name).collect();
        ConfigError::new(format!(
            "workload {}: runs at {} fidelity; a machine at page fidelity (machine.fidelity = page) takes {} and trace:FILE",
            workload.name,
            workload.fidelity(),
            names.join(", ")
        ))
    })
}

/// Simulates `workload` on `machine`.
///
/// # Errors
/// As [`crate::run()`].
pub(crate) fn run(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
) -> Result<Report, RunError> {
    if options.power_fails_at.is_some() {
        return Err(ConfigError::new(format!(
            "{}: a machine at page fidelity carries no bytes, so there is nothing to lose; give a machine at line fidelity",
            machine.name
        ))
        .into());
    }
    let programs = programs(machine, workload, options)?;
    let line = Lines { machine, seed: options.seed };
    let outcome = pagesim::run(&machine.name, &machine.settings, programs, options.seed, &line);
    Ok(report(outcome.map_err(run_error)?, machine, workload, options))
}

fn programs<'a>(
    machine: &Description,
    workload: &'a WorkloadDescription,
    options: &RunOptions,
) -> Result<Programs<'a>, ConfigError> {
    let (arrivals, mut kinds): (_, Vec<&str>) = match &workload.source {
        // A recording is one operation, which has no rate.
        Source::Trace(recorded) => {
            let told = ReplayOptions::new(&workload.settings, &machine.settings, false, false);
            let time_of = move |instructions| told.time_of(instructions);
            (trace::page_programs(&recorded.recording, time_of), Vec::new())
        }
        Source::BuiltIn(_) | Source::Pages(_) | Source::Shared(_) => {
            let pages = workload_of(workload)?;
            let context = PageContext {
                settings: workload.settings.clone(),
                seed: options.seed,
                visits: workload.visits.clone(),
            };
            ((pages.programs)(&context), pages.kinds.to_vec())
        }
    };
    if let Some(visits) = &workload.visits {
        kinds = visits.phases.iter().map(|p| p.name.as_str()).collect();
    }
    Ok(Programs { arrivals, kinds })
}

fn run_error(e: Error) -> RunError {
    match e {
        Error::Config(text) => RunError::Config(ConfigError::new(text)),
        Error::Violation(text) => RunError::Violation(text),
    }
}

/// Machines at line fidelity, with what the user has set of their own keys in this one's description.
struct Lines<'a> {
    machine: &'a Description,
    seed: u64,
}

impl Lines<'_> {
    fn measure(&self, probe: &Probe<'_>) -> Result<Dur, RunError> {
        let mut other = Description::preset(probe.machine)?;
        for (param, value, _) in self.machine.rows() {
            let own = probe.own.iter().any(|prefix| param.key.starts_with(prefix));
            let fixed = probe.machine_sets.iter().any(|(key, _)| *key == param.key);
            if own && !fixed && self.machine.sources.contains_key(param.key) {
                other.set(param.key, &value)?;
            }
        }
        for (key, value) in &probe.machine_sets {
            other.set(key, value)?;
        }
        let mut workload = WorkloadDescription::named(probe.workload)?;
        for (key, value) in &probe.workload_sets {
            workload.set(&format!("workload.{key}"), value)?;
        }
        let options = RunOptions { seed: self.seed, ..RunOptions::default() };
        let described = measured::described(&other, &workload, self.seed);
        measured::once(described, || Ok(run_any(&other, &workload, &options)?.time))
    }
}

impl LineFidelity for Lines<'_> {
    fn time(&self, probe: &Probe<'_>) -> Result<Dur, Error> {
        self.measure(probe).map_err(|e| match e {
            RunError::Config(e) => Error::Config(e.to_string()),
            RunError::Violation(text) => Error::Violation(text),
        })
    }
}

fn report(
    outcome: Outcome,
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
) -> Report {
    let phase = |(name, operations, time)| Phase { name, operations, time };
    let rank = |name: &str| crate::STATISTICS.iter().position(|s| s.name == name).unwrap_or(usize::MAX);
    let mut rows = outcome.statistics;
    rows.sort_by_key(|(name, _)| rank(name));
    Report {
        machine: machine.name.clone(),
        workload: workload.name.clone(),
        seed: options.seed,
        time: outcome.time,
        references: outcome.visits,
        events: outcome.slices,
        stats: rows.into_iter().map(|(name, value)| Statistic { name: name.into(), value }).collect(),
        durable: Image::default(),
        visible: Image::default(),
        description: machine.clone(),
        workload_description: workload.clone(),
        timeline: None,
        opening: Vec::new(),
        phases: outcome.phases.into_iter().map(phase).collect(),
        series: Some(Series { seconds: outcome.series.seconds, columns: outcome.series.columns }),
        lines_per_page: None,
        replayed: None,
    }
}
