//! Strands: what a power failure may leave of them, in the model and on the machine.

use check::crash::{Bounds, Event, Kind, Log, Persistency, search, timed};
use machine::{CrashEvery, Description, RunOptions, WorkloadDescription};
use protocol::{FenceKind, FlushKind, PM_BASE};
use std::collections::BTreeSet;

const FIRST: u64 = PM_BASE;
const SECOND: u64 = PM_BASE + 64;

fn event(kind: Kind, address: u64, value: u64) -> Event {
    Event { kind, address, value, site: 0, thread: 0, size: 8 }
}

/// Two stores, each flushed, with `between` between them: which of the two a power failure may leave.
fn left(between: &[FenceKind], model: Persistency) -> BTreeSet<(u64, u64)> {
    let persist = |address| [event(Kind::Store, address, 1), event(Kind::Flush(FlushKind::Clwb), address, 0)];
    let mut events = persist(FIRST).to_vec();
    events.extend(between.iter().map(|kind| event(Kind::Fence(*kind), 0, 0)));
    events.extend(persist(SECOND));
    let mut log = Log::default();
    (log.events, log.threads, log.sites) = (events, 1, vec!["here".into()]);
    let mut seen = BTreeSet::new();
    let bounds = Bounds { points: 100, images: 100, failures: 1, skip: 0 };
    search(
        &log,
        model,
        bounds,
        &mut |memory, _| {
            seen.insert((memory.word(FIRST), memory.word(SECOND)));
            Ok(())
        },
        &mut |_| {},
    );
    seen
}

#[test]
fn a_barrier_orders_a_strand_and_a_new_strand_comes_after_nothing_until_a_join() {
    use FenceKind::{Dfence, JoinStrand, NewStrand, Ofence};
    let reordered = |between: &[FenceKind]| left(between, Persistency::Strand).contains(&(0, 1));
    assert!(!reordered(&[Ofence]) && !reordered(&[JoinStrand]) && !reordered(&[Dfence]));
    assert!(reordered(&[]) && reordered(&[NewStrand]));
    assert!(reordered(&[Ofence, NewStrand]), "the barrier is the first strand's alone");
    assert!(!reordered(&[NewStrand, JoinStrand]) && !reordered(&[NewStrand, Dfence]));
}

#[test]
fn all_models_read_the_same_log_as_they_promise() {
    use FenceKind::{NewStrand, Ofence};
    for (name, model) in Persistency::ALL {
        assert_eq!(left(&[NewStrand], model), left(&[], model), "{name}");
        let reordered = left(&[Ofence, NewStrand], model).contains(&(0, 1));
        assert_eq!(reordered, model == Persistency::Strand, "{name}");
    }
}

#[test]
fn power_failures_of_a_machine_with_strands_are_survived() {
    let names = [
        "queue",
        "cceh",
        "hashmap",
        "btree",
        "heap",
        "fast-fair",
        "p-art",
        "dash-eh",
        "nstore",
        "echo",
        "vacation",
        "memcached",
        "skiplist",
        "dash-lh",
        "p-clht",
        "p-masstree",
    ];
    for name in names {
        for (queue, buffers, entries) in [("16", "4", "4"), ("1", "2", "1")] {
            let mut machine = Description::preset("strandweaver").unwrap();
            machine.set("ordering.persist_queue", queue).unwrap();
            machine.set("ordering.strand_buffers", buffers).unwrap();
            machine.set("ordering.strand_entries", entries).unwrap();
            let mut workload = WorkloadDescription::named(name).unwrap();
            workload.set("workload.operations", "60").unwrap();
            workload.set("workload.durable", "true").unwrap();
            let mut recover = workload.recovery(0).unwrap();
            let options = RunOptions::default();
            let found =
                timed(&machine, &workload, &options, CrashEvery::Persists(5), 20_000, &mut recover).unwrap();
            assert!(found.points > 10, "{name}: {} points", found.points);
            assert!(found.failures.is_empty(), "{name}: {:?}", found.failures.first());
        }
    }
}
