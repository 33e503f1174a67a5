//! Where a bounded search cuts the power of a machine that runs a loop.

use check::crash::{Resumed, SoFar, Whole, spread, timed_on, timed_whole};
use machine::{
    CrashEvery, CrashPoint, Description, RunOptions, WorkloadDescription, events_to_cut, run_with_crashes,
};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use trace::{FILE_SHIFT, FILE_SPACE, Kind, Record, Recording, Trace};
use workloads::Persistent;

const FILE: u64 = 0x7000_0000_0000;
const TURNS: u64 = 200;
const RECORDS_A_TURN: u64 = 24;

/// A loop of which all turns do the same: stores to a line, which is flushed and fenced.
fn turns() -> WorkloadDescription {
    let mut trace = Trace::default();
    let mut stamp = 0;
    let mut put = |kind: Kind, address: u64, value: u64| {
        stamp += u32::from(kind.has_stamp());
        let stamp = if kind.has_stamp() { stamp } else { 0 };
        trace.push(Record { address, value, stamp, location: 0, instructions: 4, thread: 0, kind, size: 8 });
    };
    put(Kind::Operand, 0, FILE_SPACE | 1 << FILE_SHIFT);
    put(Kind::Map, FILE, 4096);
    for turn in 0..TURNS {
        for n in 0..RECORDS_A_TURN / 3 {
            put(Kind::Store, FILE + 8 * n, turn);
            put(Kind::Clwb, FILE, 0);
            put(Kind::Sfence, 0, 0);
        }
    }
    WorkloadDescription::replay("turns", Recording::of_trace(trace).unwrap())
}

/// As many instants as there are turns: even steps would be as long as a turn, and cut each at the same place.
#[test]
fn instants_of_a_bound_meet_every_part_of_a_loops_turn() {
    let (machine, workload, options) =
        (Description::preset("intel").unwrap(), turns(), RunOptions::default());
    let events = events_to_cut(&machine, &workload, &options, &[]).unwrap();
    let most = usize::try_from(events.div_ceil(events / TURNS)).unwrap() + 1;
    let cuts = spread(&machine, &workload, &options, most, Vec::new()).unwrap();
    let places = Mutex::new(BTreeSet::new());
    let check = |point: &CrashPoint| {
        places.lock().unwrap().insert(point.passed[0] % RECORDS_A_TURN);
        Ok(())
    };
    let whole = Whole { check: &check, same: &|_, _| false };
    let anew = Resumed { before: SoFar::default(), keep: &mut |_| () };
    let found = timed_whole(&machine, &workload, &options, cuts, most, &whole, anew).unwrap();
    let places = places.into_inner().unwrap();
    assert_eq!(found.points, most);
    assert!(places.len() as u64 >= RECORDS_A_TURN / 3, "places of a turn: {places:?}");
}

/// Wherever it was interrupted: what was tried is not tried again.
#[test]
fn a_search_that_goes_on_finds_what_one_in_one_go_does() {
    const MOST: usize = 60;
    let (machine, workload, options) =
        (Description::preset("intel").unwrap(), turns(), RunOptions::default());
    let cuts = spread(&machine, &workload, &options, MOST, Vec::new()).unwrap();
    let find = |before: SoFar| {
        let (tried, mut kept) = (AtomicUsize::new(0), Vec::new());
        let check = |point: &CrashPoint| {
            tried.fetch_add(1, Relaxed);
            if point.passed[0] % 4 == 1 { Err(format!("after {}", point.passed[0] % 12)) } else { Ok(()) }
        };
        let whole = Whole { check: &check, same: &|_, _| false };
        let resumed = Resumed { before, keep: &mut |so_far| kept.push(so_far.clone()) };
        let found = timed_whole(&machine, &workload, &options, cuts.clone(), MOST, &whole, resumed).unwrap();
        (format!("{found:?}"), kept, tried.into_inner())
    };
    let (found, kept, tried) = find(SoFar::default());
    assert!(tried == MOST && kept.len() > 1 && kept[0].found.points < MOST);
    for before in [kept[0].clone(), kept[kept.len() - 1].clone()] {
        let passed = before.found.points;
        let (again, _, tried) = find(before);
        assert_eq!((again, passed + tried), (found.clone(), MOST));
    }
}

/// The same where recovery is a function, and the search ends with enough failures.
#[test]
fn a_search_with_recovery_of_its_own_goes_on_too() {
    let machine = Description::preset("intel").unwrap();
    let mut workload = WorkloadDescription::named("queue").unwrap();
    workload.set("workload.operations", "50").unwrap();
    let find = |before: SoFar, most: usize| {
        let (mut tried, mut kept) = (0, Vec::new());
        let mut check = |_: &mut dyn Persistent, ended: &[u64]| {
            tried += 1;
            if ended[0] % 3 == 2 { Err(format!("after {}", ended[0])) } else { Ok(()) }
        };
        let resumed = Resumed { before, keep: &mut |so_far| kept.push(so_far.clone()) };
        let (options, cuts) = (RunOptions::default(), (CrashEvery::Persists(5), most));
        let found = timed_on(&machine, &workload, &options, cuts, &mut check, resumed).unwrap();
        (format!("{found:?}"), kept, tried)
    };
    for most in [12, 1000] {
        let (found, kept, all) = find(SoFar::default(), most);
        for before in [&kept[3], &kept[kept.len() - 1]] {
            let (again, _, tried) = find(before.clone(), most);
            assert_eq!((again, before.found.points + tried), (found.clone(), all));
        }
    }
}

/// Where no write reaches a controller, none is counted: the power fails at the beginning and at the end, and not at every
/// event in between.
#[test]
fn cuts_by_writes_are_few_where_nothing_is_written() {
    let (machine, options) = (Description::preset("eadr").unwrap(), RunOptions::default());
    let mut workload = WorkloadDescription::named("queue").unwrap();
    workload.set("workload.operations", "50").unwrap();
    let mut points = 0;
    run_with_crashes(&machine, &workload, &options, CrashEvery::Persists(100), &mut |_| {
        points += 1;
        true
    })
    .unwrap();
    assert_eq!(points, 2);
}
