//! Timing against closed forms: small programs whose time can be added up by hand.

use machine::{Description, Report, RunOptions, WorkloadDescription, run};
use protocol::PM_BASE;
use rayon::prelude::*;
use trace::{Kind, Record, Recording, Trace};

const BASE: u64 = 0x10_0000;

fn record(kind: Kind, address: u64, value: u64) -> Record {
    Record { address, value, stamp: 0, location: 0, instructions: 0, thread: 0, kind, size: 8 }
}

/// A program of one thread on one mapped range.
fn program(records: &[(Kind, u64, u64)]) -> WorkloadDescription {
    let mut trace = Trace::default();
    trace.push(record(Kind::Map, BASE, 1 << 20));
    records.iter().for_each(|(kind, offset, value)| trace.push(record(*kind, BASE + offset, *value)));
    WorkloadDescription::replay("test", Recording::of_trace(trace).unwrap())
}

fn on(machine: &str, sets: &[(&str, &str)], records: &[(Kind, u64, u64)]) -> Report {
    let mut d = Description::preset(machine).unwrap();
    sets.iter().for_each(|(k, v)| d.set(k, v).unwrap());
    run(&d, &program(records), &RunOptions::default()).unwrap()
}

/// Time between two programs that differ by their last records: what those records take.
fn extra(
    machine: &str,
    sets: &[(&str, &str)],
    before: &[(Kind, u64, u64)],
    more: &[(Kind, u64, u64)],
) -> f64 {
    let whole = [before, more].concat();
    on(machine, sets, &whole).time.as_ns() - on(machine, sets, before).time.as_ns()
}

const STORE: (Kind, u64, u64) = (Kind::Store, 0, 7);
const SFENCE: (Kind, u64, u64) = (Kind::Sfence, 0, 0);

/// A warm line, so that the next store hits.
const WARM: [(Kind, u64, u64); 3] = [STORE, (Kind::Clwb, 0, 0), SFENCE];

#[test]
fn a_dfence_after_a_safe_flush_takes_the_wires_and_the_acknowledgement() {
    // Stored (0.25 issue, 0.5 to the head), flushed at once by the drain, 5 + 90 + 5 ns, fence at the head.
    let t = extra("asap-rp", &[], &WARM, &[STORE, SFENCE]);
    assert!((100.0..104.0).contains(&t), "{t}");
    let t = extra("asap-rp", &[("memory.pm.acknowledge_ns", "60")], &WARM, &[STORE, SFENCE]);
    assert!((70.0..74.0).contains(&t), "{t}");
}

#[test]
fn an_sfence_on_intel_takes_the_way_through_the_directory_to_memory_and_back() {
    // Core to directory 4, lookup 12, to the controller 5, acknowledgement 90, back to the core 5.
    let keeps = [("ordering.flush_invalidates", "false")];
    let kept = extra("intel", &keeps, &WARM, &[STORE, (Kind::Clwb, 0, 0), SFENCE]);
    assert!((116.0..120.0).contains(&kept), "{kept}");
    // A clean line: the directory answers.
    let t = extra("intel", &keeps, &WARM, &[(Kind::Clwb, 0, 0), SFENCE]);
    assert!((20.0..23.0).contains(&t), "{t}");
    // Of a line that no cache has, bytes may be on their way: an empty write goes behind them.
    let t = extra("intel", &[], &WARM, &[(Kind::Clwb, 0, 0), SFENCE]);
    assert!((116.0..120.0).contains(&t), "{t}");
    // A line that the flush before dropped is read again: 1 and 10 for the caches, 4 and 12 to and in the directory,
    // 5 + 175 + 5 for memory, 4 back; the flush asks its core for a copy, 4 + 4, and is looked up anew, 12.
    let t = extra("intel", &[], &WARM, &[STORE, (Kind::Clwb, 0, 0), SFENCE]);
    assert!((236.0..238.0).contains(&(t - kept)), "{t} {kept}");
}

#[test]
fn fences_are_free_where_stores_are_durable_at_once() {
    for machine in ["bbb", "eadr"] {
        let t = extra(machine, &[], &WARM, &[STORE, (Kind::Clwb, 0, 0), SFENCE]);
        assert!(t < 3.0, "{machine}: {t}");
    }
}

#[test]
fn two_controllers_take_writes_at_twice_the_rate_of_one() {
    let lines: Vec<_> = (0..400u64).map(|n| (Kind::StoreNonTemporal, n * 64, n)).chain([SFENCE]).collect();
    let one =
        on("intel", &[("memory.controllers", "1"), ("memory.interleave_bytes", "64")], &lines).time.as_ns();
    let two =
        on("intel", &[("memory.controllers", "2"), ("memory.interleave_bytes", "64")], &lines).time.as_ns();
    // 400 lines at 25.92 ns each, but for the 16 that a queue still holds at the end.
    assert!((one - 384.0 * 25.92).abs() < 400.0, "{one}");
    assert!((1.9..2.1).contains(&(one / two)), "{one} {two}");
}

#[test]
fn slower_media_never_make_a_program_faster() {
    let lines: Vec<_> =
        (0..200u64).flat_map(|n| [(Kind::Store, n * 64, n), (Kind::Clwb, n * 64, 0), SFENCE]).collect();
    for machine in ["intel", "hops-rp", "asap-rp", "bbb", "eadr"] {
        let time = |ns: &str| on(machine, &[("memory.pm.read_ns", ns)], &lines).time;
        assert!(time("100") < time("200") && time("200") < time("400"), "{machine}");
    }
}

/// The power fails while the second of two ordered writes is on its way: it is there only with the first.
#[test]
fn whatever_the_instant_an_ordered_write_is_never_there_without_the_one_before() {
    let records = [
        (Kind::Store, 0, 1),
        (Kind::Clwb, 0, 0),
        SFENCE,
        (Kind::Store, 256, 1),
        (Kind::Clwb, 256, 0),
        SFENCE,
    ];
    ["intel", "hops-ep", "hops-rp", "asap-ep", "asap-rp", "bbb", "eadr"].into_par_iter().for_each(
        |machine| {
            let mut d = Description::preset(machine).unwrap();
            // Thousands of runs: large caches take longer to make than this program runs.
            d.set("l2.size_bytes", "64KiB").unwrap();
            d.set("llc.size_bytes", "512KiB").unwrap();
            if d.acts("ordering.sfence") {
                d.set("ordering.sfence", "ofence").unwrap();
            }
            let mut seen = [false; 3];
            for ns in (0..900).chain((900..5_000).step_by(20)) {
                let at = units::Time::ZERO + units::Dur::ns(ns);
                let options = RunOptions { power_fails_at: Some(at), ..RunOptions::default() };
                let image = run(&d, &program(&records), &options).unwrap().durable;
                let (first, second) = (image.number(PM_BASE, 8), image.number(PM_BASE + 256, 8));
                assert!(second <= first, "{machine}: at {ns} ns the second write is there without the first");
                seen[(first + second) as usize] = true;
            }
            // Where the store buffer is saved, a store is there as soon as it has retired, within the first nanosecond.
            let at_once = matches!(machine, "bbb" | "eadr");
            assert!((seen[0] || at_once) && seen[2], "{machine}: the power failed before, and after");
        },
    );
}

#[test]
fn what_counts_as_a_devices_bandwidth_has_reached_the_device() {
    // Of each thread's stores many wait at a busy DIMM; those that still do at the end were not moved.
    let mut machine = Description::preset("optane").unwrap();
    machine.set("memory.dimms", "1").unwrap();
    let mut work = WorkloadDescription::named("lattester").unwrap();
    for (key, value) in
        [("operation", "ntstore"), ("threads", "24"), ("access_size", "4096"), ("stride", "4096")]
    {
        work.set(&format!("workload.{key}"), value).unwrap();
    }
    let report = run(&machine, &work, &RunOptions::default()).unwrap();
    let blocks = report.get("optane.block_writes").unwrap() * 108.0;
    assert!(blocks < 1.1 * report.time.as_ns(), "{blocks} ns of writes in {:?}", report.time);
}
