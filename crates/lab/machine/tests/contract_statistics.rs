//! What a run reports is what the parts of its machine declare, no more and no less.

mod kit;

use engine::Mode;
use kit::{Machine, machines, with_little_memory, work};
use machine::{Description, PRESETS, Report, RunOptions, WorkloadDescription, run};
use std::collections::BTreeSet;

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

#[test]
fn every_machine_that_comes_with_the_project_reports_what_its_parts_declare() {
    for preset in PRESETS {
        let mut machine = Description::preset(preset.name).unwrap();
        let program = match machine.fidelity() {
            "page" => {
                machine = with_little_memory(machine);
                WorkloadDescription::named("stream").unwrap()
            }
            "hosts" => WorkloadDescription::named("shared-lock").unwrap(),
            _ => work("btree", "20"),
        };
        let options = RunOptions { seed: 11, ..RunOptions::default() };
        hold(&run(&machine, &program, &options).unwrap());
    }
}

#[test]
fn what_is_reported_sometimes_is_reported_where_it_happens() {
    let named = |name: &str| Machine { description: Description::preset(name).unwrap(), kinds: Vec::new() };
    let told = |machine: &str, program: &str| {
        let mut program = work(program, "40");
        if program.name == "fio" {
            program.set("workload.resident", "false").unwrap();
        }
        hold(&named(machine).ran(&program, Mode::Fast).unwrap())
    };
    assert!(told("nearpm-md", "btree").contains("neardata.commands"));
    assert!(told("nearpm-md", "btree").contains("time.devices"));
    assert!(told("nvdimmc-poc", "fio").contains("nand.write_amplification"));
    assert!(!told("nvdimmc-poc", "queue").contains("nand.write_amplification"));
    assert!(!told("nearpm-cpu", "btree").contains("neardata.commands"));
}
