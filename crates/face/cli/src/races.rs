//! What is to be said of a program that races where releases and acquires alone order threads.

use check::crash::{self, Log, Persistency, Race};
use machine::{Description, WorkloadDescription};
use serde_json::Value;

/// How every such remark begins.
pub(crate) const WARNING: &str = "warning: the program races: ";

/// Of what a program did, under a persistency model.
pub(crate) fn of_log(model: Persistency, log: &Log) -> Option<String> {
    if model.needs_no_races() { said(&crash::races(log)) } else { None }
}

/// Of a recording by Valgrind of several threads, under such a model: what it shows to have no order may have one.
pub(crate) fn of_turns(model: Persistency, log: &Log) -> Option<String> {
    let is_unsure = model.needs_no_races() && log.has_turns;
    is_unsure.then(|| {
        "releases and acquires that are plain moves are not in this recording, and neither is that a pipe or the like hands over: what is lost between threads here may be ordered in the program. Record it with hooks (coreplane cc) for this machine".into()
    })
}

/// Accesses of a program that comes with the project that are looked at before it runs: its threads repeat what they do, and to look at all
/// would take as many instructions as a third of the run.
const LOOKED_AT: usize = 20_000;

/// Of what runs on machines, recordings or a program that comes with the project, where one of these needs programs without races.
pub(crate) fn of_workloads<'a>(
    mut machines: impl Iterator<Item = &'a Description>,
    workloads: &[WorkloadDescription],
    seed: u64,
) -> Option<String> {
    if !machines.any(|machine| machine.is_line() && machine.persistency().needs_no_races()) {
        return None;
    }
    workloads.iter().find_map(|workload| said(&of_workload(workload, seed)))
}

fn of_workload(workload: &WorkloadDescription, seed: u64) -> Vec<Race> {
    if let Some(recording) = workload.recording() {
        return crash::recorded_races(recording);
    }
    if workload.threads() < 2 {
        return Vec::new();
    }
    // What does not fit its memory is told by the run.
    let log = machine::within_arenas(workload, || crash::of_beginning(workload, seed, LOOKED_AT));
    log.ok().flatten().map_or_else(Vec::new, |log| crash::races(&log))
}

/// The warnings among a result's remarks: others were said before it was there.
pub(crate) fn told(remarks: &Value) -> Vec<String> {
    let all = remarks.as_array().into_iter().flatten().filter_map(Value::as_str);
    all.filter(|remark| remark.starts_with(WARNING)).map(String::from).collect()
}

fn said(found: &[Race]) -> Option<String> {
    let first = found.first()?;
    let more = match found.len() - 1 {
        0 => String::new(),
        1 => "; and one more pair".into(),
        n => format!("; and {n} more pairs"),
    };
    Some(format!(
        "{WARNING}{first}, and no release and acquire order them{more}. Release persistency says nothing of which persists: what is found holds for programs without races only"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_race_names_both_stores_and_tells_how_many_pairs_there_are() {
        let race = |second: &str| Race { first: "a.c:3".into(), second: second.into(), times: 1 };
        assert_eq!(said(&[]), None);
        let one = said(&[race("b.c:9")]).unwrap();
        assert!(one.contains("a.c:3 and b.c:9") && !one.contains("pair"), "{one}");
        assert!(said(&[race("b.c:9"), race("c.c:1"), race("d.c:1")]).unwrap().contains("and 2 more pairs"));
    }

    #[test]
    fn the_projects_own_program_races_when_it_is_told_to_and_where_that_matters() {
        let mut mix = WorkloadDescription::named("mix").unwrap();
        mix.set("workload.racy", "true").unwrap();
        let log = crash::of_program(&mix, 1).unwrap();
        assert!(of_log(Persistency::Release, &log).unwrap().contains("mix.rs:"));
        assert_eq!(of_log(Persistency::Epoch, &log), None);
    }

    /// Two machines, of which one needs programs without races.
    fn machines() -> [Description; 2] {
        ["intel", "lrp"].map(|name| Description::preset(name).unwrap())
    }

    #[test]
    fn what_comes_with_the_project_is_told_before_it_runs() {
        let mut mix = WorkloadDescription::named("mix").unwrap();
        mix.set("workload.racy", "true").unwrap();
        let ([intel, lrp], racy) = (machines(), [mix]);
        let told = of_workloads([&intel, &lrp].into_iter(), &racy, 1).unwrap();
        assert!(told.starts_with(WARNING) && told.contains("mix.rs:"), "{told}");
        assert_eq!(of_workloads(std::iter::once(&intel), &racy, 1), None);
        let [mut alone] = racy;
        alone.set("workload.threads", "1").unwrap();
        assert_eq!(of_workloads(std::iter::once(&lrp), &[alone], 1), None);
    }

    /// An access pattern alone races: what it stores is nobody's.
    #[test]
    fn every_program_that_machines_run_is_looked_at_and_structures_do_not_race() {
        let [_, lrp] = machines();
        let races = |name: &&str| {
            let workload = WorkloadDescription::named(name).unwrap();
            of_workloads(std::iter::once(&lrp), &[workload], 1).is_some()
        };
        let racing: Vec<&str> = workloads::WORKLOADS.iter().map(|w| w.name).filter(races).collect();
        assert_eq!(racing, ["bench"]);
    }
}
