//! Remote memory as a whole machine: whatever moves and whatever fails, a program finds its bytes.

use machine::{Description, Report, RunError, RunOptions, WorkloadDescription, run};

type Sets<'a> = &'a [(&'a str, &'a str)];

fn ran(machine: &str, workload: &str, sets: &[Sets<'_>]) -> Result<Report, RunError> {
    let mut machine = Description::preset(machine).unwrap();
    let mut workload = WorkloadDescription::named(workload).unwrap();
    for (key, value) in sets.iter().copied().flatten() {
        if key.starts_with("workload.") {
            workload.set(key, value).unwrap();
        } else if machine.acts(key) {
            machine.set(key, value).unwrap();
        }
    }
    run(&machine, &workload, &RunOptions { seed: 3, ..RunOptions::default() })
}

/// Sixteen pages are local: almost every access to another page moves one.
const TINY: Sets<'_> =
    &[("remote.local_kib", "64"), ("remote.reclaim_batch", "2"), ("remote.translations", "8")];
const SHORT: Sets<'_> = &[("workload.threads", "1"), ("workload.operations", "700")];

const VARIANTS: [Sets<'_>; 12] = [
    &[],
    &[("remote.page_table", "first-line")],
    &[("remote.page_table", "untracked")],
    &[("remote.page_table", "untracked"), ("remote.critical_line_first", "false")],
    &[("remote.page_table", "first-line"), ("remote.reclaim_batch", "4")],
    &[("remote.prefetch", "next"), ("remote.prefetch_pages", "2")],
    &[("remote.prefetch", "stride"), ("remote.page_table", "first-line")],
    &[("remote.line_filter_bits", "64"), ("remote.page_filter_counters", "8"), ("remote.report_buffer", "5")],
    &[("remote.fault.lose_one_in", "7"), ("remote.retry_ns", "8000")],
    &[("remote.fault.late_one_in", "5"), ("remote.fault.duplicate_one_in", "3"), ("remote.retry_ns", "9000")],
    &[
        ("remote.fault.late_one_in", "3"),
        ("remote.fault.duplicate_one_in", "2"),
        ("remote.fault.lose_one_in", "11"),
        ("remote.page_table", "first-line"),
    ],
    &[("remote.fault.away_to_ns", "900000"), ("remote.fault.away_from_ns", "100000")],
];

#[test]
fn larger_pages_keep_every_byte_and_move_more_of_them() {
    let local = ran("intel", "cceh", &[SHORT]).unwrap();
    let small =
        ran("remote-pages", "cceh", &[SHORT, &[("remote.local_kib", "64"), ("remote.reclaim_batch", "1")]])
            .unwrap();
    for (page, kib) in [("16", "64"), ("256", "1024")] {
        let sets: Sets<'_> =
            &[("remote.page_kib", page), ("remote.local_kib", kib), ("remote.reclaim_batch", "1")];
        for faults in [&[] as Sets<'_>, &[("remote.fault.lose_one_in", "97"), ("remote.retry_ns", "90000")]] {
            let large = ran("remote-pages", "cceh", &[SHORT, sets, faults]).unwrap();
            assert!(large.visible == local.visible, "{page} KiB");
            let a_fault = |r: &Report| {
                r.get("remote.lines_fetched").unwrap() / r.get("os.major_faults").unwrap().max(1.0)
            };
            assert!(a_fault(&large) >= 3.0 * a_fault(&small), "{page} KiB: {}", a_fault(&large));
        }
    }
}

#[test]
fn pages_in_the_processors_memory_keep_every_byte() {
    let near: Sets<'_> = &[("remote.cpu_kib", "32"), ("remote.cpu_after", "1")];
    let lost: Sets<'_> = &[("remote.fault.lose_one_in", "7"), ("remote.retry_ns", "8000")];
    for workload in ["cceh", "pmemkv"] {
        let local = ran("intel", workload, &[SHORT]).unwrap();
        for walks in ["whole-page", "first-line", "untracked"] {
            for faults in [&[] as Sets<'_>, lost] {
                let sets = [SHORT, TINY, near, faults, &[("remote.page_table", walks)]];
                let there = ran("pberry", workload, &sets).unwrap();
                assert!(there.visible == local.visible, "{workload}, {walks}");
                let stat = |name: &str| there.get(name).unwrap();
                assert!(
                    stat("remote.pages_placed") > 0.0 && stat("remote.pages_returned") > 0.0,
                    "{workload}"
                );
            }
        }
    }
    let threads: Sets<'_> = &[("workload.threads", "3"), ("workload.operations", "600")];
    for workload in ["queue", "skiplist", "heap"] {
        let report = ran("pberry", workload, &[threads, TINY, near]).unwrap();
        assert!(report.get("remote.pages_placed").unwrap() > 0.0, "{workload}");
    }
}

#[test]
fn a_program_leaves_the_same_memory_as_on_local_memory() {
    for workload in ["cceh", "pmemkv"] {
        let local = ran("intel", workload, &[SHORT]).unwrap();
        for machine in ["remote-pages", "pberry"] {
            for variant in VARIANTS {
                let report = ran(machine, workload, &[SHORT, TINY, variant])
                    .unwrap_or_else(|e| panic!("{workload} on {machine} with {variant:?}: {e}"));
                assert!(report.visible == local.visible, "{workload} on {machine} with {variant:?}");
                assert!(report.get("remote.pages_reclaimed").unwrap() > 0.0, "{workload}");
            }
        }
    }
}

/// The same program, the region beginning anywhere in a window; what was stored before it is long, and not in it.
#[test]
fn what_was_stored_before_the_region_is_in_no_window_of_it() {
    for network in ["0", "1195", "1196", "1250"] {
        let sets: Sets<'_> =
            &[("workload.keys", "300"), ("workload.operations", "2"), ("remote.network_ns", network)];
        let report = ran("pberry", "redis-random", &[sets]).unwrap();
        let stat = |name: &str| report.get(name).unwrap();
        assert!(stat("tracking.bytes") > 0.0, "{network}");
        assert!(stat("tracking.bytes") <= 8.0 * stat("cpu.stores"), "{network}");
        assert!(stat("tracking.windows") <= 2.0, "{network}");
        for kind in ["tracking", "tracking.changed", "tracking.written_back"] {
            let of = |what: &str| stat(&format!("{kind}.{what}"));
            assert!(of("lines") <= of("bytes") && of("pages") <= of("lines"), "{network} {kind}");
            assert_eq!(of("pages") > 0.0, of("huge_pages") > 0.0, "{network} {kind}");
        }
    }
}

#[test]
fn many_cores_share_pages_that_come_and_go() {
    let shared: Sets<'_> = &[("workload.threads", "6"), ("workload.operations", "200")];
    // More than the sixteen pages, and little that is there before anything is shared.
    let smaller: [(&str, Sets<'_>); 3] = [
        ("nstore", &[("workload.keys", "400")]),
        ("echo", &[("workload.keys", "200")]),
        ("dash-eh", &[("workload.preload", "400")]),
    ];
    for (workload, smaller) in smaller {
        for machine in ["remote-pages", "pberry"] {
            for variant in [VARIANTS[0], VARIANTS[4], VARIANTS[9]] {
                let report = ran(machine, workload, &[shared, smaller, TINY, variant])
                    .unwrap_or_else(|e| panic!("{workload} on {machine} with {variant:?}: {e}"));
                assert!(report.get("remote.pages_reclaimed").unwrap() > 0.0, "{workload} on {machine}");
            }
        }
    }
}

#[test]
fn pages_that_are_protected_all_the_time_are_written_nevertheless() {
    for nanoseconds in ["1", "100", "1000"] {
        for threads in ["1", "2"] {
            let sets = [
                ("remote.protect_ns", nanoseconds),
                ("workload.threads", threads),
                ("workload.operations", "20"),
            ];
            let report = ran("remote-pages", "queue", &[&sets]).unwrap();
            assert!(report.get("os.protections").unwrap() > 20.0, "{nanoseconds} {threads}");
        }
    }
}

#[test]
fn threads_that_go_on_until_one_is_done_leave_the_kernels_lock_alone() {
    let sets = [("workload.threads", "2"), ("workload.operations", "20"), ("workload.warm", "50")];
    ran("remote-pages", "bandwidth-latency", &[&sets]).unwrap();
}
