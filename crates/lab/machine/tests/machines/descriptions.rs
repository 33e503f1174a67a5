//! Bad input gets one clear message that names file, line, key and what is accepted.

use machine::{Description, Fidelity, PRESETS, RunOptions, STATISTICS, WorkloadDescription, run};
use proptest::prelude::*;

fn refused(text: &str) -> String {
    Description::parse("mine", "mine.toml", text).unwrap_err().to_string()
}

#[test]
fn every_preset_is_read_and_names_the_source_of_every_value() {
    for preset in PRESETS {
        let d = Description::preset(preset.name).unwrap();
        for (param, _, source) in d.rows() {
            assert!(!source.ends_with(".toml"), "{}: {} has no source", preset.name, param.key);
            assert!(!param.meaning.is_empty() && !source.is_empty(), "{}", param.key);
        }
    }
}

#[test]
fn messages_name_file_line_key_and_what_is_accepted() {
    let e = refused("extends = \"asap-rp\"\n[ordering]\npersist_bufer = 3\n");
    assert!(e.starts_with("mine.toml:3:") && e.contains("ordering.persist_buffer"), "{e}");
    let e = refused("[ordering]\n\npersist_buffer = 0\n");
    assert!(e.starts_with("mine.toml:3:") && e.contains("from 1 to 1024"), "{e}");
    let e = refused("[memory]\ninterleave_bytes = 100\n");
    assert!(e.contains("power of two from 64 to 4096"), "{e}");
    let e = refused("extends = \"asap-rq\"\n");
    assert!(e.contains("mine.toml:1:") && e.contains("asap-rp"), "{e}");
    let e = refused("[ordering\n");
    assert!(e.starts_with("mine.toml:1:") && e.contains("not TOML"), "{e}");
    let e = refused("[l1]\nsize_bytes = \"4 MiB\"\n");
    assert!(e.contains("l2.size_bytes"), "{e}");
    let e = refused("[memory]\npm.read_ns = \"3 GiB\"\n");
    assert!(e.contains("memory.pm.read_ns") && e.contains("nanoseconds"), "{e}");
    assert!(refused("ordering = 3\n").contains("group of keys"));
    let e = refused("[memory]\npm.read_ns = 0x10\n");
    assert!(e.starts_with("mine.toml:2: memory.pm.read_ns: ") && e.contains("give a decimal number"), "{e}");
    let e = refused("[memory]\npm.read_ns = 175\npm.read_ns = 176\n");
    assert!(e.starts_with("mine.toml:3: not TOML: ") && e.contains("read_ns is there twice"), "{e}");
    assert!(refused("extends = \"mine\"\n").contains("itself"));
}

/// Caches of today's servers: 48 KiB in 12 ways, 1.25 MiB in 20, 36 MiB in 12 (49,152 sets).
#[test]
fn caches_have_any_number_of_ways_and_sets() {
    let text = "extends = \"intel\"\n[l1]\nsize_bytes = \"48 KiB\"\nways = 12\n[l2]\nsize_bytes = \"1280 KiB\"\nways = 20\n[llc]\nsize_bytes = \"36 MiB\"\nways = 12\n";
    let today = Description::parse("mine", "mine.toml", text).unwrap();
    let mut chain = WorkloadDescription::named("bandwidth-latency").unwrap();
    for (key, value) in [("threads", "1"), ("pages", "11"), ("warm", "5000")] {
        chain.set(&format!("workload.{key}"), value).unwrap();
    }
    let time_of =
        |machine: &Description| run(machine, &chain, &RunOptions::default()).unwrap().time.as_ps() as f64;
    // 44 KiB are within the first level of the one, and beyond that of the other.
    let (fits, is_beyond) = (time_of(&today), time_of(&Description::preset("intel").unwrap()));
    assert!(fits < 0.6 * is_beyond, "{fits} {is_beyond}");
    let e = refused("extends = \"intel\"\n[l1]\nways = 12\n");
    assert!(
        e.starts_with("mine.toml:3: l1.ways")
            || e.starts_with("mine.toml:3: l1.size_bytes: 32768 bytes are no whole"),
        "{e}"
    );
    let e = refused("[l1]\nsize_bytes = 100\n");
    assert!(e.contains("a multiple of 64 bytes"), "{e}");
    let e = refused("[llc]\nsize_bytes = 64\nways = 1\n");
    assert!(e.contains("llc.size_bytes: 64 bytes; give 4096 at least"), "{e}");
}

#[test]
fn what_does_not_fit_together_is_told_with_its_line_and_its_numbers() {
    let e = refused("extends = \"intel\"\n[l2]\nsize_bytes = \"16 KiB\"\n");
    assert!(e.starts_with("mine.toml:3: l2.size_bytes: 16384 bytes; "), "{e}");
    assert!(e.ends_with("l1.size_bytes = 32768"), "{e}");
    // The key that is told is not the file's.
    let e = refused("extends = \"intel\"\n[cpu]\ncores = 2\n[l1]\nsize_bytes = \"4 MiB\"\n");
    assert!(e.starts_with("mine.toml:5: l2.size_bytes: ") && e.ends_with("l1.size_bytes = 4194304"), "{e}");
    let e = refused("extends = \"intel\"\n[l2]\nsize_bytes = \"64 MiB\"\n");
    assert!(e.starts_with("mine.toml:3: llc.size_bytes: ") && e.ends_with("l2.size_bytes = 67108864"), "{e}");
    let e = refused("extends = \"cxl-expander\"\n[memory]\ncontrollers = 8\n");
    assert!(e.starts_with("mine.toml:3: memory.link = cxl: 8 controllers behind "), "{e}");
    let sized = "extends = \"intel\"\n[[memory]]\nkind = \"pm\"\nsize = \"1 GiB\"\n";
    assert!(refused(sized).starts_with("mine.toml:2: memory: each of 1 has a size"), "{}", refused(sized));
    let e = refused("extends = \"intel\"\n[memory.pm]\ndrain_threshold = 99\n");
    assert!(e.starts_with("mine.toml:3: memory.pm.drain_threshold: 99 is above "), "{e}");
}

#[test]
fn keys_of_workloads_are_sent_to_where_they_are_given() {
    for file in
        ["[workload]\nthreads = 4\n", "[cpu]\ncores = 2\n[sources]\n\"workload.threads\" = \"paper: X\"\n"]
    {
        let e = refused(file);
        assert!(e.contains("workload.threads: ") && e.contains("--set, or in a campaign"), "{e}");
    }
}

#[test]
fn unknown_workloads_and_keys_offer_the_nearest() {
    let e = WorkloadDescription::named("ccehh").err().unwrap().to_string();
    assert!(e.contains("cceh"), "{e}");
    let e = WorkloadDescription::named("cceh").unwrap().set("workload.thread", "2").unwrap_err().to_string();
    assert!(e.starts_with("workload.thread: workload cceh: ") && e.contains("workload.threads"), "{e}");
}

#[test]
fn every_statistic_has_a_row_with_unit_and_meaning() {
    for preset in PRESETS {
        let mut machine = Description::preset(preset.name).unwrap();
        // What its hidden memory costs takes seconds to measure, and reports what `amf@curve` does.
        if preset.name == "amf@nvdimmc" {
            machine.set("fusion.cost", "constant").unwrap();
        }
        let (name, sets): (_, &[_]) = match machine.fidelity() {
            Fidelity::Page => ("spec-mix", &[("workload.instances", "3"), ("workload.scale_percent", "5")]),
            Fidelity::Hosts => ("shared-log", &[("workload.operations", "3")]),
            Fidelity::Line => ("mix", &[("workload.operations", "100")]),
        };
        let mut w = WorkloadDescription::named(name).unwrap();
        sets.iter().for_each(|(key, value)| w.set(key, value).unwrap());
        let report = run(&machine, &w, &Default::default()).unwrap();
        for s in &report.stats {
            assert!(STATISTICS.iter().any(|i| i.name == s.name), "{} has no row", s.name);
        }
    }
}

#[test]
fn the_schema_lists_every_parameter() {
    let text = machine::schema::machine().to_string();
    for param in machine::params::MACHINE {
        let last = param.key.rsplit('.').next().unwrap();
        assert!(text.contains(&format!("\"{last}\"")), "{}", param.key);
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        _ = Description::parse("mine", "mine.toml", &text);
    }

    #[test]
    fn any_table_is_read_or_refused(key in "(cpu|l1|memory|ordering|wires)\\.[a-z_.]{1,20}", value in "[-0-9a-z.\" ]{0,12}") {
        _ = Description::parse("mine", "mine.toml", &format!("{key} = {value}\n"));
    }
}

#[test]
fn what_is_no_time_of_a_channel_or_no_flash_is_refused_with_the_key_and_a_value_that_is() {
    let refused = |machine: &str, sets: &[(&str, &str)]| {
        let mut machine = Description::preset(machine).unwrap();
        sets.iter().for_each(|(key, value)| machine.set(key, value).unwrap());
        machine.check().err().map(|e| e.to_string())
    };
    for (refresh, least) in [("all-banks", 406), ("same-bank", 1927)] {
        let with = |ns: u64| {
            let sets = [("memory.ddr5.refresh", refresh), ("memory.ddr5.trefi_ns", &ns.to_string())];
            refused("ddr5", &sets)
        };
        for ns in [1, least - 1] {
            let text = format!("memory.ddr5.trefi_ns = {ns}: give at least {least}");
            assert_eq!(with(ns), Some(text), "{refresh}");
        }
        assert_eq!([least, 100_000].map(with), [None, None], "{refresh}");
    }
    let rare = [("memory.kind", "ddr4"), ("memory.refresh.trefi_ns", "100000")];
    let length = |ns| refused("intel", &[rare[0], rare[1], ("memory.refresh.trfc_ns", ns)]);
    assert_eq!(length("50000"), Some("memory.refresh.trfc_ns = 50000: give at most 20480".into()));
    assert_eq!(length("20480"), None);
    let mut machine = Description::preset("cmmh").unwrap();
    machine.set("nand.dies", "1").unwrap();
    let ran = run(&machine, &WorkloadDescription::named("queue").unwrap(), &RunOptions::default());
    let text = ran.err().map(|e| e.to_string());
    assert_eq!(text, Some("nand.dies = 1: accepted are 6 (one a channel) to 4096".into()));
}
