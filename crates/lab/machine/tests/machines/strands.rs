//! Machines with strands: both engines agree, whatever the sizes of queue and buffers, and lines of several cores flow.

use engine::Mode;
use machine::{Description, Report, RunOptions, WorkloadDescription, run};
use units::Random;

fn pick<'a>(r: &mut Random, from: &[&'a str]) -> &'a str {
    from[r.below(from.len() as u64) as usize]
}

fn machine(r: &mut Random) -> Description {
    let mut d = Description::preset("strandweaver").unwrap();
    let sizes: [(&str, &[&str]); 8] = [
        ("ordering.persist_queue", &["1", "2", "16"]),
        ("ordering.strand_buffers", &["1", "2", "4"]),
        ("ordering.strand_entries", &["1", "2", "4"]),
        ("ordering.strand_issue_ns", &["0.5", "1", "40"]),
        ("ordering.write_pending_queue", &["1", "16"]),
        ("memory.controllers", &["1", "2", "3"]),
        ("l1.size_bytes", &["4096", "32768"]),
        ("l2.size_bytes", &["32768", "262144"]),
    ];
    for (key, values) in sizes {
        d.set(key, pick(r, values)).unwrap();
    }
    d
}

fn workload(r: &mut Random) -> WorkloadDescription {
    let mut w = WorkloadDescription::named(pick(r, &["mix", "mix", "mix", "queue", "cceh"])).unwrap();
    w.set("workload.threads", pick(r, &["1", "2", "3", "5"])).unwrap();
    w.set("workload.operations", "300").unwrap();
    if w.name == "mix" {
        w.set("workload.strands", pick(r, &["true", "true", "false"])).unwrap();
        w.set("workload.racy", pick(r, &["true", "false"])).unwrap();
        w.set("workload.lines", pick(r, &["1", "5", "40", "200"])).unwrap();
        w.set("workload.shared_percent", pick(r, &["0", "20", "60", "100"])).unwrap();
    }
    w
}

fn compare(seed: u64) {
    let mut r = Random::new(seed, 77);
    let (d, w) = (machine(&mut r), workload(&mut r));
    let once = |mode| -> Report {
        let options = RunOptions { seed, mode, ..RunOptions::default() };
        run(&d, &w, &options).unwrap_or_else(|e| panic!("seed {seed}, {}: {e}", w.name))
    };
    let (fast, reference) = (once(Mode::Fast), once(Mode::Reference));
    assert!(fast.to_json() == reference.to_json(), "seed {seed}: {} {}", fast.time, reference.time);
    assert!(fast.durable == reference.durable, "seed {seed}: images differ");
}

#[test]
fn engines_agree_on_machines_with_strands_of_even_seeds() {
    (0..240).step_by(2).for_each(compare);
}

#[test]
fn engines_agree_on_machines_with_strands_of_odd_seeds() {
    (1..240).step_by(2).for_each(compare);
}

#[test]
fn strands_are_drawn_and_counted() {
    let mut w = WorkloadDescription::named("mix").unwrap();
    w.set("workload.strands", "true").unwrap();
    let report = |name: &str| run(&Description::preset(name).unwrap(), &w, &RunOptions::default()).unwrap();
    let strands = report("strandweaver");
    for name in ["strands", "persist_barriers", "joins", "write_backs", "strand_flushes.max"] {
        assert!(strands.get(&format!("ordering.{name}")).is_some_and(|n| n > 0.0), "{name}");
    }
    assert_eq!(report("asap-rp").get("ordering.strands"), None, "a machine without strands reports none");
}
