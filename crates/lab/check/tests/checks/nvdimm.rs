//! Power failures of NVDIMM-C: what is lost is what its description says, and nothing else.

use check::crash::{Timed, timed};
use machine::{CrashEvery, Description, RunOptions, WorkloadDescription};

fn crash(every: CrashEvery, sets: &[(&str, &str)]) -> Timed {
    let base = [
        ("nvdimm.slots_mib", "1"),
        ("nvdimm.dram_mib", "2"),
        ("nvdimm.capacity_mib", "8"),
        ("workload.rw", "write"),
        ("workload.file_bytes", "2097152"),
        ("workload.operations", "3"),
    ];
    let mut machine = Description::preset("nvdimmc-poc").unwrap();
    let mut workload = WorkloadDescription::named("fio").unwrap();
    for (key, value) in base.iter().chain(sets) {
        if key.starts_with("workload.") { workload.set(key, value) } else { machine.set(key, value) }
            .unwrap();
    }
    let mut recover = workload.recovery(0).unwrap();
    timed(&machine, &workload, &RunOptions::default(), every, 20_000, &mut recover).unwrap()
}

#[test]
fn at_every_event_of_a_small_run_nothing_durable_is_lost() {
    for merged in ["false", "true"] {
        let found = crash(CrashEvery::Event, &[("nvdimm.merged_commands", merged)]);
        assert!(found.points > 1000, "{}", found.points);
        assert!(found.failures.is_empty(), "merged {merged}: {:?}", found.failures[0]);
    }
}

#[test]
fn with_the_write_pending_queue_inside_the_domain_no_line_is_excused() {
    let sets = [("nvdimm.write_queue_survives", "true"), ("workload.operations", "20")];
    let found = crash(CrashEvery::Persists(7), &sets);
    assert!(found.points > 50 && found.failures.is_empty(), "{found:?}");
}

#[test]
fn a_small_battery_loses_the_pages_that_it_names() {
    // Enough for 10 of 256 slots.
    let found =
        crash(CrashEvery::Persists(20), &[("nvdimm.battery_uj", "1000"), ("workload.operations", "20")]);
    let first = found.failures.first().expect("pages are lost");
    assert!(!first.lost.is_empty() && first.lost.len() <= 246, "{}", first.lost.len());
    let byte: u64 = first.message.split(' ').nth(1).unwrap().parse().unwrap();
    let page = protocol::PM_BASE + byte / 4096 * 4096;
    assert!(first.lost.contains(&page), "{}: not among the pages that were told", first.message);
}

#[test]
fn collection_under_way_loses_nothing() {
    // A device barely larger than its file: blocks are collected all the time.
    let sets = [
        ("nvdimm.capacity_mib", "2"),
        ("nand.pages_per_block", "16"),
        ("nand.spare_permille", "100"),
        ("workload.operations", "120"),
    ];
    let found = crash(CrashEvery::Persists(97), &sets);
    assert!(found.points > 50 && found.failures.is_empty(), "{:?}", found.failures.first());
}
