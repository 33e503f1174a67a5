//! What every workload of machines at page fidelity keeps to: the same verbs, run on every line of its catalogue and on every
//! such machine that comes with the project.

use crate::kit::bad_value;
use machine::{Description, Fidelity, PRESETS, Report, RunOptions, WorkloadDescription, run};
use protocol::pages::PageStep;
use std::collections::{BTreeMap, BTreeSet};
use units::Dur;
use workloads::{PAGE_WORKLOADS, PageContext, PageWorkload, find};

/// Sizes at which a workload ends in some ten thousand visits.
const SMALL: [(&str, &str); 7] = [
    ("workload.instances", "3"),
    ("workload.batch", "2"),
    ("workload.interval_ns", "1000000"),
    ("workload.scale_percent", "1"),
    ("workload.passes", "2"),
    ("workload.operations", "3000"),
    ("workload.array_bytes", "262144"),
];

fn small(workload: &PageWorkload) -> WorkloadDescription {
    let mut work = WorkloadDescription::named(workload.name).unwrap();
    for (key, value) in SMALL.iter().filter(|(key, _)| work.params.iter().any(|p| p.key == *key)) {
        work.set(
            key,
            if *key == "workload.operations" && find(workload.name).is_some() { "2" } else { value },
        )
        .unwrap();
    }
    work
}

fn machines() -> impl Iterator<Item = Description> {
    PRESETS
        .iter()
        .map(|p| Description::preset(p.name).unwrap())
        .filter(|machine| machine.fidelity() == Fidelity::Page)
        .map(crate::kit::with_little_memory)
}

fn ran(machine: &Description, work: &WorkloadDescription, seed: u64) -> Report {
    run(machine, work, &RunOptions { seed, ..RunOptions::default() }).unwrap()
}

#[test]
fn describes_itself() {
    let names: BTreeSet<&str> = PAGE_WORKLOADS.iter().map(|w| w.name).collect();
    assert_eq!(names.len(), PAGE_WORKLOADS.len(), "two workloads have one name");
    for workload in PAGE_WORKLOADS {
        assert!(!workload.meaning.is_empty() && !workload.source.is_empty(), "{}", workload.name);
        let kinds: BTreeSet<&str> = workload.kinds.iter().copied().collect();
        assert!(!kinds.is_empty() && kinds.len() == workload.kinds.len(), "{}: kinds", workload.name);
        assert!(
            workload.params.is_empty() == find(workload.name).is_some(),
            "{}: parameters of its own, or those of its name at line fidelity",
            workload.name
        );
        for param in workload.params {
            let whole = param.key.starts_with("workload.") && !param.meaning.is_empty();
            assert!(whole && !param.source.is_empty(), "{}: {}", workload.name, param.key);
            let mut work = WorkloadDescription::named(workload.name).unwrap();
            assert!(work.set(param.key, param.default).is_ok(), "{}: {}'s default", workload.name, param.key);
        }
    }
}

/// What a workload's programs do, all together.
#[derive(Debug, Default, PartialEq, Eq)]
struct Done {
    visits: u64,
    operations: Vec<u64>,
}

/// Takes all steps of all programs, and looks at each.
fn done(workload: &PageWorkload, seed: u64) -> Done {
    let context = PageContext { settings: small(workload).settings, seed, visits: None };
    let mut done = Done { visits: 0, operations: vec![0; workload.kinds.len()] };
    for mut arrival in (workload.programs)(&context) {
        let (mut areas, mut marked, mut steps) = (BTreeMap::new(), vec![false; workload.kinds.len()], 0);
        loop {
            steps += 1;
            assert!(steps < 10_000_000, "{} does not end", workload.name);
            match arrival.program.next() {
                PageStep::Map { area, pages } | PageStep::MapDevice { area, pages, .. } => {
                    assert!(pages > 0, "{}: area {area} is empty", workload.name);
                    assert_eq!(areas.insert(area, pages), None, "{}: area {area} twice", workload.name);
                }
                PageStep::Unmap { area } => {
                    assert!(areas.remove(&area).is_some(), "{}: area {area} is not mapped", workload.name);
                }
                PageStep::Visit(visit) => {
                    let pages = *areas.get(&visit.area).unwrap_or(&0);
                    let within = visit.span > 0 && visit.first + visit.span <= pages;
                    assert!(within, "{}: {visit:?} of {pages} pages", workload.name);
                    assert!((1..=64).contains(&visit.lines), "{}: {visit:?}", workload.name);
                    done.visits += visit.count;
                }
                PageStep::Operations { kind, count } => {
                    assert!(marked[kind] || count == 0, "{}: operations begin nowhere", workload.name);
                    marked[kind] = true;
                    done.operations[kind] += count;
                }
                PageStep::Bound { .. } => panic!("a program that is no recording has no region"),
                PageStep::End => break,
            }
        }
    }
    done
}

#[test]
fn its_programs_visit_what_they_have_mapped_and_end() {
    for workload in PAGE_WORKLOADS {
        for seed in [1, 7] {
            let once = done(workload, seed);
            assert!(once.visits > 100, "{}: {once:?}", workload.name);
            assert!(once.operations.iter().all(|n| *n > 0), "{}: {once:?}", workload.name);
            assert_eq!(done(workload, seed), once, "{}: again", workload.name);
        }
    }
}

#[test]
fn every_visit_is_answered_once_and_every_operation_counted_on_every_machine() {
    for workload in PAGE_WORKLOADS {
        let wanted = done(workload, 5);
        for machine in machines() {
            let report = ran(&machine, &small(workload), 5);
            assert!(report.time > Dur::ZERO, "{} on {}", workload.name, machine.name);
            assert_eq!(report.references, wanted.visits, "{} on {}", workload.name, machine.name);
            let names: Vec<&str> = report.phases.iter().map(|p| p.name.as_str()).collect();
            assert_eq!(names, workload.kinds, "{} on {}", workload.name, machine.name);
            let operations: Vec<u64> = report.phases.iter().map(|p| p.operations).collect();
            assert_eq!(operations, wanted.operations, "{} on {}", workload.name, machine.name);
        }
    }
}

#[test]
fn is_deterministic() {
    for workload in PAGE_WORKLOADS {
        for machine in machines() {
            let runs = [5, 5].map(|seed| ran(&machine, &small(workload), seed).to_json());
            assert_eq!(runs[0], runs[1], "{} on {}", workload.name, machine.name);
        }
    }
}

#[test]
fn refuses_bad_parameters_with_the_key_and_what_is_accepted() {
    for workload in PAGE_WORKLOADS {
        for param in workload.params {
            let Some(bad) = bad_value(param) else { continue };
            let mut work = WorkloadDescription::named(workload.name).unwrap();
            let e = work.set(param.key, bad).unwrap_err().to_string();
            assert!(e.contains(param.key) && e.contains("give"), "{}: {e}", workload.name);
        }
    }
}

#[test]
fn machines_at_line_fidelity_say_that_they_take_none() {
    let line = Description::preset("intel").unwrap();
    for workload in PAGE_WORKLOADS.iter().filter(|w| find(w.name).is_none()) {
        let e = run(&line, &small(workload), &RunOptions::default()).err().unwrap().to_string();
        assert!(e.contains(workload.name) && e.contains("page fidelity"), "{e}");
    }
}

#[test]
fn more_zones_than_a_byte_counts_are_told_apart() {
    let mut machine = Description::preset("interleave").unwrap();
    machine.set("fusion.node_gib", "1").unwrap();
    let mut workload = WorkloadDescription::named("redis-mem").unwrap();
    workload.set("workload.operations", "20000").unwrap();
    let report = run(&machine, &workload, &RunOptions::default()).unwrap();
    assert!(report.get("os.pm_integrated_bytes_max").unwrap() > 256.0 * f64::from(1 << 30));
}
