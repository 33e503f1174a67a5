//! Stores on the persistent-memory library: power failures on near-data devices and on the cores, and every image that
//! caches may leave.

use check::crash::{self, Bounds, Persistency, Timed, timed};
use machine::{CrashEvery, Description, RunOptions, WorkloadDescription};
use units::{Dur, Time};

const STORES: [&str; 9] =
    ["tpcc", "tatp", "btree", "rbtree", "pm-skiplist", "hashmap", "pm-memcached", "redis", "pmemkv"];
const MECHANISMS: [&str; 5] = ["logging", "redo", "undo-redo", "checkpoint", "shadow"];
/// Small: recovery walks through everything for every image.
const SMALL: [(&str, &str); 5] = [
    ("workload.threads", "2"),
    ("workload.keys", "20"),
    ("workload.items", "100"),
    ("workload.subscribers", "100"),
    ("workload.think_cycles", "0"),
];

fn workload(name: &str, mechanism: &str, operations: &str) -> WorkloadDescription {
    let mut workload = WorkloadDescription::named(name).unwrap();
    for (key, value) in SMALL {
        // Not every store has every table.
        _ = workload.set(key, value);
    }
    workload.set("workload.mechanism", mechanism).unwrap();
    workload.set("workload.operations", operations).unwrap();
    workload
}

fn cut(machine: &Description, workload: &WorkloadDescription, every: CrashEvery) -> Timed {
    let mut recover = workload.recovery(0).unwrap();
    timed(machine, workload, &RunOptions::default(), every, 20_000, &mut recover).unwrap()
}

#[test]
fn power_failures_of_every_machine_are_survived_with_every_mechanism() {
    for name in STORES {
        for mechanism in MECHANISMS {
            let workload = workload(name, mechanism, "12");
            for machine in ["nearpm-cpu", "nearpm-sd", "nearpm-md-swsync", "nearpm-md", "nearpm-md@asap"] {
                let found = cut(&Description::preset(machine).unwrap(), &workload, CrashEvery::Persists(7));
                assert!(found.points > 10, "{name} on {machine} with {mechanism}: {} points", found.points);
                let first = found.failures.first();
                assert!(first.is_none(), "{name} on {machine} with {mechanism}: {first:?}");
            }
        }
    }
}

/// The write pending queue of the artifact's platform is small and its media write slowly, so that it is full.
#[test]
fn acknowledged_writes_that_wait_for_the_write_pending_queue_are_survived() {
    let artifact = Description::preset("nearpm-md@artifact").unwrap();
    let mut slow = Description::preset("nearpm-md").unwrap();
    let changes = [
        ("neardata.host_writes", "any"),
        ("ordering.write_pending_queue", "4"),
        ("memory.pm.write_service_ns", "115"),
    ];
    changes.iter().for_each(|(key, value)| slow.set(key, value).unwrap());
    for (machine, name, mechanism) in [
        (&artifact, "rbtree", "logging"),
        (&artifact, "hashmap", "logging"),
        (&artifact, "pm-memcached", "shadow"),
        (&slow, "rbtree", "logging"),
    ] {
        let found = cut(machine, &workload(name, mechanism, "12"), CrashEvery::Persists(2));
        assert!(found.points > 20, "{name} with {mechanism}: {} points", found.points);
        assert!(found.failures.is_empty(), "{name} with {mechanism}: {:?}", found.failures.first());
    }
}

/// Alone a thread that shares its pool with others ends its epochs as one with a pool of its own does.
#[test]
fn one_thread_of_a_shared_pool_has_checkpoints_of_several_transactions() {
    let mut workload = workload("redis", "checkpoint", "12");
    workload.set("workload.threads", "1").unwrap();
    for machine in ["intel", "nearpm-md"] {
        let found = cut(&Description::preset(machine).unwrap(), &workload, CrashEvery::Persists(7));
        assert!(found.points > 10 && found.failures.is_empty(), "{machine}: {:?}", found.failures.first());
    }
    let log = crash::of_program(&workload, 0).unwrap();
    let bounds = Bounds { points: 100, images: 16, failures: 1, skip: 0 };
    let recover = workload.recovery(0).unwrap();
    let found = crash::search(&log, Persistency::Px86Line, bounds, &mut |m, e| recover(m, e), &mut |_| {});
    assert!(found.failures.is_empty(), "{:?}", found.failures.first().map(|f| &f.message));
}

#[test]
fn at_every_event_of_a_small_run_nothing_committed_is_lost() {
    for mechanism in MECHANISMS {
        for machine in ["nearpm-md-swsync", "nearpm-md"] {
            let workload = workload("btree", mechanism, "6");
            let mut machine = Description::preset(machine).unwrap();
            // Lines of an object on both devices, and little room.
            machine.set("memory.interleave_bytes", "64").unwrap();
            machine.set("neardata.fifo", "2").unwrap();
            machine.set("neardata.host_queue", "2").unwrap();
            let found = cut(&machine, &workload, CrashEvery::Event);
            assert!(found.points > 500, "{mechanism}: {}", found.points);
            assert!(found.failures.is_empty(), "{mechanism}: {:?}", found.failures.first());
        }
    }
}

/// One device loses its power, the other goes on for a while, then everything does.
#[test]
fn what_one_device_misses_is_undone_or_done_on_both() {
    for mechanism in MECHANISMS {
        let workload = workload("btree", mechanism, "20");
        let mut tried = 0;
        for step in 0..60 {
            let powered_off = 36_000 + step * 1_370;
            let mut machine = Description::preset("nearpm-md").unwrap();
            machine.set("memory.interleave_bytes", "64").unwrap();
            machine.set("neardata.fault.device", if step % 2 == 0 { "0" } else { "1" }).unwrap();
            machine.set("neardata.fault.power_off_ns", &powered_off.to_string()).unwrap();
            let end = Time::ZERO + Dur::ns(powered_off + 4_000);
            let found = cut(&machine, &workload, CrashEvery::At(end));
            tried += found.points;
            assert!(
                found.failures.is_empty(),
                "{mechanism}, powered_off at {powered_off}: {:?}",
                found.failures.first()
            );
        }
        assert_eq!(tried, 60, "{mechanism}");
    }
}

/// The media take longer than a unit's next line: whoever waits for them does so in turn.
#[test]
fn no_unit_waits_for_ever_for_media_that_others_use() {
    let mut machine = Description::preset("nearpm-sd").unwrap();
    machine.set("memory.pm.read_service_ns", "500").unwrap();
    let mut workload = WorkloadDescription::named("pm-memcached").unwrap();
    for (key, value) in
        [("operations", "12"), ("threads", "1"), ("mechanism", "shadow"), ("think_cycles", "100")]
    {
        workload.set(&format!("workload.{key}"), value).unwrap();
    }
    let ended = machine::run(&machine, &workload, &RunOptions::default());
    assert!(ended.is_ok(), "{:?}", ended.err());
}

/// On the cores the library has to do without order between lines, unless it asks for it.
#[test]
fn every_image_that_caches_may_leave_is_recovered_from() {
    for name in STORES {
        for mechanism in MECHANISMS {
            let workload = workload(name, mechanism, "12");
            let log = crash::of_program(&workload, 0).unwrap();
            let bounds = Bounds { points: 300, images: 64, failures: 1, skip: 0 };
            let recover = workload.recovery(0).unwrap();
            for (model, of) in [("px86-line", Persistency::Px86Line), ("px86", Persistency::Px86)] {
                let found = crash::search(&log, of, bounds, &mut |m, e| recover(m, e), &mut |_| {});
                let first = found.failures.first().map(|f| &f.message);
                assert!(first.is_none(), "{name} with {mechanism} under {model}: {first:?}");
            }
        }
    }
}

/// Without its rules the device does lose data: the checks above can fail.
#[test]
fn without_order_or_synchronisation_data_is_lost_or_the_checker_says_so() {
    let runs = [
        ("neardata.ordering", "none", "checkpoint", "invariant 1"),
        ("neardata.ordering", "none", "shadow", "invariant 1"),
        ("neardata.sync", "none", "checkpoint", "invariant 3"),
        ("neardata.conflicts", "sources", "checkpoint", "invariant 1"),
        ("neardata.gates_reads", "false", "shadow", "invariant 1"),
    ];
    for (key, value, mechanism, invariant) in runs {
        let mut machine = Description::preset("nearpm-md").unwrap();
        machine.set(key, value).unwrap();
        let wrong = machine::run(&machine, &workload("btree", mechanism, "800"), &RunOptions::default());
        let text = wrong.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(text.contains(invariant) && text.contains("request "), "{key}: {text}");
    }
}
