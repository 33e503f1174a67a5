//! What a run says of how far it is.

use machine::{Description, RunOptions, WorkloadDescription, run};
use std::sync::Arc;
use trace::{FILE_SHIFT, FILE_SPACE, Kind, Record, Recording, Trace};
use units::watch::Watch;

const FILE: u64 = 0x7000_0000_0000;
const PAGES: u64 = 300;

/// A driver's own accesses would count as the program's, and the end be there long before it is.
#[test]
fn what_a_driver_does_is_no_progress_of_the_program() {
    let mut trace = Trace::default();
    let mut put = |kind, address, value| {
        let (stamp, location, instructions, thread, size) = (0, 0, 0, 0, 8);
        trace.push(Record { address, value, stamp, location, instructions, thread, kind, size });
    };
    put(Kind::Operand, 0, FILE_SPACE | 1 << FILE_SHIFT);
    put(Kind::Map, FILE, PAGES << 12);
    for turn in 0..4 {
        (0..PAGES).for_each(|page| put(Kind::Store, FILE + (page << 12), turn));
    }
    let records = trace.threads[0].len() as u64;
    let workload = WorkloadDescription::replay("t", Recording::of_trace(trace).unwrap());
    let mut machine = Description::preset("remote-pages").unwrap();
    machine.set("remote.local_kib", "128").unwrap();
    let watch = Arc::new(Watch::default());
    let report = watch.enter(|| run(&machine, &workload, &RunOptions::default())).unwrap();
    assert!(report.references > records, "the driver has work");
    let (done, all) = watch.parts();
    assert!(0 < done && done <= all && all == records, "{done} of {all}");
}
