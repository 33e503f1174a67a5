//! What NVDIMM-C's page table costs: first touches, walks, and a lock that goes from core to core.

use machine::{Description, Report, RunOptions, WorkloadDescription, run};

fn fio(machine: &str, sets: &[(&str, &str)]) -> Report {
    let mut machine = Description::preset(machine).unwrap();
    let mut workload = WorkloadDescription::named("fio").unwrap();
    for (key, value) in sets {
        if key.starts_with("workload.") { workload.set(key, value) } else { machine.set(key, value) }
            .unwrap();
    }
    run(&machine, &workload, &RunOptions { seed: 3, ..RunOptions::default() }).unwrap()
}

/// A megabyte, each block of which is visited once.
const FILE: (&str, &str) = ("workload.file_bytes", "1048576");

#[test]
fn a_mapped_page_faults_once_however_many_blocks_it_has() {
    for machine in ["nvdimmc-baseline", "nvdimmc-poc"] {
        for (block, operations) in [("4096", "256"), ("256", "4096")] {
            let sets = [FILE, ("workload.block_size", block), ("workload.operations", operations)];
            let report = fio(machine, &sets);
            assert_eq!(report.get("nvdimm.first_touches"), Some(256.0), "{machine} {block}");
            assert!(report.get("nvdimm.faults").is_none_or(|n| n < 1.0), "{machine} {block}");
        }
    }
}

#[test]
fn a_walk_takes_no_lock_and_a_first_touch_does() {
    let small = [FILE, ("workload.block_size", "256"), ("workload.operations", "4096")];
    let time = |sets: &[(&str, &str)]| fio("nvdimmc-poc", &[&small, sets].concat()).time.as_ns();
    let usual = time(&[]);
    // 256 first touches and some 3,000 walks: the lock's microsecond is paid by the former alone.
    let mapped = time(&[("nvdimm.driver.map_ns", "1665")]) - usual;
    assert!((200_000.0..400_000.0).contains(&mapped), "{mapped}");
    let walked = time(&[("nvdimm.driver.walk_ns", "160")]) - usual;
    assert!((200_000.0..420_000.0).contains(&walked), "{walked}");
}

#[test]
fn a_lock_that_is_handed_over_costs_those_that_share_it() {
    let time = |threads: &str, handoff: &str| {
        let sets = [
            ("workload.operations", "1024"),
            ("workload.threads", threads),
            ("nvdimm.driver.handoff_ns", handoff),
        ];
        fio("nvdimmc-poc", &sets).time.as_ns()
    };
    assert!((time("1", "0") - time("1", "450")).abs() < 1e-9, "nobody to hand it to");
    assert!(time("8", "450") > 1.3 * time("8", "0"));
}

/// Visits that hit, of a file so many times as large as the cache of 256 pages.
fn hits(file_over_cache: u64, operations: u64, more: &[(&str, &str)]) -> u64 {
    let (file, operations) = ((file_over_cache << 20).to_string(), operations.to_string());
    let sets =
        [("nvdimm.slots_mib", "1"), ("workload.file_bytes", &file), ("workload.operations", &operations)];
    let report = fio("nvdimmc-poc", &[&sets, more].concat());
    (report.get("cpu.operations").unwrap() - report.get("nvdimm.faults").unwrap()) as u64
}

#[test]
fn of_a_file_larger_than_the_cache_what_was_laid_out_last_hits_until_it_is_replaced() {
    // At first as large a share as the cache is of the file, ...
    let (of_two, of_eight) = (hits(2, 64, &[]), hits(8, 256, &[]));
    assert!((22..40).contains(&of_two), "{of_two} of 64");
    assert!((12..28).contains(&of_eight), "{of_eight} of 256, in which half of it goes");
    // ... and none once as many misses as there are slots have come: after 256 * 2 ln 2 = 355 visits of two caches.
    let (by_then, in_all) = (hits(2, 400, &[]), hits(2, 512, &[]));
    assert!((80..120).contains(&by_then), "{by_then}");
    assert_eq!(by_then, in_all);
    // What is written over is changed, what is only read was when it was laid out: each miss is a pair.
    for rw in ["read", "write"] {
        let few =
            [("nvdimm.slots_mib", "1"), ("workload.file_bytes", "2097152"), ("workload.operations", "100")];
        let report = fio("nvdimmc-poc", &[&few[..], &[("workload.rw", rw)]].concat());
        let of = |name: &str| report.get(name).unwrap();
        assert_eq!(
            (of("nvdimm.writebacks"), of("nvdimm.cachefills")),
            (of("nvdimm.faults"), of("nvdimm.faults"))
        );
    }
}

#[test]
fn a_large_file_in_order_finds_nothing_in_the_cache_and_small_blocks_find_their_neighbours() {
    let in_order = ("workload.pattern", "sequential");
    assert_eq!(hits(2, 512, &[in_order]), 0, "its first half, which is not there, replaces the second");
    // Eight blocks a page, in order: one of them misses.
    let small = ("workload.block_size", "512");
    assert_eq!(hits(2, 800, &[in_order, small]), 700);
    // At random every page is as likely to be there as the cache is large, from the first visit to the last.
    let found = hits(4, 2000, &[small]);
    assert!((400..600).contains(&found), "{found}");
}

#[test]
fn each_thread_has_a_part_of_the_file_whose_end_is_in_the_cache() {
    let found = hits(4, 200, &[("workload.threads", "4")]);
    assert!((25..60).contains(&found), "{found}");
    for threads in ["1", "3"] {
        assert_eq!(hits(1, 200, &[("workload.threads", threads)]), 200, "all of it is there");
    }
}

#[test]
fn a_large_file_is_one_on_any_machine() {
    for machine in ["intel", "nvdimmc-baseline", "compose-nvdimmc-x2", "cmmh"] {
        let report = fio(machine, &[("workload.file_bytes", "67108864"), ("workload.operations", "100")]);
        assert_eq!(report.get("cpu.bytes_moved"), Some(100.0 * 4096.0), "{machine}");
    }
}

type Changes = &'static [(&'static str, &'static str)];

#[test]
fn every_access_hits_or_none_does_where_that_is_asked_for() {
    let few = [("nvdimm.slots_mib", "1"), ("workload.operations", "30")];
    let ran = |machine: &str, changes: &[(&str, &str)], resident| {
        let report = fio(machine, &[&few, changes, &[("workload.resident", resident)]].concat());
        ["nvdimm.hit_share.page", "nvdimm.faults"].map(|name| report.get(name))
    };
    assert_eq!(ran("nvdimmc-poc", &[], "false"), [Some(0.0), Some(30.0)]);
    // A page that was asked for ahead has missed, and is there when it is read: each misses once.
    let cases: [(&str, Changes, f64); 8] = [
        ("nvdimmc-poc@pram", &[("workload.pattern", "sequential")], 30.0),
        ("nvdimmc-hypothetical", &[("workload.rw", "write")], 30.0),
        ("nvdimmc-poc", &[("workload.rw", "write"), ("workload.block_size", "512")], 30.0),
        ("nvdimmc-poc", &[("workload.block_size", "16384"), ("workload.threads", "3")], 120.0),
        ("nvdimmc-poc", &[("workload.block_size", "320"), ("workload.threads", "7")], 30.0),
        ("nvdimmc-poc", &[("workload.depth", "4")], 30.0),
        ("nvdimmc-poc", &[("nvdimm.replacement", "lru")], 30.0),
        ("nvdimmc-poc", &[("nvdimm.replacement", "clock")], 30.0),
    ];
    for (machine, changes, pages) in cases {
        assert_eq!(ran(machine, changes, "true"), [Some(1.0), Some(0.0)], "{machine}, {changes:?}");
        assert_eq!(ran(machine, changes, "false")[1], Some(pages), "{machine}, {changes:?}");
    }
}

#[test]
fn several_memories_hold_none_of_what_is_not_to_hit() {
    for (machine, own) in [("compose-nvdimmc-x2", 60.0), ("compose-nvdimmc-pm", 45.0)] {
        let few = [("nvdimm.slots_mib", "1"), ("workload.operations", "60")];
        let faults = |resident| {
            let report = fio(machine, &[&few[..], &[("workload.resident", resident)]].concat());
            report.stats.iter().filter(|s| s.name.ends_with("nvdimm.faults")).map(|s| s.value).sum::<f64>()
        };
        assert_eq!((faults("true"), faults("false")), (0.0, own), "{machine}");
    }
}

#[test]
fn what_says_how_large_the_file_is_stands_among_what_acted() {
    let acted = |sets: &[(&str, &str)]| {
        let report = fio("nvdimmc-poc", &[&[("workload.operations", "4")], sets].concat()).to_json();
        ["resident", "file_bytes"].map(|key| report["configuration"][format!("workload.{key}")].clone())
    };
    assert_eq!(acted(&[]), [serde_json::Value::Null, 8_388_608.into()]);
    assert_eq!(acted(&[("workload.resident", "unset")]), acted(&[]));
    assert_eq!(acted(&[("workload.resident", "true")]), ["true".into(), serde_json::Value::Null]);
}

#[test]
fn an_access_that_fails_is_a_visit_that_finds_no_page_and_counts_for_no_rate() {
    let sets = [("nvdimm.slots_mib", "2"), ("workload.rw", "write"), ("nand.program_errors", "1000000000")];
    let report = fio("nvdimmc-poc", &[&sets[..], &[("workload.operations", "600")]].concat());
    let get = |name: &str| report.get(name).unwrap();
    let (visits, faults) = (get("nvdimm.page_visits"), get("nvdimm.faults"));
    assert!(get("nvdimm.io_errors") > 0.0 && visits >= 600.0 && faults <= visits, "{faults} of {visits}");
    for (share, visits) in [("page", visits), ("line", get("nvdimm.line_visits"))] {
        let found = get(&format!("nvdimm.hit_share.{share}"));
        assert!((found - (1.0 - faults / visits)).abs() < 1e-9 && found >= 0.0, "{share} {found}");
    }
    assert_eq!(report.get("cpu.operations"), Some(600.0));
    let rate = |what: &str| get(&format!("throughput.{what}_per_second"));
    assert!((rate("bytes") / rate("operations") - 4096.0).abs() < 1e-6);
    assert!(get("cpu.failed_operations") > 0.0 && get("cpu.failed_operations") <= get("nvdimm.io_errors"));
}
