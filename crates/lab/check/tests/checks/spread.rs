//! Where a bounded search cuts the power of a machine that runs a loop.

use check::crash::{Whole, spread, timed_whole};
use machine::{
    CrashEvery, CrashPoint, Description, RunOptions, WorkloadDescription, events_to_cut, run_with_crashes,
};
use std::collections::BTreeSet;
use std::sync::Mutex;
use trace::{FILE_SHIFT, FILE_SPACE, Kind, Record, Recording, Trace};

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
    let found = timed_whole(&machine, &workload, &options, cuts, most, &whole, &mut |_| ()).unwrap();
    let places = places.into_inner().unwrap();
    assert_eq!(found.points, most);
    assert!(places.len() as u64 >= RECORDS_A_TURN / 3, "places of a turn: {places:?}");
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
