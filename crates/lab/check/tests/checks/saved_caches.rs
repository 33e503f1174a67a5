//! Where caches survive a power failure, so does what is on its way between them and to memory.

use crate::kit::tiny;
use check::crash::timed;
use machine::{CrashEvery, RunOptions, WorkloadDescription};

#[test]
fn a_line_that_has_left_one_cache_and_reached_no_other_survives() {
    for name in ["hashmap", "queue", "cceh", "btree"] {
        // Slow media: lines wait at controllers.
        let machine = tiny("eadr", &[("memory.pm.write_service_ns", "2000")]);
        let mut workload = WorkloadDescription::named(name).unwrap();
        workload.set("workload.operations", "150").unwrap();
        let options = RunOptions { seed: 3, ..RunOptions::default() };
        let mut recover = workload.recovery(3).unwrap();
        let found = timed(&machine, &workload, &options, CrashEvery::Events(7), 2000, &mut recover).unwrap();
        assert!(found.points > 500, "{name}: {}", found.points);
        assert!(found.failures.is_empty(), "{name}: {:?}", found.failures);
    }
}
