//! Structures recover wherever the power fails while stores are on their way beside caches that are too small, be it that a
//! core goes back meanwhile.

use crate::kit::{small, tiny};
use check::crash::timed;
use machine::{CrashEvery, RunOptions};
use rayon::prelude::*;

/// The programs of ASAP's evaluation that recover, and structures of the project's own.
const STRUCTURES: [&str; 16] = [
    "queue",
    "cceh",
    "btree",
    "hashmap",
    "echo",
    "p-art",
    "dash-eh",
    "skiplist",
    "dash-lh",
    "fast-fair",
    "heap",
    "nstore",
    "p-clht",
    "p-masstree",
    "vacation",
    "memcached",
];

fn survives(preset: &str, own: &[(&str, &str)]) {
    survives_at(CrashEvery::Persists(5), 50, preset, own);
}

fn survives_at(every: CrashEvery, least: usize, preset: &str, own: &[(&str, &str)]) {
    let machine = tiny(preset, own);
    STRUCTURES.par_iter().for_each(|name| {
        let mut workload = small(name);
        workload.set("workload.operations", "150").unwrap();
        let options = RunOptions { seed: 3, ..RunOptions::default() };
        let mut recover = workload.recovery(3).unwrap();
        let found = timed(&machine, &workload, &options, every, 1000, &mut recover).unwrap();
        assert!(found.points > least, "{preset}, {name}: {}", found.points);
        assert!(found.failures.is_empty(), "{preset}, {name}: {:?}", found.failures);
    });
}

#[test]
fn structures_survive_on_every_machine_of_the_family() {
    // Where caches persist, few writes reach a controller.
    machine::family().into_iter().for_each(|preset| survives_at(CrashEvery::Events(41), 25, preset, &[]));
}

#[test]
fn structures_survive_where_the_controller_keeps_the_order() {
    survives("dpo", &[("memory.controllers", "1"), ("ordering.persist_buffer", "4")]);
}

#[test]
fn structures_survive_where_epochs_wait_in_the_caches() {
    let lazy = [("ordering.proactive_flush", "false"), ("ordering.track_dependences", "false")];
    survives("lb++", &lazy);
    survives("lrp", &[("ordering.persistency", "epoch"), ("ordering.unfinished_lines", "4")]);
    survives("lrp", &[("ordering.unfinished_lines", "4"), ("ordering.epoch_table", "3")]);
}

#[test]
fn structures_survive_where_regions_end_on_their_own() {
    let short = [("ordering.region_stores", "3")];
    ["ppa", "capri", "cwsp"].iter().for_each(|preset| survives(preset, &short));
    survives("capri", &[("ordering.persist_buffer", "2")]);
    survives("cwsp", &[("ordering.undo_log", "2")]);
}

#[test]
fn structures_survive_where_controllers_keep_what_comes_too_early() {
    survives("vorpal", &[("ordering.held_writes", "1")]);
}

#[test]
fn structures_survive_where_cores_go_back() {
    let long = [("ordering.speculation_window_ns", "5005"), ("ordering.persist_path_ns", "5000")];
    survives("pmem-spec", &long);
    survives("pmem-spec", &[long[0], long[1], ("memory.controllers", "1")]);
}
