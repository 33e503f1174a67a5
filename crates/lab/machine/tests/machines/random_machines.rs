//! Machines with parameters changed at random, faults among them: every run ends, with a report or with an error in words.

use machine::{Description, RunError, RunOptions, WorkloadDescription, run};
use protocol::Param;
use protocol::params::Kind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use units::Random;
use units::watch::{self, Watch};

const MACHINES: [&str; 12] = [
    "intel",
    "hops-rp",
    "asap-rp",
    "asap-ep",
    "bbb",
    "eadr",
    "nearpm-md",
    "nvdimmc-poc",
    "remote-pages",
    "remote-pages@2m",
    "pberry",
    "pberry@cxl",
];
const WORKLOADS: [&str; 8] =
    ["cceh", "queue", "redis-random", "linreg", "btree", "dash-lh", "hashmap", "bandwidth"];

/// What is changed most: where waiting, asking again and faults are.
const PARTS: [&str; 6] = ["remote.", "neardata.", "ordering.", "nvdimm.", "memory.", "cpu."];

/// A run that takes longer is taken for one that never ends. Runs take a second on an idle host.
const LIMIT: Duration = Duration::from_secs(240);

fn value(param: &Param, r: &mut Random) -> String {
    let near = |default: &str, min: u64, max: u64, unit: f64, r: &mut Random| {
        let usual = default.parse::<f64>().unwrap_or(0.0) * unit;
        let times = [0.0, 0.1, 0.5, 1.0, 2.0, 10.0][r.below(6) as usize];
        ((usual * times) as u64).clamp(min, max)
    };
    match param.kind {
        Kind::Count { min, max } => near(param.default, min, max, 1.0, r).to_string(),
        Kind::PowerOfTwo { min, max } | Kind::Bytes { min, max } => {
            near(param.default, min, max, 1.0, r).next_power_of_two().clamp(min, max).to_string()
        }
        Kind::Multiple { of, max } => near(param.default, of, max, 1.0, r).next_multiple_of(of).to_string(),
        Kind::MultipleOrZero { of, max } => {
            near(param.default, 0, max, 1.0, r).next_multiple_of(of).to_string()
        }
        Kind::Nanoseconds { min_ps, max_ps } => {
            (near(param.default, min_ps, max_ps, 1000.0, r) as f64 / 1000.0).to_string()
        }
        Kind::Choice(words) => words[r.below(words.len() as u64) as usize].into(),
        Kind::Flag => ["true", "false"][r.below(2) as usize].into(),
        Kind::Thousandths { .. } | Kind::Text => param.default.into(),
    }
}

/// Stops the work when it takes too long; says whether it had to.
#[expect(clippy::disallowed_methods, reason = "a machine that runs for ever is stopped by the host's clock")]
fn limited<T>(work: impl FnOnce() -> T) -> Option<T> {
    let (watch, done) = (Arc::new(Watch::default()), Arc::new(AtomicBool::new(false)));
    let (seen, ended) = (Arc::clone(&watch), Arc::clone(&done));
    let alarm = std::thread::Builder::new().spawn(move || {
        let step = Duration::from_millis(20);
        let steps = LIMIT.as_millis() / step.as_millis();
        (0..steps).take_while(|_| !ended.load(Relaxed)).for_each(|_| std::thread::sleep(step));
        if !ended.load(Relaxed) {
            seen.stop();
        }
    });
    let result = catch_unwind(AssertUnwindSafe(|| watch.enter(work)));
    done.store(true, Relaxed);
    alarm.unwrap().join().unwrap();
    match result {
        Ok(result) => Some(result),
        Err(payload) if watch::stopped_by(&*payload) => None,
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

fn try_one(seed: u64) {
    let mut r = Random::new(seed, 3);
    let mut machine = Description::preset(MACHINES[r.below(12) as usize]).unwrap();
    let mut workload = WorkloadDescription::named(WORKLOADS[r.below(8) as usize]).unwrap();
    let mut sets = Vec::new();
    for key in ["workload.operations", "workload.keys", "workload.pairs"] {
        _ = workload.set(key, "200");
    }
    let params: Vec<&Param> = machine::params::MACHINE
        .iter()
        .filter(|p| PARTS.iter().any(|part| p.key.starts_with(part)))
        .collect();
    for _ in 0..1 + r.below(6) {
        let param = params[r.below(params.len() as u64) as usize];
        // Which systems there are is the preset's.
        if param.key.ends_with(".kind") || param.key == "ordering.model" || !machine.acts(param.key) {
            continue;
        }
        let value = value(param, &mut r);
        if machine.set(param.key, &value).is_ok() {
            sets.push(format!("{}={value}", param.key));
        }
    }
    let about = format!("seed {seed}: {} on {}, {}", workload.name, machine.name, sets.join(" "));
    let options = RunOptions { seed, ..RunOptions::default() };
    let done = catch_unwind(AssertUnwindSafe(|| limited(|| run(&machine, &workload, &options))));
    match done {
        Ok(Some(Ok(_))) => {}
        Ok(Some(Err(RunError::Config(e)))) => assert!(!e.to_string().is_empty(), "{about}"),
        Ok(Some(Err(RunError::Violation(text)))) => assert!(!text.is_empty(), "{about}"),
        Ok(None) => panic!("{about}: does not end"),
        Err(_) => panic!("{about}: panics"),
    }
}

#[test]
fn changed_machines_run_or_say_why_not() {
    (0..40).for_each(try_one);
}

#[test]
#[ignore = "takes minutes: the nightly mode of .ci/run"]
fn many_changed_machines_run_or_say_why_not() {
    (40..1500).for_each(try_one);
}

#[test]
fn what_made_runs_endless_or_panic_is_refused_or_ends() {
    type Sets = &'static [(&'static str, &'static str)];
    let cases: [(&str, &str, Sets); 5] = [
        (
            "pberry@cxl",
            "redis-random",
            &[("remote.window_ns", "0"), ("remote.page_table", "whole-page"), ("remote.report_buffer", "1")],
        ),
        ("remote-pages@2m", "linreg", &[("remote.retry_ns", "0")]),
        (
            "pberry@cxl",
            "cceh",
            &[("remote.deadline_ns", "0"), ("remote.retry_ns", "1"), ("remote.fault.lose_one_in", "2")],
        ),
        ("nvdimmc-poc", "linreg", &[("nvdimm.driver.poll_ns", "0.001")]),
        ("hops-rp", "cceh", &[("cpu.store_interval_ns", "1000000"), ("ordering.flush_issue_ns", "1000000")]),
    ];
    for (machine, workload, sets) in cases {
        let mut machine = Description::preset(machine).unwrap();
        let refused = sets.iter().any(|(key, value)| machine.set(key, value).is_err());
        let refused = refused || machine.check().is_err();
        assert!(refused, "{workload} on {}", machine.name);
    }
}
