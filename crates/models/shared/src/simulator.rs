//! Machines of several hosts, as a description's machine asks of them.

use crate::cuts::{self, run_with_cuts};
use crate::recording::recorded;
use crate::run::{check, check_machine, coherent_ranges, run};
use crate::search::{Outcome as Searched, Search};
use crate::{PARAMETERS, STATISTICS, SYSTEM, check_recorded, replay};
use params::{Param, Settings, StatisticInfo};
use simulator::{
    Counted, Error, Fidelity, Instants, LineFidelity, Outcome, PowerFailure, PowerFailures, Registered,
    Simulator, Task, Waits, Whole, Work,
};
use std::rc::Rc;
use units::Dur;
use workloads::SharedWorkload;

/// Hosts that share memory, as a registry has them.
pub const SIMULATOR: Registered =
    Registered { fidelity: Fidelity::Hosts, system: &SYSTEM, simulator: &Hosts };

struct Hosts;

/// The program that hosts of the machine run.
fn program_of(task: &Task<'_>) -> Result<&'static SharedWorkload, String> {
    let Work::Hosts(program) = task.work else {
        let names: Vec<&str> = workloads::SHARED_WORKLOADS.iter().map(|w| w.name).collect();
        let why = if matches!(task.work, Work::Recording(_)) {
            "a recording is for coreplane shared"
        } else {
            "runs on one host"
        };
        return Err(format!(
            "workload {}: {why}; a machine of several hosts (machine.fidelity = hosts) takes {}",
            task.workload,
            names.join(", ")
        ));
    };
    check(task.settings, program, task.parameters)?;
    Ok(program)
}

impl Simulator for Hosts {
    fn simulates(&self) -> &'static str {
        "every cache line"
    }

    fn tables(&self, _: &Settings) -> Vec<&'static [Param]> {
        vec![PARAMETERS]
    }

    fn statistics(&self, _: &Settings) -> Vec<&'static [StatisticInfo]> {
        STATISTICS.to_vec()
    }

    fn tells_waits(&self) -> bool {
        true
    }

    fn check(&self, settings: &Settings) -> Result<(), String> {
        check_machine(settings)
    }

    fn run(&self, task: &Task<'_>, _: &dyn LineFidelity) -> Result<Outcome, Error> {
        let program = program_of(task).map_err(Error::Config)?;
        let ran = run(task.settings, program, &Rc::new(task.parameters.clone()), Vec::new(), false);
        if let Some(finding) = ran.finding {
            return Err(Error::Violation(finding.message));
        }
        let [memory, fences, idle] = ran.waits;
        Ok(Outcome {
            time: ran.time.max(Dur::ps(1)),
            references: ran.references,
            events: ran.accesses.iter().map(|a| a.all).sum(),
            counted: Counted::OfCores(ran.tally, ran.accesses.len(), Waits { memory, fences, idle }),
            phases: Vec::new(),
            series: None,
        })
    }

    fn runs_whole(&self) -> &'static str {
        "a run of hosts is whole; coreplane crash cuts their power"
    }

    fn has_no_images(&self) -> &'static str {
        "one host stops at a time, and the others go on; coreplane shared stops them"
    }

    fn power(&self) -> Option<&'static dyn PowerFailures> {
        Some(&Hosts)
    }
}

impl PowerFailures for Hosts {
    fn cut(
        &self,
        task: &Task<'_>,
        instants: Instants,
        visit: &mut dyn FnMut(PowerFailure) -> bool,
    ) -> Result<Whole, String> {
        let program = program_of(task)?;
        let settings = Rc::new(task.parameters.clone());
        Ok(run_with_cuts(task.settings, program, &settings, instants, visit))
    }

    fn drain_line_nj(&self, settings: &Settings) -> u64 {
        cuts::drain_line_nj(settings)
    }
}

/// Runs the programs of `task` under `schedules` schedules, and tells of every mistake that shows. A recording has one schedule: its own.
///
/// # Errors
/// When machine and programs do not fit together, or a recording cannot be read any more.
pub fn searched(task: &Task<'_>, schedules: u64) -> Result<Searched, String> {
    if let Work::Recording(recording) = task.work {
        let named = |why: String| format!("{}: {why}", task.workload);
        check_recorded(task.settings, recording.about().hosts.len()).map_err(named)?;
        let recorded = recorded(recording, &coherent_ranges(task.settings));
        if let Some(failed) = recording.failed() {
            return Err(named(failed.to_string()));
        }
        return Ok(replay(task.settings, &recorded));
    }
    let workload = program_of(task)?;
    let (machine, settings, seed) = (task.settings, task.parameters, task.seed);
    Ok(Search { machine, workload, settings, seed, schedules }.run())
}
