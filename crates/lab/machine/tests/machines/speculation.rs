//! Machines whose cores go back: both engines agree, what was read too early is found, and nothing of it is left.

use engine::Mode;
use machine::{Description, Report, RunOptions, WorkloadDescription, run};
use units::Random;

/// Caches of a few lines and a long path: lines are wanted again before their stores have come.
const TINY: [(&str, &str); 8] = [
    ("l1.size_bytes", "1 KiB"),
    ("l1.ways", "2"),
    ("l2.size_bytes", "1 KiB"),
    ("l2.ways", "2"),
    ("llc.size_bytes", "4 KiB"),
    ("llc.ways", "8"),
    ("ordering.speculation_window_ns", "5005"),
    ("ordering.persist_path_ns", "5000"),
];

fn tiny() -> Description {
    let mut d = Description::preset("pmem-spec").unwrap();
    TINY.iter().for_each(|(key, value)| d.set(key, value).unwrap());
    d
}

fn pick<'a>(r: &mut Random, from: &[&'a str]) -> &'a str {
    from[r.below(from.len() as u64) as usize]
}

fn machine(r: &mut Random) -> Description {
    let mut d = tiny();
    let sizes: [(&str, &[&str]); 11] = [
        ("ordering.speculation_window_ns", &["5030", "20000"]),
        ("ordering.persist_path_ns", &["5000", "300", "20"]),
        ("ordering.persist_path_entries", &["2", "16", "64"]),
        ("ordering.persist_path_issue_ns", &["0.5", "40"]),
        ("ordering.misspeculation_ns", &["1", "2000"]),
        ("ordering.region_operations", &["16", "100", "4096"]),
        ("ordering.write_pending_queue", &["1", "16"]),
        ("memory.controllers", &["1", "1", "2"]),
        ("memory.pm.write_service_ns", &["20", "300"]),
        ("llc.keeps_data", &["true", "false"]),
        ("wires.core_controller_ns", &["0.5", "5", "30"]),
    ];
    for (key, values) in sizes {
        d.set(key, pick(r, values)).unwrap();
    }
    d
}

fn workload(r: &mut Random) -> WorkloadDescription {
    let mut w = WorkloadDescription::named(pick(r, &["mix", "echo", "queue", "cceh", "hashmap"])).unwrap();
    w.set("workload.operations", "100").unwrap();
    if w.name == "echo" {
        // Keys that are there at the start take longer than all that follows.
        w.set("workload.keys", "200").unwrap();
    }
    if w.name != "hashmap" {
        w.set("workload.threads", pick(r, &["1", "2", "3"])).unwrap();
    }
    if w.name == "mix" {
        w.set("workload.racy", "false").unwrap();
        w.set("workload.lines", pick(r, &["40", "200"])).unwrap();
        w.set("workload.shared_percent", pick(r, &["0", "20", "60"])).unwrap();
    }
    w
}

fn once(d: &Description, w: &WorkloadDescription, seed: u64, mode: Mode) -> Report {
    let options = RunOptions { seed, mode, ..RunOptions::default() };
    run(d, w, &options).unwrap_or_else(|e| panic!("seed {seed}, {}: {e}", w.name))
}

/// How often a core went back, and how many reads were too early.
fn compare(seed: u64) -> [f64; 2] {
    let mut r = Random::new(seed, 31);
    let (d, w) = (machine(&mut r), workload(&mut r));
    let (fast, reference) = (once(&d, &w, seed, Mode::Fast), once(&d, &w, seed, Mode::Reference));
    assert!(fast.to_json() == reference.to_json(), "seed {seed}: {} {}", fast.time, reference.time);
    assert!(fast.durable == reference.durable, "seed {seed}: images differ");
    assert!(fast.durable == fast.visible, "seed {seed}, {}: durable is not visible", w.name);
    let of = |name: &str| fast.get(name).unwrap();
    assert!(of("ordering.replayed_otherwise") < 1.0, "seed {seed}, {}: a repeated load differs", w.name);
    let (stale, found) = (of("ordering.stale_reads"), of("ordering.misspeculations"));
    assert!(found >= 1.0 || stale < 1.0, "seed {seed}, {}: {stale} reads too early and none found", w.name);
    [of("ordering.rollbacks"), stale]
}

/// Both engines on the machines of these seeds, among which cores go back.
fn agree(seeds: impl Iterator<Item = u64>) {
    let met = seeds.map(compare).fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d]);
    assert!(met.iter().all(|n| *n > 20.0), "rollbacks and reads that were too early: {met:?}");
}

#[test]
fn engines_agree_on_machines_whose_cores_go_back_of_even_seeds() {
    agree((0..160).step_by(2));
}

#[test]
fn engines_agree_on_machines_whose_cores_go_back_of_odd_seeds() {
    agree((1..160).step_by(2));
}

#[test]
fn a_program_leaves_in_memory_what_it_leaves_where_nothing_goes_back() {
    for name in ["echo", "queue", "cceh", "hashmap", "btree"] {
        let mut w = WorkloadDescription::named(name).unwrap();
        w.set("workload.threads", "1").unwrap();
        w.set("workload.operations", "300").unwrap();
        let mut speculates = tiny();
        speculates.set("memory.controllers", "1").unwrap();
        let left = |d: &Description| once(d, &w, 1, Mode::Fast);
        let (one, other) = (left(&speculates), left(&Description::preset("dpo").unwrap()));
        assert!(one.durable == other.durable, "{name}: {:?} rollbacks", one.get("ordering.rollbacks"));
    }
}

#[test]
fn where_no_line_leaves_caches_nothing_goes_back() {
    let w = WorkloadDescription::named("queue").unwrap();
    let report = once(&Description::preset("pmem-spec").unwrap(), &w, 1, Mode::Fast);
    assert_eq!(report.get("ordering.rollbacks"), Some(0.0));
    assert_eq!(report.get("ordering.watched_lines"), Some(0.0));
}

#[test]
fn a_window_shorter_than_the_path_and_devices_that_take_commands_are_refused() {
    let refused = |preset: &str, keys: &[(&str, &str)]| {
        let mut d = Description::preset(preset).unwrap();
        keys.iter().for_each(|(key, value)| d.set(key, value).unwrap());
        d.check().expect_err(preset).to_string()
    };
    let short = refused("pmem-spec", &[("ordering.persist_path_ns", "60")]);
    assert!(short.contains("speculation_window_ns = 60: a store takes 65 ns"), "{short}");
    let on = [("ordering.model", "pmem-spec"), ("ordering.speculation_window_ns", "1000")];
    let device = refused("nearpm-md", &on);
    assert!(device.contains("cannot take back a command"), "{device}");
    let nand = refused("nvdimmc-poc", &on);
    assert!(nand.contains("has no persist path"), "{nand}");
}
