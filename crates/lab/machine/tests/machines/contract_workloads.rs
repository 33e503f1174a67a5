//! What every workload keeps to: the same verbs, run on every line of the catalogue.

use crate::kit::{SMALL_CACHES, bad_value};
use machine::{
    CrashEvery, Description, Report, RunError, RunOptions, WorkloadDescription, run, run_with_crashes,
};
use protocol::params::Kind;
use std::collections::BTreeSet;
use workloads::{WORKLOADS, Workload};

/// Sizes at which a workload ends in some thousand references.
const SMALL: [(&str, &str); 12] = [
    ("workload.operations", "24"),
    ("workload.keys", "50"),
    ("workload.preload", "8"),
    ("workload.relations", "20"),
    ("workload.items", "20"),
    ("workload.subscribers", "20"),
    ("workload.input_bytes", "16384"),
    ("workload.file_bytes", "16384"),
    ("workload.array_bytes", "4096"),
    ("workload.pages", "16"),
    ("workload.warm", "4"),
    ("workload.think_cycles", "40"),
];

fn small(workload: &Workload, threads: &str) -> WorkloadDescription {
    let mut work = WorkloadDescription::named(workload.name).unwrap();
    work.set("workload.threads", threads).unwrap();
    let counts =
        |key: &str| workload.params.iter().any(|p| p.key == key && !matches!(p.kind, Kind::Choice(_)));
    for (key, value) in SMALL.iter().filter(|(key, _)| counts(key)) {
        work.set(key, value).unwrap();
    }
    work
}

fn ran(machine: &str, work: &WorkloadDescription, mode: engine::Mode) -> Result<Report, RunError> {
    let machine = Description::preset(machine).unwrap();
    run(&machine, work, &RunOptions { seed: 5, mode, ..RunOptions::default() })
}

#[test]
fn describes_itself() {
    let names: BTreeSet<&str> = WORKLOADS.iter().map(|w| w.name).collect();
    assert_eq!(names.len(), WORKLOADS.len(), "two workloads have one name");
    for workload in WORKLOADS {
        assert!(!workload.meaning.is_empty() && !workload.source.is_empty(), "{}", workload.name);
        let keys: BTreeSet<&str> = workload.params.iter().map(|p| p.key).collect();
        assert_eq!(keys.len(), workload.params.len(), "{}: a parameter twice", workload.name);
        for param in workload.params {
            let whole = param.key.starts_with("workload.") && !param.meaning.is_empty();
            assert!(whole && !param.source.is_empty(), "{}: {}", workload.name, param.key);
            let mut work = WorkloadDescription::named(workload.name).unwrap();
            assert!(work.set(param.key, param.default).is_ok(), "{}: {}'s default", workload.name, param.key);
        }
    }
}

#[test]
fn is_deterministic_under_both_engines() {
    for workload in WORKLOADS {
        let work = small(workload, "3");
        for machine in ["intel", "asap-rp"] {
            let modes = [engine::Mode::Fast, engine::Mode::Fast, engine::Mode::Reference];
            let all = modes.map(|mode| ran(machine, &work, mode).unwrap());
            assert!(all[0].references > 0 && all[0].time > units::Dur::ZERO, "{}", workload.name);
            let all = all.map(|report| report.to_json());
            assert_eq!(all[0], all[1], "{} on {machine}: twice", workload.name);
            assert_eq!(all[0], all[2], "{} on {machine}: the reference engine", workload.name);
        }
    }
}

#[test]
fn leaves_the_same_bytes_on_every_machine_with_one_thread() {
    for workload in WORKLOADS {
        let work = small(workload, "1");
        let on = |machine| ran(machine, &work, engine::Mode::Fast).unwrap().visible;
        let first = on("intel");
        for machine in ["asap-ep", "bbb", "eadr", "strandweaver"] {
            assert!(on(machine) == first, "{} leaves other bytes on {machine}", workload.name);
        }
    }
}

/// Cuts the power at every so many events, and recovers.
fn recovers(workload: &Workload, machine: &str, keys: &[(&str, &str)], events: u64) {
    let work = small(workload, "2");
    let (recover, mut points) = (work.recovery(5).unwrap(), 0);
    let mut description = Description::preset(machine).unwrap();
    keys.iter().for_each(|(key, value)| description.set(key, value).unwrap());
    // A core that runs ahead would leave what it has not stored yet.
    let saves_stores = matches!(machine, "bbb" | "eadr");
    let mode = if saves_stores { engine::Mode::Reference } else { engine::Mode::Fast };
    let options = RunOptions { seed: 5, mode, ..RunOptions::default() };
    run_with_crashes(&description, &work, &options, CrashEvery::Events(events), &mut |point| {
        points += 1;
        let answer = recover(&mut point.words(), &point.ended);
        assert_eq!(answer, Ok(()), "{} on {machine} at {}", workload.name, point.at);
        true
    })
    .unwrap();
    assert!(points > 1, "{} on {machine}: {points} points", workload.name);
}

#[test]
fn recovers_where_it_says_that_it_does() {
    for workload in WORKLOADS.iter().filter(|w| w.recover.is_some()) {
        for machine in ["intel", "hops-rp", "asap-rp", "bbb"] {
            recovers(workload, machine, &[], 40);
        }
        recovers(workload, "eadr", &[], 9);
    }
}

/// A line is on no wire of its own: what has left a cache is saved with the caches.
#[test]
fn recovers_while_lines_move_between_caches_that_survive() {
    for workload in WORKLOADS.iter().filter(|w| w.recover.is_some()) {
        recovers(workload, "eadr", &SMALL_CACHES, 19);
    }
}

#[test]
fn refuses_bad_parameters_with_the_key_and_what_is_accepted() {
    for workload in WORKLOADS {
        for param in workload.params {
            let Some(bad) = bad_value(param) else { continue };
            let mut work = WorkloadDescription::named(workload.name).unwrap();
            let e = work.set(param.key, bad).unwrap_err().to_string();
            assert!(e.contains(param.key) && e.contains("give"), "{}: {e}", workload.name);
        }
    }
}
