//! Machines with as many cores as there can be, whose lines crowd into the same sets of the shared cache.

use machine::{Description, RunOptions, WorkloadDescription, run};
use rayon::prelude::*;

#[test]
fn sixty_four_cores_run_to_the_end_on_every_kind_of_machine() {
    for machine in ["intel", "hops-ep", "asap-rp", "bbb", "eadr"] {
        for workload in ["bandwidth", "cceh"] {
            let mut w = WorkloadDescription::named(workload).unwrap();
            w.set("workload.threads", "64").unwrap();
            w.set("workload.operations", "640").unwrap();
            let report = run(&Description::preset(machine).unwrap(), &w, &RunOptions::default()).unwrap();
            assert_eq!(report.workload_description.threads(), 64);
            if machine != "intel" {
                assert!(report.durable == report.visible, "{workload} on {machine}");
            }
        }
    }
}

/// What differs from the defaults, so that a run is short.
const SIZES: [(&str, &str, &str); 17] = [
    ("*", "workload.operations", "800"),
    ("echo", "workload.keys", "1000"),
    ("nstore", "workload.keys", "400"),
    ("vacation", "workload.relations", "400"),
    ("dash-eh", "workload.preload", "1000"),
    ("pm-memcached", "workload.keys", "200"),
    ("redis-random", "workload.keys", "4000"),
    ("redis-seq", "workload.keys", "4000"),
    ("redis-ycsb", "workload.keys", "1600"),
    ("redis-ycsb", "workload.warm", "0"),
    ("linreg", "workload.input_bytes", "1048576"),
    ("histogram", "workload.input_bytes", "1048576"),
    ("fio", "workload.rw", "write"),
    ("fio", "workload.file_bytes", "262144"),
    ("filecopy", "workload.file_bytes", "262144"),
    ("stream", "workload.operations", "2"),
    ("stream", "workload.array_bytes", "16384"),
];

/// Locks, atomics and splits of every structure, shared by sixteen threads: what persists is what loads see.
#[test]
fn every_workload_ends_with_durable_memory_equal_to_what_loads_see() {
    // With more threads than words in a line, `mix` races.
    workloads::WORKLOADS.par_iter().map(|w| w.name).filter(|w| *w != "mix").for_each(|workload| {
        for machine in ["hops-rp", "asap-rp", "asap-ep"] {
            let mut w = WorkloadDescription::named(workload).unwrap();
            w.set("workload.threads", "16").unwrap();
            for (_, key, value) in SIZES.iter().filter(|(name, ..)| *name == workload || *name == "*") {
                // Not every program counts operations.
                _ = w.set(key, value);
            }
            let report = run(&Description::preset(machine).unwrap(), &w, &RunOptions::default()).unwrap();
            assert!(report.durable == report.visible, "{workload} on {machine}");
        }
    });
}
