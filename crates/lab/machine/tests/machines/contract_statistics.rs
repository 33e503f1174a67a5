//! What a run reports is what the parts of its machine declare, no more and no less.

use crate::kit::{Machine, machines, with_little_memory, work};
use engine::Mode;
use machine::{Description, Fidelity, PRESETS, Report, RunOptions, STATISTICS, WorkloadDescription, run};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Holds a report to what its machine declares; the names of `sometimes` are those that it told.
fn hold(report: &Report) -> BTreeSet<&'static str> {
    let declared = report.description.statistics();
    let told: BTreeSet<&str> = report.stats.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(told.len(), report.stats.len(), "{}: each name once", report.machine);
    let known: BTreeSet<&str> = declared.iter().map(|row| row.name).collect();
    let stray: Vec<_> = told.difference(&known).collect();
    assert!(stray.is_empty(), "{} reports what no part of it declares: {stray:?}", report.machine);
    let always = declared.iter().filter(|row| !row.sometimes).map(|row| row.name);
    let missing: Vec<_> = always.filter(|name| !told.contains(name)).collect();
    assert!(missing.is_empty(), "{} declares what it does not report: {missing:?}", report.machine);
    declared.iter().filter(|row| row.sometimes && told.contains(row.name)).map(|row| row.name).collect()
}

#[test]
fn every_memory_alone_and_beside_others_reports_what_its_kinds_declare() {
    for machine in machines() {
        for program in [work("queue", "20"), work("fio", "20")] {
            hold(&machine.ran(&program, Mode::Fast).unwrap());
        }
    }
}

/// What is reported sometimes and was told by a machine that comes with the project.
static TOLD: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let of = |name: &str| {
        let mut machine = Description::preset(name).unwrap();
        let program = match machine.fidelity() {
            Fidelity::Page => {
                machine = with_little_memory(machine);
                WorkloadDescription::named("stream").unwrap()
            }
            Fidelity::Hosts => WorkloadDescription::named("shared-lock").unwrap(),
            Fidelity::Line => work("btree", "20"),
        };
        let options = RunOptions { seed: 11, ..RunOptions::default() };
        hold(&run(&machine, &program, &options).unwrap())
    };
    PRESETS.iter().flat_map(|preset| of(preset.name)).collect()
});

#[test]
fn every_machine_that_comes_with_the_project_reports_what_its_parts_declare() {
    assert!(TOLD.contains("neardata.commands"));
}

type Sets = &'static [(&'static str, &'static str)];

/// Machines with a part, or on which something happens, as on none that comes with the project: what is set, and a program.
const BESIDE: [(&str, Sets, &str); 5] = [
    (
        "remote-pages",
        &[("remote.protect_ns", "20000"), ("remote.local_kib", "64"), ("remote.reclaim_batch", "2")],
        "redis-random",
    ),
    ("pberry", &[("remote.cpu_kib", "32"), ("remote.prefetch", "next")], "btree"),
    ("nvdimmc-poc", &[], "fio"),
    ("intel", &[("memory.link", "socket")], "queue"),
    ("nvdimmc-poc", &[("nvdimm.slots_mib", "1"), ("nand.bit_errors", "1000000000")], "fio"),
];

/// What tells of recordings, which have tests of their own.
const OF_RECORDINGS: [&str; 2] = ["sampling.", "replay."];

#[test]
fn what_is_reported_sometimes_is_reported_by_some_machine() {
    let mut told = TOLD.clone();
    for (name, sets, program) in BESIDE {
        let mut machine = Description::preset(name).unwrap();
        sets.iter().for_each(|(key, value)| machine.set(key, value).unwrap());
        let mut program = work(program, "40");
        if program.name == "fio" {
            program.set("workload.file_bytes", "33554432").unwrap();
        }
        told.extend(hold(
            &run(&machine, &program, &RunOptions { seed: 11, ..RunOptions::default() }).unwrap(),
        ));
    }
    let is_of_a_machine = |name: &&str| !OF_RECORDINGS.iter().any(|prefix| name.starts_with(prefix));
    let sometimes = STATISTICS.iter().filter(|row| row.sometimes).map(|row| row.name).filter(is_of_a_machine);
    let missing: Vec<&str> = sometimes.filter(|name| !told.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn what_is_reported_sometimes_is_reported_where_it_happens() {
    let named = |name: &str| Machine { description: Description::preset(name).unwrap(), kinds: Vec::new() };
    let told = |machine: &str, program: &str| {
        let mut program = work(program, "40");
        if program.name == "fio" {
            program.set("workload.file_bytes", "33554432").unwrap();
        }
        hold(&named(machine).ran(&program, Mode::Fast).unwrap())
    };
    assert!(told("nearpm-md", "btree").contains("neardata.commands"));
    assert!(told("nearpm-md", "btree").contains("time.devices"));
    assert!(told("nvdimmc-poc", "fio").contains("nand.write_amplification"));
    assert!(!told("nvdimmc-poc", "queue").contains("nand.write_amplification"));
    assert!(!told("nearpm-cpu", "btree").contains("neardata.commands"));
    // What programs spend on crash consistency is told where devices could take it over.
    for machine in ["nearpm-cpu", "nearpm-md", "compose-nearpm-remote"] {
        assert!(told(machine, "btree").contains("neardata.region_share"), "{machine}");
    }
    for machine in ["intel", "nvdimmc-poc", "asap-rp"] {
        assert!(told(machine, "btree").iter().all(|name| !name.starts_with("neardata.")), "{machine}");
    }
}
