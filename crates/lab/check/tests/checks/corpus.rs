//! Every seeded bug is found and named, every correct twin is clean, on the models that can tell.

use crate::kit::small;
use check::crash::{self, Bounds, Event, Kind, Log, Persistency, Replay, Search};
use machine::{CrashEvery, Description, RunOptions, WorkloadDescription};
use protocol::{FenceKind, FlushKind};
use rayon::prelude::*;
use std::collections::BTreeSet;
use workloads::Persistent;

const BOUNDS: Bounds = Bounds { points: 300, images: 64, failures: 4, skip: 0 };

/// Every data structure that brings a recovery of its own; those on the persistent-memory library are tried in
/// `near_data.rs`. fio is none: it writes past the caches without a flush, which Armv8 does not have, and is tried in
/// `nvdimm.rs`.
fn structures() -> Vec<&'static str> {
    let on_library = |w: &workloads::Workload| w.params.iter().any(|p| p.key == "workload.epoch_faults");
    let able = workloads::WORKLOADS.iter().filter(|w| w.recover.is_some() && w.name != "fio");
    let able = able.filter(|w| w.name == "hashmap" || !on_library(w));
    let names: Vec<&str> = able.map(|w| w.name).collect();
    assert_eq!(names.len(), 16, "{names:?}");
    names
}

/// They write a value and its key, or two links, into one line and rely on the order of the two; Armv8 keeps it where
/// a fence stands between.
const RELY_ON_A_LINE: [(&str, Persistency); 6] = [
    ("cceh", Persistency::Px86),
    ("fast-fair", Persistency::Px86),
    ("fast-fair", Persistency::Armv8),
    ("p-clht", Persistency::Px86),
    ("p-masstree", Persistency::Px86),
    ("p-masstree", Persistency::Armv8),
];

fn workload(name: &str, sets: &[(&str, &str)]) -> WorkloadDescription {
    let mut w = small(name);
    if name == "hashmap" {
        w.set("workload.mechanism", "own").unwrap();
    }
    for (key, value) in [("workload.operations", "200"), ("workload.durable", "true")].iter().chain(sets) {
        w.set(key, value).unwrap();
    }
    w
}

fn recovery(w: &WorkloadDescription) -> impl FnMut(&mut dyn Persistent, &[u64]) -> Result<(), String> {
    w.recovery(1).unwrap()
}

fn search(w: &WorkloadDescription, model: Persistency) -> (Log, Search) {
    search_within(BOUNDS, w, model)
}

fn search_within(bounds: Bounds, w: &WorkloadDescription, model: Persistency) -> (Log, Search) {
    let log = crash::of_program(w, 1).unwrap();
    let found = crash::search(&log, model, bounds, &mut recovery(w), &mut |_| {});
    (log, found)
}

/// A third of the points, spread as all of them are, which are tried by night.
#[test]
fn correct_programs_are_clean_under_every_model() {
    correct_programs_are_clean(Bounds { points: 100, ..BOUNDS });
}

#[test]
#[ignore = "takes long: run by night"]
fn correct_programs_are_clean_at_many_points() {
    correct_programs_are_clean(BOUNDS);
}

fn correct_programs_are_clean(bounds: Bounds) {
    structures().into_par_iter().for_each(|name| {
        for (model_name, model) in Persistency::ALL {
            if RELY_ON_A_LINE.contains(&(name, model)) {
                continue;
            }
            let w = workload(name, &[("workload.operations", "60")]);
            let (_, found) = search_within(bounds, &w, model);
            assert!(found.failures.is_empty(), "{name} under {model_name}: {:?}", found.failures);
            assert!(
                found.points > 50 && found.images >= found.points,
                "{name} under {model_name}: {found:?}"
            );
        }
    });
    let log = crash::of_program(&workload("hashmap", &[]), 1).unwrap();
    assert_eq!(crash::persistence_lint(&log), []);
}

#[test]
fn structures_are_free_of_races_and_a_program_that_is_not_is_told() {
    structures().into_par_iter().for_each(|name| {
        let log = crash::of_program(&workload(name, &[("workload.operations", "200")]), 1).unwrap();
        assert_eq!(crash::races(&log), [], "{name}");
    });
    let mix = |racy: &str| {
        let mut mix = WorkloadDescription::named("mix").unwrap();
        mix.set("workload.racy", racy).unwrap();
        crash::races(&crash::of_program(&mix, 1).unwrap())
    };
    assert_eq!(mix("false"), []);
    let found = mix("true");
    assert!(found.iter().all(|race| race.first.starts_with("mix.rs:")) && !found.is_empty(), "{found:?}");
}

/// Two words of one line, and what is between their stores.
fn two_stores(between: &[(Kind, u64)], after: &[(Kind, u64)]) -> Log {
    const FIRST: u64 = protocol::PM_BASE;
    let event = |(kind, address): (Kind, u64)| Event { kind, address, value: 1, site: 0, thread: 0, size: 8 };
    let stores = [event((Kind::Store, FIRST)), event((Kind::Store, FIRST + 8))];
    let [between, after] = [between, after].map(|e| e.iter().copied().map(event).collect::<Vec<_>>());
    let events = [vec![stores[0]], between, vec![stores[1]], after].concat();
    let mut log = Log::default();
    (log.events, log.sites, log.threads) = (events, vec!["here".into()], 1);
    log
}

/// The pairs of words that recovery may find after all of a log.
fn last_images(log: &Log, model: Persistency) -> BTreeSet<(u64, u64)> {
    let mut seen = BTreeSet::new();
    let mut look = |memory: &mut dyn Persistent, _: &[u64]| {
        seen.insert((memory.word(protocol::PM_BASE), memory.word(protocol::PM_BASE + 8)));
        Ok(())
    };
    crash::search(log, model, Bounds { points: 1, ..BOUNDS }, &mut look, &mut |_| {});
    seen
}

#[test]
fn armv8_orders_the_stores_of_a_line_by_barriers_and_makes_sure_with_dsb_alone() {
    let all = BTreeSet::from([(0, 0), (0, 1), (1, 0), (1, 1)]);
    let (ordered, persisted) = (BTreeSet::from([(0, 0), (1, 0), (1, 1)]), BTreeSet::from([(1, 1)]));
    let (clean, line) = (Kind::Flush(FlushKind::Clwb), protocol::PM_BASE);
    let (fence, locked) = (Kind::Fence(FenceKind::Sfence), Kind::Locked { wrote: false });
    let elsewhere = protocol::DRAM_BASE;

    let none = two_stores(&[], &[]);
    assert_eq!(last_images(&none, Persistency::Armv8), all);
    assert_eq!(last_images(&none, Persistency::Px86Line), ordered);
    let barrier = two_stores(&[(fence, 0)], &[]);
    assert_eq!(last_images(&barrier, Persistency::Armv8), ordered);
    assert_eq!(last_images(&barrier, Persistency::Px86), all);
    // A locked operation waits for flushes on x86; on Armv8 it is a barrier, and no DSB.
    let by_lock = two_stores(&[], &[(clean, line), (locked, elsewhere)]);
    assert_eq!(last_images(&by_lock, Persistency::Armv8), all);
    assert_eq!(last_images(&by_lock, Persistency::Px86Line), persisted);
    let by_fence = two_stores(&[], &[(clean, line), (fence, 0)]);
    assert_eq!(last_images(&by_fence, Persistency::Armv8), persisted);
}

/// The bug, and words that its explanation must have.
const BUGS: [(&str, &str); 9] = [
    ("token-before-data", "no flush and fence between (its line is flushed only at hashmap.rs:"),
    ("flush-predicate", "can persist before the store at hashmap.rs:"),
    ("flush-address", "nothing flushes its line"),
    ("unfenced-flush", "has no fence after it"),
    ("two-word-commit", "is not one change"),
    ("allocator-unflushed", "nothing flushes its line"),
    ("constructor-unflushed", "is lost although"),
    ("nontemporal-unfenced", "no fence after the non-temporal store"),
    ("missing-log", "is not one change"),
];

#[test]
fn every_seeded_bug_is_found_explained_and_replayed() {
    for (bug, words) in BUGS {
        let w = workload("hashmap", &[("workload.bug", bug)]);
        let (log, found) = search(&w, Persistency::Px86Line);
        let texts: Vec<&str> = found.failures.iter().map(|f| f.why.text.as_str()).collect();
        assert!(texts.iter().any(|t| t.contains(words)), "{bug}: {texts:?}");
        for f in &found.failures {
            let replay = Replay::read(&f.why.replay).expect("a replay string can be read");
            assert!(
                replay.run(&replay.tracker(&log).unwrap(), &mut recovery(&w)).is_err(),
                "{bug}: {}",
                f.why.replay
            );
        }
    }
}

#[test]
fn a_double_flush_is_told_without_any_crash() {
    let w = workload("hashmap", &[("workload.bug", "double-flush")]);
    let (log, found) = search(&w, Persistency::Px86Line);
    assert!(found.failures.is_empty());
    let findings = crash::persistence_lint(&log);
    assert!(findings.iter().all(|f| f.kind == "flushed-twice" && f.times > 100), "{findings:?}");
    assert_eq!(findings.len(), 1);
}

/// What a model leaves depends on it: a flush that lacks its fence is a bug of x86 only.
#[test]
fn machines_with_persistent_caches_forgive_missing_flushes() {
    for bug in ["unfenced-flush", "flush-address", "token-before-data"] {
        let w = workload("hashmap", &[("workload.bug", bug)]);
        assert!(search(&w, Persistency::Strict).1.failures.is_empty(), "{bug}");
    }
    let w = workload("hashmap", &[("workload.bug", "two-word-commit")]);
    assert!(!search(&w, Persistency::Strict).1.failures.is_empty());
}

/// The exact images of every machine: recovery copes at each instant, and sees the bug where the machine has it.
#[test]
fn power_failures_of_every_machine_are_survived() {
    for machine in ["intel", "hops-ep", "hops-rp", "asap-ep", "asap-rp", "bbb", "eadr", "strandweaver"] {
        for name in structures() {
            let w = workload(name, &[]);
            let d = Description::preset(machine).unwrap();
            let every = CrashEvery::Persists(7);
            let mut recover = w.recovery(0).unwrap();
            let timed = crash::timed(&d, &w, &RunOptions::default(), every, 150, &mut recover).unwrap();
            assert!(timed.failures.is_empty(), "{name} on {machine}: {:?}", timed.failures);
            assert!(timed.points > 0, "{name} on {machine}");
        }
    }
}

struct Visible<'a>(&'a protocol::Image);

impl Persistent for Visible<'_> {
    fn word(&mut self, address: u64) -> u64 {
        if address < protocol::PM_BASE { 0 } else { self.0.number(address, 8) }
    }
}

/// No store is lost between cores that write and flush the same lines: at the end every structure is whole.
#[test]
fn what_loads_see_at_the_end_is_sound_on_every_machine() {
    for machine in ["intel", "hops-rp", "asap-rp", "bbb", "eadr"] {
        let d = Description::preset(machine).unwrap();
        for name in structures() {
            for seed in 0..3 {
                let w = workload(name, &[]);
                let report = machine::run(&d, &w, &RunOptions { seed, ..RunOptions::default() }).unwrap();
                let sound = w.recovery(seed).unwrap()(&mut Visible(&report.visible), &[50; 4]);
                assert_eq!(sound, Ok(()), "{name} on {machine}, seed {seed}");
            }
        }
    }
}

#[test]
fn a_bug_shows_on_the_machine_too() {
    let w = workload("hashmap", &[("workload.bug", "allocator-unflushed")]);
    let d = Description::preset("intel").unwrap();
    let timed = crash::timed(
        &d,
        &w,
        &RunOptions { seed: 1, ..RunOptions::default() },
        CrashEvery::Event,
        3000,
        &mut recovery(&w),
    );
    assert!(timed.unwrap().failures.iter().any(|f| f.message.contains("free for the allocator")));
}
