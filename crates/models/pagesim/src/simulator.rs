//! Machines at page fidelity, as a description's machine asks of them.

use crate::report::{self, Programs};
use crate::{SYSTEM, settings, stand_in, tables};
use ::simulator::{
    Counted, Error, Fidelity, LineFidelity, Measured, Outcome, Registered, Simulator, Task, Work,
};
use cpu::params::RateParameters;
use params::{Param, Parameters, Settings, StatisticInfo};
use trace::ReplayOptions;
use workloads::{PageContext, PageWorkload, find_pages};

/// Machines simulated by pages, as a registry has them.
pub const SIMULATOR: Registered = Registered { fidelity: Fidelity::Page, system: &SYSTEM, simulator: &Pages };

struct Pages;

/// The workload's programs at page fidelity.
fn workload_of(task: &Task<'_>) -> Result<&'static PageWorkload, Error> {
    let found = match task.work {
        Work::Pages(pages) => Some(pages),
        Work::Lines(built_in) => find_pages(built_in.name),
        Work::Recording(_) | Work::Hosts(_) => None,
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = workloads::PAGE_WORKLOADS.iter().map(|w| w.name).collect();
        Error::Config(format!(
            "workload {}: runs at {} fidelity; a machine at page fidelity (machine.fidelity = page) takes {}, visits:FILE and trace:FILE",
            task.workload,
            task.work.fidelity(),
            names.join(", ")
        ))
    })
}

fn programs<'a>(task: &'a Task<'_>) -> Result<Programs<'a>, Error> {
    let (arrivals, mut kinds): (_, Vec<&str>) = match task.work {
        // A recording is one operation, which has no rate.
        Work::Recording(recording) => {
            let told = ReplayOptions::new(task.parameters, task.settings, false, false);
            (trace::page_programs(recording, move |instructions| told.time_of(instructions)), Vec::new())
        }
        Work::Lines(_) | Work::Pages(_) | Work::Hosts(_) => {
            let pages = workload_of(task)?;
            let (settings, visits) = (task.parameters.clone(), task.visits.clone());
            let context = PageContext { settings, seed: task.seed, visits };
            ((pages.programs)(&context), pages.kinds.to_vec())
        }
    };
    if let Some(visits) = &task.visits {
        kinds = visits.phases.iter().map(|p| p.name.as_str()).collect();
    }
    Ok(Programs { arrivals, kinds })
}

impl Simulator for Pages {
    fn simulates(&self) -> &'static str {
        "visits of pages by programs"
    }

    fn tables(&self, settings: &Settings) -> Vec<&'static [Param]> {
        let [shared, policy] = tables::tables(settings);
        vec![RateParameters::TABLE, shared, policy]
    }

    fn acts(&self, settings: &Settings, key: &str) -> bool {
        tables::acts(settings, key)
    }

    fn statistics(&self, settings: &Settings) -> Vec<&'static [StatisticInfo]> {
        tables::statistics(settings)
    }

    fn check(&self, settings: &Settings) -> Result<(), String> {
        settings::check(settings)
    }

    fn measured(&self, settings: &Settings) -> Option<Measured> {
        stand_in::measured(settings)
    }

    fn run(&self, task: &Task<'_>, lines: &dyn LineFidelity) -> Result<Outcome, Error> {
        let ran = report::run(task.machine, task.settings, programs(task)?, task.seed, lines)?;
        Ok(Outcome {
            time: ran.time,
            references: ran.visits,
            events: ran.slices,
            counted: Counted::Whole(ran.statistics),
            phases: ran.phases,
            series: Some(ran.series),
        })
    }

    fn runs_whole(&self) -> &'static str {
        "a machine at page fidelity carries no bytes, so there is nothing to lose; give a machine at line fidelity"
    }

    fn has_no_images(&self) -> &'static str {
        "a machine at page fidelity carries no bytes, there is nothing to recover"
    }
}
