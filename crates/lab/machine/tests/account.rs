//! Where the cores' time goes: every picosecond is charged to one cause, on every machine.

use machine::{Description, PRESETS, Report, RunOptions, WorkloadDescription, run};
use rayon::prelude::*;

const CAUSES: [&str; 8] = [
    "time.compute",
    "time.memory",
    "time.fences",
    "time.buffer_full",
    "time.locks",
    "time.devices",
    "time.kernel",
    "time.idle",
];

fn report(machine: &str, workload: &str, sets: &[(&str, &str)]) -> Option<Report> {
    let machine = Description::preset(machine).unwrap();
    let mut workload = WorkloadDescription::named(workload).unwrap();
    for (key, value) in [("workload.operations", "60")].iter().chain(sets) {
        workload.set(key, value).unwrap();
    }
    let options = RunOptions { seed: 3, without_images: true, ..RunOptions::default() };
    // Some workloads ask for a machine of their own kind.
    run(&machine, &workload, &options).ok()
}

/// What went into each cause, in picoseconds, and the time of all cores with a program.
fn account(report: &Report) -> (Vec<(&'static str, u64)>, u64) {
    let ps = |name: &str| (report.get(name).unwrap_or(0.0) * 1e3).round() as u64;
    let threads = report.workload_description.threads() as u64;
    (CAUSES.map(|name| (name, ps(name))).into(), report.time.as_ps() * threads)
}

#[test]
fn causes_add_up_to_the_time_of_every_core_on_every_machine() {
    let lines: Vec<&str> =
        PRESETS.iter().map(|p| p.name).filter(|name| !Description::preset(name).unwrap().is_page()).collect();
    assert!(lines.len() > 25, "{}", lines.len());
    let sums: Vec<usize> = lines
        .par_iter()
        .map(|machine| {
            let of = |workload: &&str| {
                let Some(report) = report(machine, workload, &[]) else { return 0 };
                let (causes, time) = account(&report);
                let sum: u64 = causes.iter().map(|(_, ps)| ps).sum();
                assert_eq!(sum, time, "{workload} on {machine}: {causes:?}");
                1
            };
            ["queue", "hashmap", "redis-random"].iter().map(of).sum()
        })
        .collect();
    assert!(sums.iter().sum::<usize>() > lines.len(), "{sums:?}");
}

#[test]
fn causes_agree_with_what_cores_count_besides() {
    let report = report("intel", "queue", &[("workload.threads", "1")]).unwrap();
    let of = |name| report.get(name).unwrap();
    // One thread waits for nobody, and the region ends after a last fence.
    assert!(of("time.idle").abs() < 1e-12);
    let waits = of("time.memory") + of("time.fences") + of("time.buffer_full");
    let counted = of("ordering.fence_stall") + of("cpu.memory_stall");
    assert!(waits <= counted + 1e-6, "{waits} {counted}");
    assert!(of("time.compute") > 0.0 && of("time.fences") > 0.0);
}

#[test]
fn what_is_said_to_cost_time_does() {
    let share = |machine: &str, workload: &str, sets: &[(&str, &str)], cause: &str| {
        let report = report(machine, workload, sets).unwrap();
        let (causes, time) = account(&report);
        causes.iter().find(|(name, _)| *name == cause).unwrap().1 as f64 / time as f64
    };
    let threads = |n: &'static str| [("workload.threads", n)];
    // One lock for everybody.
    assert!(share("intel", "queue", &threads("1"), "time.kernel").abs() < 1e-12);
    assert!(share("intel", "queue", &threads("8"), "time.locks") > 0.5);
    assert!(share("intel", "queue", &threads("1"), "time.locks") < 0.2);
    assert!(share("remote-pages", "redis-random", &[], "time.kernel") > 0.5);
    assert!(share("pberry", "cceh", &[], "time.devices").abs() < 1e-12);
    assert!(share("nearpm-md", "btree", &[], "time.devices") > 0.0);
    assert!(share("eadr", "cceh", &[], "time.buffer_full").abs() < 1e-12);
}

/// What is charged once the wait is over is what it was about, not how the buffer stands by then.
#[test]
fn waits_for_room_in_a_persist_buffer_are_told_as_such() {
    let report = report("asap-rp", "bandwidth", &[("workload.operations", "2000")]).unwrap();
    let (stalls, told) =
        (report.get("ordering.buffer_stall").unwrap(), report.get("time.buffer_full").unwrap());
    assert!(stalls > 0.0 && told > 0.0, "{stalls} of {told}");
}
