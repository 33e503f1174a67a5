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
        PRESETS.iter().map(|p| p.name).filter(|name| Description::preset(name).unwrap().is_line()).collect();
    assert!(lines.len() > 25, "{}", lines.len());
    let sums: Vec<usize> = lines
        .par_iter()
        .map(|machine| {
            let of = |(workload, sets): &(&str, &[(&str, &str)])| {
                let Some(report) = report(machine, workload, sets) else { return 0 };
                let (causes, time) = account(&report);
                let sum: u64 = causes.iter().map(|(_, ps)| ps).sum();
                assert_eq!(sum, time, "{workload} on {machine}: {causes:?}");
                1
            };
            // Most of Redis's time would go into keys that are set before what is counted.
            let few = [("workload.keys", "4000")];
            // Stores wait there for flushes, where few of them may be on their way.
            let flushed = [("workload.operation", "store+clwb"), ("workload.threads", "2")];
            let all = [
                ("queue", &[][..]),
                ("hashmap", &[]),
                ("redis-random", &few),
                ("heap", &[]),
                ("lattester", &flushed),
            ];
            all.iter().map(of).sum()
        })
        .collect();
    assert!(sums.iter().sum::<usize>() > lines.len(), "{sums:?}");
}

/// Traffic in the background is no part of the region of interest, and has its own time before and after it.
#[test]
fn causes_are_those_of_the_cores_that_told_of_a_region() {
    for machine in ["intel", "asap-rp", "optane", "nearpm-md", "pberry"] {
        let options = RunOptions { without_images: true, opening: 5, ..RunOptions::default() };
        let mut workload = WorkloadDescription::named("bandwidth-latency").unwrap();
        workload.set("workload.operations", "60").unwrap();
        let report = run(&Description::preset(machine).unwrap(), &workload, &options).unwrap();
        assert_eq!(report.workload_description.threads(), 4);
        let sum: u64 = account(&report).0.iter().map(|(_, ps)| ps).sum();
        assert_eq!(sum, report.time.as_ps(), "{machine}");
        // So are sums of waits, of which some are the kernel's.
        let of = |names: [&str; 3]| -> f64 { names.iter().filter_map(|name| report.get(name)).sum() };
        let told = of(["time.memory", "time.fences", "time.buffer_full"]);
        let waits = of(["cpu.memory_stall", "ordering.fence_stall", "ordering.buffer_stall"]);
        let kernel = report.get("time.kernel").unwrap_or(0.0);
        assert!((told - 1e-6..=told + kernel + 1e-6).contains(&waits), "{machine}: {told} {waits} {kernel}");
        assert_eq!(report.opening.len(), 1, "{machine}");
    }
}

#[test]
fn causes_add_up_to_the_time_of_every_host() {
    for workload in workloads::SHARED_WORKLOADS {
        let report = report("shared", workload.name, &[]).unwrap();
        let (causes, time) = account(&report);
        assert_eq!(causes.iter().map(|(_, ps)| ps).sum::<u64>(), time, "{}: {causes:?}", workload.name);
        let waits = report.get("shared.fetch_time").unwrap() + report.get("shared.fence_time").unwrap();
        let told = report.get("time.memory").unwrap() + report.get("time.fences").unwrap();
        assert!(waits > 0.0 && told >= waits && report.get("time.compute").unwrap() > 0.0, "{causes:?}");
    }
}

#[test]
fn the_stretches_of_a_region_are_what_was_charged_and_so_many_as_were_asked_for() {
    let machine = Description::preset("asap-rp").unwrap();
    let mut workload = WorkloadDescription::named("cceh").unwrap();
    workload.set("workload.operations", "30").unwrap();
    let with = |opening| run(&machine, &workload, &RunOptions { opening, ..RunOptions::default() }).unwrap();
    let all = with(usize::MAX);
    for cause in CAUSES.iter().filter(|&&c| c != "time.idle") {
        let of = all.opening.iter().flatten().filter(|s| s.cause == &cause["time.".len()..]);
        let sum: f64 = of.map(|s| s.to.since(s.from).as_ns()).sum();
        assert!((sum - all.get(cause).unwrap_or(0.0)).abs() < 1e-6, "{cause}: {sum}");
    }
    for core in &all.opening {
        assert!(core.len() > 50, "{}", core.len());
        assert!(
            core.windows(2)
                .all(|s| s[0].to <= s[1].from && (s[0].cause != s[1].cause || s[0].to < s[1].from))
        );
    }
    let few = with(7);
    assert!(few.opening.iter().zip(&all.opening).all(|(few, all)| few[..6] == all[..6] && few.len() == 7));
    assert!(with(0).to_json().get("opening").is_none());
    assert_eq!(few.to_json()["opening"][0][0][0], few.opening[0][0].cause);
}

#[test]
fn causes_agree_with_what_cores_count_besides() {
    let report = report("intel", "queue", &[("workload.threads", "1")]).unwrap();
    let of = |name| report.get(name).unwrap();
    assert_eq!(report.get("time.buffer_full"), None, "nothing holds up stores there");
    // One thread waits for nobody, and the region ends after a last fence.
    assert!(of("time.idle").abs() < 1e-12);
    let waits = of("time.memory") + of("time.fences");
    let counted = of("ordering.fence_stall") + of("cpu.memory_stall");
    assert!(waits <= counted + 1e-6, "{waits} {counted}");
    assert!(of("time.compute") > 0.0 && of("time.fences") > 0.0);
}

/// Of one thread that takes no lock: locks have their own cause.
#[test]
fn sums_of_waits_are_of_the_causes_that_the_account_knows() {
    let sums = [
        ("time.memory", "cpu.memory_stall"),
        ("time.fences", "ordering.fence_stall"),
        ("time.buffer_full", "ordering.buffer_stall"),
    ];
    for (machine, workload) in [
        ("optane", "append"),
        ("optane", "bandwidth"),
        ("intel", "append"),
        ("asap-rp", "bandwidth"),
        ("strandweaver", "append"),
        ("nearpm-md", "btree"),
    ] {
        let report = report(machine, workload, &[("workload.threads", "1")]).unwrap();
        let of = |name| report.get(name).unwrap_or(0.0);
        for (cause, sum) in sums {
            assert!(
                (of(cause) - of(sum)).abs() < 1e-6,
                "{machine} {workload}: {cause} {} {}",
                of(cause),
                of(sum)
            );
        }
        let stalled = of("ordering.fence_stall") + of("ordering.buffer_stall");
        assert!(
            (of("ordering.stall_share") - stalled / report.time.as_ns()).abs() < 1e-9,
            "{machine} {workload}"
        );
    }
}

#[test]
fn what_is_said_to_cost_time_does() {
    let share = |machine: &str, workload: &str, sets: &[(&str, &str)], cause: &str| {
        let report = report(machine, workload, sets).unwrap();
        let (causes, time) = account(&report);
        causes.iter().find(|(name, _)| *name == cause).unwrap().1 as f64 / time as f64
    };
    // So many operations that the ends, where some threads are through already, weigh little.
    let threads = |n: &'static str| [("workload.threads", n), ("workload.operations", "240")];
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
