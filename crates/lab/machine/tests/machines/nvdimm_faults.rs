//! What NVDIMM-C's page table costs: first touches, walks, and a lock that goes from core to core.

use machine::{Description, Report, RunOptions, WorkloadDescription, run};

fn fio(machine: &str, sets: &[(&str, &str)]) -> Report {
    let mut machine = Description::preset(machine).unwrap();
    let mut workload = WorkloadDescription::named("fio").unwrap();
    for (key, value) in sets {
        if key.starts_with("workload.") { workload.set(key, value) } else { machine.set(key, value) }
            .unwrap();
    }
    run(&machine, &workload, &RunOptions { seed: 3, ..RunOptions::default() }).unwrap()
}

/// A megabyte, each block of which is visited once.
const FILE: (&str, &str) = ("workload.file_bytes", "1048576");

#[test]
fn a_mapped_page_faults_once_however_many_blocks_it_has() {
    for machine in ["nvdimmc-baseline", "nvdimmc-poc"] {
        for (block, operations) in [("4096", "256"), ("256", "4096")] {
            let sets = [FILE, ("workload.block_size", block), ("workload.operations", operations)];
            let report = fio(machine, &sets);
            assert_eq!(report.get("nvdimm.first_touches"), Some(256.0), "{machine} {block}");
            assert!(report.get("nvdimm.faults").is_none_or(|n| n < 1.0), "{machine} {block}");
        }
    }
}

#[test]
fn a_walk_takes_no_lock_and_a_first_touch_does() {
    let small = [FILE, ("workload.block_size", "256"), ("workload.operations", "4096")];
    let time = |sets: &[(&str, &str)]| fio("nvdimmc-poc", &[&small, sets].concat()).time.as_ns();
    let usual = time(&[]);
    // 256 first touches and some 3,000 walks: the lock's microsecond is paid by the former alone.
    let mapped = time(&[("nvdimm.driver.map_ns", "1665")]) - usual;
    assert!((200_000.0..400_000.0).contains(&mapped), "{mapped}");
    let walked = time(&[("nvdimm.driver.walk_ns", "160")]) - usual;
    assert!((200_000.0..420_000.0).contains(&walked), "{walked}");
}

#[test]
fn a_lock_that_is_handed_over_costs_those_that_share_it() {
    let time = |threads: &str, handoff: &str| {
        let sets = [
            ("workload.operations", "1024"),
            ("workload.threads", threads),
            ("nvdimm.driver.handoff_ns", handoff),
        ];
        fio("nvdimmc-poc", &sets).time.as_ns()
    };
    assert!((time("1", "0") - time("1", "450")).abs() < 1e-9, "nobody to hand it to");
    assert!(time("8", "450") > 1.3 * time("8", "0"));
}

#[test]
fn of_a_file_larger_than_the_cache_a_share_hits() {
    let sets = |hits: &'static str| {
        [("workload.resident", "false"), ("workload.operations", "400"), ("workload.hit_permille", hits)]
    };
    let none = fio("nvdimmc-poc", &sets("0"));
    let some = fio("nvdimmc-poc", &sets("125"));
    assert_eq!(none.get("nvdimm.faults"), Some(400.0));
    let faults = some.get("nvdimm.faults").unwrap();
    assert!((320.0..380.0).contains(&faults), "{faults}");
}
