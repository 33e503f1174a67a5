//! Machines that have a simulator of their own: a description and a workload's programs go there, and what it says becomes a report.

use crate::crash::CrashEvery;
use crate::describe::{Description, WorkloadDescription};
use crate::error::{ConfigError, RunError};
use crate::measured;
use crate::options::RunOptions;
use crate::report::{Phase, Report, Statistic, statistics};
use crate::run::run as run_any;
use cpu::TimeStats;
use protocol::Image;
use simulator::{
    Counted, Error, Instants, LineFidelity, Outcome, PowerFailure, PowerFailures, Probe, Simulator, Task,
    Waits, Whole,
};
use units::Dur;

impl Description {
    /// `workload` on this machine, for its simulator.
    pub fn task<'a>(&'a self, workload: &'a WorkloadDescription, seed: u64) -> Task<'a> {
        Task {
            machine: &self.name,
            settings: &self.settings,
            workload: &workload.name,
            work: workload.work(),
            parameters: &workload.settings,
            visits: workload.visits.clone(),
            seed,
        }
    }

    /// What a power failure leaves, where its simulator tells that in its own terms.
    pub fn power(&self) -> Option<&'static dyn PowerFailures> {
        self.simulator().and_then(Simulator::power)
    }

    /// The energy, in nanojoules, that a power failure takes for each line that the machine has to save.
    pub fn drain_line_nj(&self) -> u64 {
        match self.power() {
            Some(power) => power.drain_line_nj(&self.settings),
            None => self.settings.number("memory.drain_line_nj"),
        }
    }
}

/// Simulates `workload` on `machine`.
///
/// # Errors
/// As [`crate::run()`].
pub(crate) fn run(
    simulator: &dyn Simulator,
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
) -> Result<Report, RunError> {
    machine.check()?;
    if options.power_fails_at.is_some() {
        return Err(ConfigError::new(format!("{}: {}", machine.name, simulator.runs_whole())).into());
    }
    let lines = Lines { machine, seed: options.seed };
    let outcome = simulator.run(&machine.task(workload, options.seed), &lines);
    Ok(report(outcome.map_err(run_error)?, machine, workload, options))
}

/// Runs `workload` on a machine whose simulator has power failures of its own, and shows what one would leave at many instants.
/// `visit` says whether to go on.
///
/// # Errors
/// When the two do not fit together, or the machine has none.
pub fn power_failures(
    machine: &Description,
    workload: &WorkloadDescription,
    every: CrashEvery,
    visit: &mut dyn FnMut(PowerFailure) -> bool,
) -> Result<Whole, ConfigError> {
    machine.check()?;
    let Some(power) = machine.power() else {
        return Err(ConfigError::new(format!("{}: has no power failures of its own", machine.name)));
    };
    let instants = match every {
        CrashEvery::Persists(n) => Instants::Writes(n),
        CrashEvery::Among { events, most } => Instants::Among { accesses: events, most },
        CrashEvery::Events(n) => Instants::Accesses(n),
        CrashEvery::Event => Instants::Accesses(1),
        CrashEvery::At(at) => Instants::At(at),
    };
    // Nothing is drawn.
    power.cut(&machine.task(workload, 0), instants, visit).map_err(ConfigError::new)
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
        let mut other = Description::preset(probe.of.machine)?;
        for (param, value, _) in self.machine.rows() {
            let fixed = probe.machine_sets.iter().any(|(key, _)| *key == param.key);
            if probe.of.asks(param.key) && !fixed && self.machine.sources.contains_key(param.key) {
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

/// What was counted, in the order of the table.
fn counted(counted: Counted, time: Dur) -> Vec<Statistic> {
    match counted {
        Counted::OfCores(tally, cores, waits) => {
            statistics(&tally, time, cores, Some(spent(time, cores, waits)))
        }
        Counted::Whole(mut rows) => {
            let rank =
                |name: &str| crate::STATISTICS.iter().position(|s| s.name == name).unwrap_or(usize::MAX);
            rows.sort_by_key(|(name, _)| rank(name));
            rows.into_iter().map(|(name, value)| Statistic { name: name.into(), value }).collect()
        }
    }
}

/// Where the cores' time went: what they do not wait for, they compute.
fn spent(time: Dur, cores: usize, waits: Waits) -> TimeStats {
    let Waits { memory, fences, idle } = waits;
    let compute = time * cores as u64 - memory - fences - idle;
    TimeStats { compute, memory, fences, idle, ..TimeStats::default() }
}

fn report(
    outcome: Outcome,
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
) -> Report {
    let phase = |(name, operations, time)| Phase { name, operations, time };
    Report {
        machine: machine.name.clone(),
        workload: workload.name.clone(),
        seed: options.seed,
        time: outcome.time,
        references: outcome.references,
        events: outcome.events,
        stats: counted(outcome.counted, outcome.time),
        durable: Image::default(),
        visible: Image::default(),
        description: machine.clone(),
        workload_description: workload.clone(),
        timeline: None,
        opening: Vec::new(),
        phases: outcome.phases.into_iter().map(phase).collect(),
        series: outcome.series,
        lines_per_page: None,
        replayed: None,
        region_began: None,
        ended_before_power: None,
    }
}
