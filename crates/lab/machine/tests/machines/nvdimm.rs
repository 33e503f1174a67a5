//! NVDIMM-C as a whole machine: every byte that a program reads is checked by the program.

use engine::Mode;
use machine::{Description, Report, RunError, RunOptions, WorkloadDescription, run};

fn prepared(machine: &str, workload: &str, sets: &[(&str, &str)]) -> (Description, WorkloadDescription) {
    let mut machine = Description::preset(machine).unwrap();
    let mut workload = WorkloadDescription::named(workload).unwrap();
    for (key, value) in sets {
        if key.starts_with("workload.") { workload.set(key, value) } else { machine.set(key, value) }
            .unwrap();
    }
    (machine, workload)
}

fn ran(machine: &str, workload: &str, sets: &[(&str, &str)]) -> Result<Report, RunError> {
    let (machine, workload) = prepared(machine, workload, sets);
    run(&machine, &workload, &RunOptions { seed: 3, ..RunOptions::default() })
}

/// 256 slots, and a file of four times as many pages.
const SMALL: [(&str, &str); 4] = [
    ("nvdimm.slots_mib", "1"),
    ("nvdimm.dram_mib", "2"),
    ("workload.operations", "60"),
    ("workload.file_bytes", "4194304"),
];

#[test]
fn what_fio_reads_is_what_it_wrote_whatever_the_driver_and_the_device_do() {
    let variants: [&[(&str, &str)]; 8] = [
        &[],
        &[("nvdimm.replacement", "lru"), ("workload.rw", "write")],
        &[("nvdimm.replacement", "clock"), ("workload.block_size", "16384")],
        &[("nvdimm.queue_depth", "4"), ("workload.threads", "3")],
        &[("nvdimm.merged_commands", "true"), ("workload.threads", "2"), ("nvdimm.queue_depth", "2")],
        &[("nvdimm.window_bytes", "8192"), ("nvdimm.merged_commands", "true"), ("nvdimm.queue_depth", "2")],
        &[("nand.bad_blocks", "9"), ("nand.pages_per_block", "16"), ("nvdimm.capacity_mib", "4")],
        &[("nand.media", "fixed"), ("memory.ddr.speed", "2400"), ("memory.ddr.density_gbit", "16")],
    ];
    for changes in variants {
        let sets: Vec<_> = SMALL.iter().chain(changes).copied().collect();
        let report = ran("nvdimmc-poc", "fio", &sets).unwrap_or_else(|e| panic!("{changes:?}: {e}"));
        let get = |name: &str| report.get(name).unwrap();
        assert!(get("nvdimm.faults") >= 35.0 && get("nvdimm.cachefills") >= 35.0, "{changes:?}");
        assert!(get("nvdimm.writebacks") >= 35.0, "{changes:?}");
    }
}

/// Where stores past the caches go to these, too, of which a file of 8 MiB is 32 times as large.
#[test]
fn what_fio_reads_of_a_file_larger_than_the_caches_is_in_memory_on_every_machine() {
    let caches = [("l2.size_bytes", "64 KiB"), ("llc.size_bytes", "256 KiB")];
    let reads = |machine: &str, sets: &[(&str, &str)]| {
        let sets = [&caches[..], sets, &[("workload.operations", "100")]].concat();
        ran(machine, "fio", &sets).unwrap().get("memory.reads").unwrap()
    };
    for machine in ["intel", "eadr", "bbb", "hops-rp", "asap-rp", "dpo", "lrp", "vorpal"] {
        for threads in ["1", "4"] {
            let read = reads(machine, &[("workload.threads", threads)]);
            assert!(read >= 5600.0, "{machine}, {threads} threads: {read} of 6400 lines");
        }
    }
    assert!(reads("eadr", &[("workload.file_bytes", "131072")]) < 1.0);
}

#[test]
fn a_dirty_miss_takes_its_windows_and_a_hit_none() {
    let report = ran("nvdimmc-poc", "fio", &[("workload.operations", "100")]).unwrap();
    assert_eq!(report.get("nvdimm.hit_share.page"), Some(1.0));
    assert_eq!(report.get("nvdimm.windows_used"), Some(0.0));
    let report = ran("nvdimmc-poc", "fio", &SMALL).unwrap();
    let misses = report.get("nvdimm.faults").unwrap();
    assert!((35.0..=60.0).contains(&misses), "{misses}");
    assert_eq!(report.get("nvdimm.hit_share.page"), Some(1.0 - misses / 60.0));
    // Two windows of data for each miss; six at least pass (NVDIMM-C §V-A).
    assert_eq!(report.get("nvdimm.windows_used"), Some(2.0 * misses));
    assert!(report.get("nvdimm.windows").unwrap() >= 6.0 * misses);
    assert!(report.time.as_ns() >= misses * 46_800.0 - 7_800.0);
}

/// Of the same programs the bytes are the same on every machine.
#[test]
fn programs_leave_the_same_memory_as_on_a_machine_without_nand() {
    for workload in ["hashmap", "cceh", "p-masstree"] {
        let sets = [("workload.operations", "400"), ("workload.threads", "1"), ("nvdimm.slots_mib", "1")];
        let (nvdimm, intel) =
            (ran("nvdimmc-poc", workload, &sets).unwrap(), ran("intel", workload, &sets[..2]).unwrap());
        for (name, ours, theirs) in [
            ("visible", &nvdimm.visible, &intel.visible),
            (
                "visible on the hypothetical device",
                &ran("nvdimmc-hypothetical", workload, &sets).unwrap().visible,
                &intel.visible,
            ),
        ] {
            let (mut ours, mut theirs) = (ours.to_vec(), theirs.to_vec());
            let bytes = ours.len().max(theirs.len());
            ours.resize(bytes, 0);
            theirs.resize(bytes, 0);
            let differs = ours.iter().zip(&theirs).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{workload}: {name}");
        }
    }
}

#[test]
fn both_engines_are_one_on_a_machine_with_a_driver() {
    let sets: Vec<_> = SMALL.iter().copied().chain([("workload.threads", "3")]).collect();
    let (machine, workload) = prepared("nvdimmc-poc", "fio", &sets);
    let of = |mode| {
        let report =
            run(&machine, &workload, &RunOptions { seed: 1, mode, ..RunOptions::default() }).unwrap();
        (report.time, report.references, report.durable.to_vec())
    };
    assert!(of(Mode::Fast) == of(Mode::Reference));
}

fn violation(workload: &str, sets: &[(&str, &str)]) -> String {
    match ran("nvdimmc-poc", workload, sets) {
        Err(RunError::Violation(text)) => text,
        Err(RunError::Config(e)) => panic!("{sets:?}: {e}"),
        Ok(_) => panic!("{sets:?}: nobody noticed"),
    }
}

#[test]
fn a_device_that_breaks_the_rules_is_caught_with_both_commands() {
    let text = violation("stream", &[("nvdimm.device.ignore_window", "true")]);
    assert!(text.contains("device command outside its window: Device's Activate"), "{text}");
    assert!(text.contains(", after Host's "), "{text}");
    let text = violation("stream", &[("nvdimm.device.detector_late_ns", "890")]);
    assert!(text.starts_with("collision on the memory bus: device"), "{text}");
    let text = violation("stream", &[("nvdimm.device.misses_one_in", "3")]);
    assert!(text.contains("its detector missed a refresh: Host's Refresh of bank 0 at clock"), "{text}");
    let text = violation("stream", &[("nvdimm.device.overrun_lines", "200")]);
    assert!(text.contains("device not done when its window closes"), "{text}");
    assert!(text.contains("after Host's Refresh"), "{text}");
}

#[test]
fn a_driver_without_flush_or_invalidation_is_caught_by_the_program() {
    // A shared cache that still has lines of a page when its slot holds another.
    let sets = [("nvdimm.slots_mib", "1"), ("llc.size_bytes", "4 MiB")];
    for fault in ["nvdimm.driver.flush", "nvdimm.driver.invalidate"] {
        let sets: Vec<_> = sets.iter().copied().chain([(fault, "false")]).collect();
        assert!(violation("stream", &sets).starts_with("stream: "), "{fault}");
    }
}

#[test]
fn a_page_that_cannot_be_read_is_an_io_error() {
    let bad = [("nand.bit_errors", "40000000"), ("nand.corrected_bits", "1"), ("nand.retries", "1")];
    let sets: Vec<_> = SMALL.iter().copied().chain(bad).collect();
    // fio looks for errors, and goes on; a program that does not is ended.
    let report = ran("nvdimmc-poc", "fio", &sets).unwrap();
    assert!(report.get("nvdimm.io_errors").unwrap() > 0.0 && report.get("nand.uncorrectable").unwrap() > 0.0);
    assert!(report.get("cpu.bytes_moved").unwrap() < 60.0 * 4096.0);
    let sets: Vec<_> = bad.into_iter().chain([("nvdimm.slots_mib", "1")]).collect();
    let text = violation("stream", &sets);
    assert!(text.starts_with("I/O error: core ") && text.contains(" of the device"), "{text}");
    // With retries enough it is read all the same.
    let good = [("nand.bit_errors", "4000000"), ("nand.corrected_bits", "40"), ("nand.retries", "4")];
    let sets: Vec<_> = SMALL.iter().copied().chain(good).collect();
    ran("nvdimmc-poc", "fio", &sets).unwrap();
}

#[test]
fn what_cannot_be_names_the_key_and_its_bound() {
    let wrong = |sets: &[(&str, &str)]| match ran("nvdimmc-poc", "fio", sets) {
        Err(RunError::Config(e)) => e.to_string(),
        Err(e) => panic!("{sets:?}: {e}"),
        Ok(_) => panic!("{sets:?} was accepted"),
    };
    assert_eq!(
        wrong(&[("memory.refresh.trfc_ns", "9000")]),
        "memory.refresh.trfc_ns = 9000: a refresh has to end before the next; memory.refresh.trefi_ns = 7800 leaves up to 7700"
    );
    assert_eq!(
        wrong(&[("memory.refresh.trfc_ns", "300")]),
        "memory.refresh.trfc_ns = 300: these devices need at least 350 (memory.ddr.density_gbit)"
    );
    assert_eq!(
        wrong(&[("memory.refresh.trfc_ns", "360")]),
        "memory.refresh.trfc_ns = 360: a window for nvdimm.window_bytes = 4096 needs at least 802.5, of which the DRAM takes 350"
    );
    assert_eq!(
        wrong(&[("memory.refresh.trfc_ns", "1202.5"), ("nvdimm.window_bytes", "8192")]),
        "memory.refresh.trfc_ns = 1202.5: a window for nvdimm.window_bytes = 8192 needs at least 1207.5, of which the DRAM takes 350"
    );
    assert_eq!(
        wrong(&[("nvdimm.slots_mib", "16")]),
        "nvdimm.slots_mib = 16: nvdimm.dram_mib = 16 has room for 1 to 15"
    );
    assert_eq!(
        wrong(&[("memory.controllers", "2")]),
        "memory.controllers = 2: an NVDIMM is on one channel; give 1"
    );
    let refused = wrong(&[("ordering.model", "asap")]);
    assert!(refused.starts_with("ordering.model = asap: an NVDIMM has no persist path ("), "{refused}");
    assert!(refused.ends_with("another page may be there); give intel"), "{refused}");
    for without_a_path in ["eadr", "strandweaver"] {
        let refused = wrong(&[("ordering.model", without_a_path)]);
        assert!(refused.contains("flushes a page's lines out of the caches"), "{refused}");
    }
    assert_eq!(
        wrong(&[("nvdimm.capacity_mib", "4")]),
        "workload.file_bytes = 8388608: the file takes 8388608 bytes, and the memory has 4194304"
    );
    // Each thread has a block at least.
    assert_eq!(
        wrong(&[
            ("nvdimm.capacity_mib", "1"),
            ("workload.file_bytes", "4096"),
            ("workload.block_size", "524288"),
            ("workload.threads", "3")
        ]),
        "workload.file_bytes = 4096: the file takes 1572864 bytes, and the memory has 1048576"
    );
    assert_eq!(
        wrong(&[("nvdimm.capacity_mib", "16"), ("workload.resident", "false")]),
        "workload.resident = false: a page for each operation (workload.operations, workload.block_size) takes 8192000 bytes, what replaces them 15728640, and the memory has 16777216"
    );
    assert_eq!(
        wrong(&[
            ("nvdimm.slots_mib", "1"),
            ("workload.resident", "true"),
            ("workload.block_size", "524288"),
            ("workload.threads", "3")
        ]),
        "workload.resident = true: a block of each thread (workload.block_size, workload.threads) takes 1572864 bytes in all, and the DRAM cache has 1048576"
    );
    let without_cache =
        ran("nvdimmc-baseline", "fio", &[("nvdimm.capacity_mib", "4"), ("workload.resident", "true")]);
    assert_eq!(
        without_cache.err().unwrap().to_string(),
        "workload.resident = true: the file takes 8388608 bytes, and the memory has 4194304; give workload.file_bytes in its place"
    );
    let beyond = violation("stream", &[("nvdimm.capacity_mib", "1")]);
    assert!(beyond.ends_with("of a device of 1 MiB (nvdimm.capacity_mib)"), "{beyond}");
}

/// What is asked for ahead is visited when it is read, however many blocks that is.
#[test]
fn a_page_that_is_read_is_one_visit_and_64_of_its_lines() {
    for depth in ["1", "4"] {
        let sets = [("workload.resident", "false"), ("workload.operations", "20"), ("workload.depth", depth)];
        let report = ran("nvdimmc-poc", "fio", &sets).unwrap();
        let counted = ["nvdimm.page_visits", "nvdimm.line_visits", "nvdimm.faults", "nvdimm.hit_share.page"];
        let wanted = [20.0, 1280.0, 20.0, 0.0].map(Some);
        assert_eq!(counted.map(|name| report.get(name)), wanted, "depth {depth}");
    }
}

#[test]
fn no_core_runs_over_the_bound_of_the_region_that_it_begins_itself() {
    let few = ("workload.operations", "20");
    let small = ("workload.file_bytes", "131072");
    for (program, sets) in [("queue", vec![few]), ("fio", vec![few, small])] {
        let (machine, workload) = prepared("nvdimmc-poc", program, &sets);
        for seed in 1..40 {
            let counted = |mode| {
                let options = RunOptions { seed, mode, ..RunOptions::default() };
                let report = run(&machine, &workload, &options).unwrap();
                ["nvdimm.line_visits", "nvdimm.first_touches"].map(|name| report.get(name))
            };
            assert_eq!(counted(Mode::Fast), counted(Mode::Reference), "{program}, seed {seed}");
        }
    }
}
