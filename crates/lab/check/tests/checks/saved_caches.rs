//! Where caches survive a power failure, so does what is on its way between them and to memory.

use check::crash::timed;
use machine::{CrashEvery, Description, RunOptions, WorkloadDescription};

/// Caches of a few lines, a queue of one entry and slow media: lines are always on their way, and wait at controllers.
const TINY: [(&str, &str); 8] = [
    ("l1.size_bytes", "1 KiB"),
    ("l1.ways", "2"),
    ("l2.size_bytes", "1 KiB"),
    ("l2.ways", "2"),
    ("llc.size_bytes", "4 KiB"),
    ("llc.ways", "8"),
    ("ordering.write_pending_queue", "1"),
    ("memory.pm.write_service_ns", "2000"),
];

#[test]
fn a_line_that_has_left_one_cache_and_reached_no_other_survives() {
    for name in ["hashmap", "queue", "cceh", "btree"] {
        let mut machine = Description::preset("eadr").unwrap();
        TINY.iter().for_each(|(key, value)| machine.set(key, value).unwrap());
        let mut workload = WorkloadDescription::named(name).unwrap();
        workload.set("workload.operations", "150").unwrap();
        let options = RunOptions { seed: 3, ..RunOptions::default() };
        let mut recover = workload.recovery(3).unwrap();
        let found = timed(&machine, &workload, &options, CrashEvery::Events(7), 2000, &mut recover).unwrap();
        assert!(found.points > 500, "{name}: {}", found.points);
        assert!(found.failures.is_empty(), "{name}: {:?}", found.failures);
    }
}
