//! Files that are large and hardly used cost what is in them, not what they span.

use machine::{Description, RunOptions, WorkloadDescription, run};
use trace::{FILE_SHIFT, FILE_SPACE, Kind, Record, Recording, Trace};

#[test]
fn first_contents_at_the_end_of_a_huge_file_are_found_without_a_walk_through_it() {
    let far = FILE_SPACE | 1 << FILE_SHIFT | ((1 << FILE_SHIFT) - 4096);
    let mut trace = Trace::default();
    for (kind, address, value) in [(Kind::Contents, far, 7), (Kind::Written, far + 8, 9)] {
        let (stamp, location, instructions, thread, size) = (0, 0, 0, 0, 8);
        trace.push(Record { address, value, stamp, location, instructions, thread, kind, size });
    }
    for machine in ["intel", "asap-rp"] {
        let workload = WorkloadDescription::replay("t", Recording::of_trace(trace.clone()).unwrap());
        let machine = Description::preset(machine).unwrap();
        let report = run(&machine, &workload, &RunOptions::default()).unwrap();
        let (address, _) = report.visible.touched().next().unwrap();
        assert_eq!(report.visible.touched().count(), 1);
        assert_eq!([0, 8].map(|at| report.visible.number(address + at, 8)), [7, 9]);
    }
}
