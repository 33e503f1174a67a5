//! Timelines of small scenarios, as a person reads them: time in ns, node, track, what.

use machine::{Description, RunOptions, WorkloadDescription, run};
use trace::{Kind, Record, Recording, Trace};

const BASE: u64 = 0x10_0000;

/// Two ordered writes to two controllers, then a fence that waits for both.
fn two_epochs() -> WorkloadDescription {
    let mut trace = Trace::default();
    let mut push = |kind, address, value| {
        trace.push(Record {
            address,
            value,
            stamp: 0,
            location: 0,
            instructions: 0,
            thread: 0,
            kind,
            size: 8,
        });
    };
    push(Kind::Map, BASE, 4096);
    push(Kind::Store, BASE, 1);
    push(Kind::Sfence, 0, 0);
    push(Kind::Store, BASE + 256, 2);
    push(Kind::Mfence, 0, 0);
    WorkloadDescription::replay("two epochs", Recording::of_trace(trace).unwrap())
}

fn timeline(machine: &str) -> String {
    let mut d = Description::preset(machine).unwrap();
    for (key, value) in [("ordering.sfence", "ofence"), ("cpu.cores", "1"), ("ordering.flush_trigger", "1")] {
        d.set(key, value).unwrap();
    }
    let options = RunOptions { timeline_marks: 1000, ..RunOptions::default() };
    let report = run(&d, &two_epochs(), &options).unwrap();
    let text = report.timeline.unwrap().to_text();
    text.lines().map(|l| format!("{}\n", l.trim())).collect()
}

#[test]
fn asap_flushes_the_second_epoch_before_the_first_is_acknowledged() {
    assert_eq!(timeline("asap-rp"), ASAP);
}

#[test]
fn hops_flushes_the_second_epoch_after_the_first_is_acknowledged() {
    assert_eq!(timeline("hops-rp"), HOPS);
}

const ASAP: &str = "\
1.000  core 0/stall: fence for 217.000
216.000  core 0/persist buffer = 1
217.000  core 0/persist buffer = 2
221.000  pm 0/recovery table = 0
221.000  pm 0/write pending queue = 1
221.000  pm 0/write pending queue = 0
222.000  pm 1/recovery table = 1
222.000  pm 1/write pending queue = 1
316.000  core 0/persist buffer = 1
317.000  core 0/persist buffer = 0
322.000  pm 1/recovery table = 0
397.000  pm 1/write pending queue = 0
";

const HOPS: &str = "\
1.000  core 0/stall: fence for 217.000
216.000  core 0/persist buffer = 1
217.000  core 0/persist buffer = 2
221.000  pm 0/write pending queue = 1
221.000  pm 0/write pending queue = 0
316.000  core 0/persist buffer = 1
321.000  pm 1/write pending queue = 1
321.000  pm 1/write pending queue = 0
416.000  core 0/persist buffer = 0
";

#[test]
fn a_recording_without_a_region_begins_with_its_first_stretch() {
    let d = Description::preset("asap-rp").unwrap();
    let report = run(&d, &two_epochs(), &RunOptions { opening: 9, ..RunOptions::default() }).unwrap();
    let kept = &report.opening[0];
    assert_eq!(kept[0].from, units::Time::ZERO);
    assert!(kept.iter().any(|stretch| stretch.cause == "fences"), "{kept:?}");
}
