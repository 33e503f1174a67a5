//! What NearPM's artifact does with a page that changes: one copy to one place, and a fault that is timed in part.

use machine::{Description, Report, RunOptions, WorkloadDescription, run};

fn shadowed(machine: &str, sets: &[(&str, &str)]) -> Report {
    let machine = Description::preset(machine).unwrap();
    let mut workload = WorkloadDescription::named("btree").unwrap();
    let usual = [("workload.operations", "60"), ("workload.mechanism", "shadow"), ("workload.threads", "1")];
    for (key, value) in usual.iter().chain(sets) {
        workload.set(key, value).unwrap();
    }
    run(&machine, &workload, &RunOptions::default()).unwrap()
}

#[test]
fn a_fault_that_no_region_counts_takes_time_all_the_same() {
    let pages = ("workload.pages", "fixed");
    let all = shadowed("nearpm-cpu", &[pages]);
    let more = shadowed("nearpm-cpu", &[pages, ("workload.untimed_fault_ns", "6000")]);
    let region = |report: &Report| report.get("neardata.region_time_ns").unwrap();
    // Every transaction faults once.
    let faults = 60.0;
    let grown = more.time.as_ns() - all.time.as_ns();
    assert!((grown / (faults * 6000.0) - 1.0).abs() < 0.02, "{grown}");
    assert!((region(&more) / region(&all) - 1.0).abs() < 0.02, "{} {}", region(&more), region(&all));
}

#[test]
fn what_is_copied_to_one_place_does_not_switch() {
    for machine in ["nearpm-cpu", "nearpm-md"] {
        let [first, fixed] = ["first", "fixed"].map(|pages| shadowed(machine, &[("workload.pages", pages)]));
        // Both copy a page a transaction; the word that says which frame counts is written by one of them.
        let writes = |report: &Report| report.get("cpu.pm_stores").unwrap();
        assert!(writes(&fixed) < writes(&first), "{machine}: {} {}", writes(&fixed), writes(&first));
        assert!(fixed.time < first.time, "{machine}");
    }
    let copied = |pages| {
        let report = shadowed("nearpm-md", &[("workload.pages", pages)]);
        report.get("neardata.lines_copied").unwrap() as u64
    };
    assert_eq!(copied("fixed"), copied("first"));
}

#[test]
fn a_program_that_looks_after_its_devices_waits_for_a_copy_to_one_place() {
    let fixed = |machine| shadowed(machine, &[("workload.pages", "fixed")]);
    assert!(fixed("nearpm-md-swsync").time > fixed("nearpm-md").time);
}
