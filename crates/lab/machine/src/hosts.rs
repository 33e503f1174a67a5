//! Machines of several hosts: a description and a workload's programs go to `shared`, and what it says becomes a report.

use crate::crash::CrashEvery;
use crate::describe::{Description, Source, WorkloadDescription};
use crate::error::{ConfigError, RunError};
use crate::hosts_recorded;
use crate::options::RunOptions;
use crate::report::{Report, statistics};
use ::shared::{Instants, Outcome, PowerFailure, Ran, Search, Whole, check, run_with_cuts};
use cpu::TimeStats;
use protocol::Image;
use std::rc::Rc;
use units::Dur;
use workloads::SharedWorkload;

fn check_machine(machine: &Description) -> Result<(), ConfigError> {
    machine.check()?;
    if !machine.is_hosts() {
        return Err(ConfigError::new(format!(
            "{}: is one host; give a machine of several (machine.fidelity = hosts), such as shared",
            machine.name
        )));
    }
    ::shared::check_machine(&machine.settings).map_err(ConfigError::new)
}

/// The program that hosts of `machine` run.
///
/// # Errors
/// When the two do not fit together.
fn workload_of(
    machine: &Description,
    workload: &WorkloadDescription,
) -> Result<&'static SharedWorkload, ConfigError> {
    check_machine(machine)?;
    let Source::Shared(program) = workload.source else {
        let names: Vec<&str> = workloads::SHARED_WORKLOADS.iter().map(|w| w.name).collect();
        let why = if workload.recording().is_some() {
            "a recording is for coreplane shared"
        } else {
            "runs on one host"
        };
        return Err(ConfigError::new(format!(
            "workload {}: {why}; a machine of several hosts (machine.fidelity = hosts) takes {}",
            workload.name,
            names.join(", ")
        )));
    };
    check(&machine.settings, program, &workload.settings).map_err(ConfigError::new)?;
    Ok(program)
}

/// Runs `workload` on `machine` once, with nothing happening besides.
///
/// # Errors
/// As [`crate::run()`], and what is wrong with the program where that shows.
pub(crate) fn run(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
) -> Result<Report, RunError> {
    let program = workload_of(machine, workload)?;
    if options.power_fails_at.is_some() {
        return Err(ConfigError::new(format!(
            "{}: a run of hosts is whole; coreplane crash cuts their power",
            machine.name
        ))
        .into());
    }
    let settings = Rc::new(workload.settings.clone());
    let ran = ::shared::run(&machine.settings, program, &settings, Vec::new(), false);
    if let Some(finding) = ran.finding {
        return Err(RunError::Violation(finding.message));
    }
    let time = ran.time.max(Dur::ps(1));
    Ok(Report {
        machine: machine.name.clone(),
        workload: workload.name.clone(),
        seed: options.seed,
        time,
        references: ran.references,
        events: ran.accesses.iter().map(|a| a.all).sum(),
        stats: statistics(&ran.tally, time, ran.accesses.len(), Some(spent(&ran))),
        durable: Image::default(),
        visible: Image::default(),
        description: machine.clone(),
        workload_description: workload.clone(),
        timeline: None,
        opening: Vec::new(),
        phases: Vec::new(),
        series: None,
        lines_per_page: None,
        replayed: None,
    })
}

/// Where the hosts' time went: what they do not wait for, they compute.
fn spent(ran: &Ran) -> TimeStats {
    let [memory, fences, idle] = ran.waits;
    let all = Dur::ps(ran.time.as_ps() * ran.accesses.len() as u64);
    TimeStats { compute: all - memory - fences - idle, memory, fences, idle, ..TimeStats::default() }
}

/// Runs `workload` on `machine` under `schedules` schedules, and tells of every mistake that shows. A recording has one schedule: its
/// own.
///
/// # Errors
/// When the two do not fit together.
pub fn shared(
    machine: &Description,
    workload: &WorkloadDescription,
    seed: u64,
    schedules: u64,
) -> Result<Outcome, ConfigError> {
    if let Some(recording) = workload.recording() {
        check_machine(machine)?;
        return hosts_recorded::shared(machine, &workload.name, recording);
    }
    let program = workload_of(machine, workload)?;
    let search = Search {
        machine: &machine.settings,
        workload: program,
        settings: &workload.settings,
        seed,
        schedules,
    };
    Ok(search.run())
}

/// Runs `workload` on a machine of several hosts, and shows what a power failure of all hosts and of the device would leave at
/// many instants. `visit` says whether to go on.
///
/// # Errors
/// When the two do not fit together.
pub fn hosts_with_crashes(
    machine: &Description,
    workload: &WorkloadDescription,
    every: CrashEvery,
    visit: &mut dyn FnMut(PowerFailure) -> bool,
) -> Result<Whole, ConfigError> {
    let program = workload_of(machine, workload)?;
    let instants = match every {
        CrashEvery::Persists(n) => Instants::Writes(n),
        CrashEvery::Among { events, most } => Instants::Among { accesses: events, most },
        CrashEvery::Events(n) => Instants::Accesses(n),
        CrashEvery::Event => Instants::Accesses(1),
        CrashEvery::At(at) => Instants::At(at),
    };
    let settings = Rc::new(workload.settings.clone());
    Ok(run_with_cuts(&machine.settings, program, &settings, instants, visit))
}

/// The energy, in nanojoules, that a power failure takes for each line that a machine has to save.
pub fn drain_line_nj(machine: &Description) -> u64 {
    if machine.is_hosts() {
        return ::shared::drain_line_nj(&machine.settings);
    }
    machine.settings.number("memory.drain_line_nj")
}
