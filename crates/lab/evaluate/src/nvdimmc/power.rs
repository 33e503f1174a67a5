//! Power failures of the proof of concept under fio, recovered and checked.

use super::POC;
use crate::power::cut;
use crate::verdict::Finding;
use check::crash::Timed;
use machine::{Description, RunError, WorkloadDescription};

/// Small, so that pages come and go: 256 slots, and a file that is twice as large.
const SMALL: [(&str, &str); 2] = [("nvdimm.slots_mib", "1"), ("nvdimm.dram_mib", "2")];
const FIO: [(&str, &str); 3] =
    [("workload.rw", "write"), ("workload.file_bytes", "2097152"), ("workload.operations", "40")];
const EVERY: u64 = 40;
const POINTS: usize = 1000;

/// With the battery everything that is not in the write pending queue is there; without it, pages are lost.
pub(super) fn finding(seed: u64) -> Finding {
    match (crash(&[], seed), crash(&[("nvdimm.battery_uj", "0")], seed)) {
        (Ok(kept), Ok(empty)) => Finding::Statement {
            holds: kept.points > 10 && kept.failures.is_empty() && !empty.failures.is_empty(),
            because: format!(
                "{} power failures, {} with data lost; without a battery the first of them loses {} pages",
                kept.points,
                kept.failures.len(),
                empty.failures.first().map_or(0, |f| f.lost.len())
            ),
        },
        (Err(e), _) | (_, Err(e)) => Finding::Open(e.to_string()),
    }
}

fn crash(changes: &[(&str, &str)], seed: u64) -> Result<Timed, RunError> {
    let mut machine = Description::preset(POC)?;
    for (key, value) in SMALL.iter().chain(changes) {
        machine.set(key, value)?;
    }
    let mut workload = WorkloadDescription::named("fio")?;
    for (key, value) in FIO {
        workload.set(key, value)?;
    }
    cut(&machine, &workload, EVERY, POINTS, seed)
}
