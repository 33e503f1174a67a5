//! Several memories on one machine: every kind keeps its bytes, and what a power failure leaves is what programs rely on.

use machine::{
    CrashEvery, Description, PRESETS, Report, RunOptions, WorkloadDescription, run, run_with_crashes,
};
use protocol::{Line, PAGE_BYTES, PM_BASE};
use std::collections::BTreeSet;

fn compositions() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|p| p.name).filter(|name| name.starts_with("compose-"))
}

fn workload(name: &str, sets: &[(&str, &str)]) -> WorkloadDescription {
    let mut workload = WorkloadDescription::named(name).unwrap();
    sets.iter().for_each(|(key, value)| workload.set(&format!("workload.{key}"), value).unwrap());
    workload
}

fn ran(machine: &Description, workload: &WorkloadDescription, engine: engine::Mode) -> Report {
    run(machine, workload, &RunOptions { seed: 5, mode: engine, ..RunOptions::default() }).unwrap()
}

/// Cuts the power after every seventh event: recovery finds what was acknowledged.
fn comes_back(machine: &Description, work: &WorkloadDescription) {
    let recover = work.recovery(3).unwrap();
    let options = RunOptions { seed: 3, ..RunOptions::default() };
    run_with_crashes(machine, work, &options, CrashEvery::Events(7), &mut |point| {
        let found = recover(&mut point.words(), &point.ended);
        assert_eq!(found, Ok(()), "{} on {} at {}", work.name, machine.name, point.at);
        true
    })
    .unwrap();
}

fn parsed(text: &str) -> Result<Description, String> {
    Description::parse("mine", "mine.toml", text).map_err(|e| e.to_string())
}

/// Threads whose data is more than the devices of these machines hold.
const MANY: &str = "8";

/// The memories in which these pages lie.
fn memories(machine: &Description, pages: impl Iterator<Item = u64>) -> BTreeSet<usize> {
    let map = machine.address_map().unwrap();
    pages.map(|page| map.memory_of(page)).collect()
}

#[test]
fn six_compositions_come_with_the_project() {
    assert_eq!(compositions().count(), 6);
}

#[test]
fn both_engines_agree_and_loads_see_the_same_bytes_on_every_composition() {
    for name in compositions() {
        let machine = Description::preset(name).unwrap();
        for program in ["mix", "queue", "btree"] {
            let work = workload(program, &[("operations", "60"), ("threads", MANY)]);
            let fast = ran(&machine, &work, engine::Mode::Fast);
            let reference = ran(&machine, &work, engine::Mode::Reference);
            assert_eq!(fast.to_json(), reference.to_json(), "{name} {program}");
            assert!(fast.visible.to_vec() == reference.visible.to_vec(), "{name} {program}");
        }
    }
}

#[test]
fn recovery_finds_what_was_acknowledged_at_every_cut_of_every_composition() {
    for name in compositions() {
        let machine = Description::preset(name).unwrap();
        let is_remote = name.ends_with("remote");
        let mut reached = BTreeSet::new();
        for program in ["queue", "cceh", "btree"] {
            // What lies beyond the devices' range is remote there, and nothing of it is promised.
            let threads = if is_remote { "2" } else { MANY };
            let work = workload(program, &[("operations", "12"), ("threads", threads)]);
            let recover = work.recovery(3).unwrap();
            let mut points = 0;
            let options = RunOptions { seed: 3, ..RunOptions::default() };
            run_with_crashes(&machine, &work, &options, CrashEvery::Persists(5), &mut |point| {
                points += 1;
                assert_eq!(recover(&mut point.words(), &point.ended), Ok(()), "{name} {program}");
                let pages = point.pages();
                reached.extend(memories(&machine, pages.iter().copied()));
                for page in (0..64).map(|page| PM_BASE + page * PAGE_BYTES) {
                    let bytes = point.page(page);
                    assert_eq!(bytes[64..128], point.read(Line(page / 64 + 1)));
                    assert!(pages.contains(&page) || bytes == [0; PAGE_BYTES as usize], "{name} {page:#x}");
                }
                true
            })
            .unwrap();
            assert!(points > 2, "{name} {program}: {points} points");
        }
        assert_eq!(reached.len(), if is_remote { 1 } else { 2 }, "{name}: the memories that were cut");
    }
}

#[test]
fn pages_are_spread_by_share_and_every_byte_is_where_it_is_read() {
    let both = "extends = \"nvdimmc-poc\"\n[[memory]]\nkind = \"nvdimmc\"\n[[memory]]\nkind = \"nvdimmc\"\n";
    let one = Description::preset("nvdimmc-poc").unwrap();
    let two = parsed(both).unwrap();
    let work = workload("fio", &[("operations", "200"), ("pattern", "random"), ("rw", "write")]);
    let [one, two] = [one, two].map(|machine| ran(&machine, &work, engine::Mode::Fast));
    assert!(one.visible.to_vec() == two.visible.to_vec(), "the same program leaves the same bytes");
    let filled = |r: &Report| r.get("nvdimm.faults").unwrap() as u64;
    assert_eq!(filled(&one), filled(&two), "each page is missed once, wherever it is");
}

#[test]
fn a_parameter_of_one_memory_is_its_own_and_one_of_the_machine_is_everybodys() {
    let slow =
        "extends = \"intel\"\n[[memory]]\nkind = \"pm\"\n[[memory]]\nkind = \"pm\"\npm.read_ns = 900\n";
    let mut machine = parsed(slow).unwrap();
    let work = workload("fio", &[("operations", "60"), ("pattern", "random"), ("rw", "read")]);
    let mixed = ran(&machine, &work, engine::Mode::Fast).time;
    machine.set("memory.1.pm.read_ns", "175").unwrap();
    let even = ran(&machine, &work, engine::Mode::Fast).time;
    machine.set("memory.pm.read_ns", "900").unwrap();
    let slowest = ran(&machine, &work, engine::Mode::Fast).time;
    assert!(even < mixed && mixed < slowest, "{even} {mixed} {slowest}");
}

#[test]
fn a_key_of_one_memory_counts_whatever_the_order_in_which_keys_are_given() {
    let two = "extends = \"intel\"\n[[memory]]\nkind = \"pm\"\n[[memory]]\nkind = \"pm\"\n";
    let given =
        [("memory.0.pm.read_ns", "50"), ("memory.pm.read_ns", "100"), ("memory.0.pm.acknowledge_ns", "70")];
    let described = |given: &mut dyn Iterator<Item = (&'static str, &'static str)>| {
        let mut machine = parsed(two).unwrap();
        machine.set_all(given).unwrap();
        (machine.memory_rows(), machine.settings.get("memory.pm.read_ns").cloned())
    };
    let forth = described(&mut given.into_iter());
    assert_eq!(forth, described(&mut given.into_iter().rev()));
    let (rows, _) = forth;
    let own = |key: &str| rows.iter().find(|row| row.key == key).map(|row| row.value.as_str());
    assert_eq!((own("memory.0.pm.read_ns"), own("memory.0.pm.acknowledge_ns")), (Some("50"), Some("70")));
    let mut machine = parsed(two).unwrap();
    let e = machine.set_all([("memory.2.pm.read_ns", "50"), ("cpu.cores", "2")]).unwrap_err().to_string();
    assert!(e.contains("its memories are 0 to 1"), "{e}");
}

#[test]
fn what_does_not_fit_together_is_refused_with_its_reason_and_place() {
    let list = |entries: &str| format!("extends = \"intel\"\n{entries}");
    let refused = |text: &str| parsed(text).err().unwrap_or_else(|| panic!("accepted: {text}"));
    let asap = "extends = \"asap-rp\"\n[[memory]]\nkind = \"pm\"\n[[memory]]\nkind = \"nvdimmc\"\n";
    let e = refused(asap);
    assert!(e.contains("memory 1 (nvdimmc)") && e.contains("another page may be there"), "{e}");
    let e = refused(&list("[[memory]]\nkind = \"flash\"\n"));
    assert!(
        e.contains("mine.toml:3")
            && e.contains("one of pm, ddr4, ddr5, nearpm, nvdimmc, optane, cmmh, remote"),
        "{e}"
    );
    let e = refused(&list("[[memory]]\nsize = \"1 GiB\"\n"));
    assert!(e.contains("mine.toml:2") && e.contains("has no kind"), "{e}");
    let e = refused(&list("[[memory]]\nkind = \"pm\"\nsize = \"1 GiB\"\n"));
    assert!(e.contains("give one without"), "{e}");
    let e = refused(&list("[[memory]]\nkind = \"pm\"\nshare = 17\n"));
    assert!(e.contains("mine.toml:4") && e.contains("from 1 to 16"), "{e}");
    let e = refused(&list("[[memory]]\nkind = \"pm\"\nsize = \"5 KiB\"\n"));
    assert!(e.contains("multiple of 4 KiB"), "{e}");
    let small = |size: &str| {
        let text = format!(
            "[[memory]]\nkind = \"cmmh\"\nsize = \"{size}\"\ncmmh.capacity_mib = 48\n[[memory]]\nkind = \"pm\"\n"
        );
        list(&text)
    };
    parsed(&small("48 MiB")).unwrap();
    let e = refused(&small("64 MiB"));
    let wanted =
        "memory 0 (cmmh): size = 64 MiB: the device has 48 MiB (cmmh.capacity_mib); give at most that";
    assert!(e.contains(wanted), "{e}");
    let e = refused(&list("[[memory]]\nkind = \"pm\"\n[[memory]]\nkind = \"nearpm\"\n"));
    assert!(e.contains("comes first"), "{e}");
    let e = refused(&list("[[memory]]\nkind = \"remote\"\n[[memory]]\nkind = \"pm\"\n"));
    assert!(e.contains("in no range"), "{e}");
    let e = refused(&list("[[memory]]\nkind = \"pm\"\npm.reed_ns = 3\n"));
    assert!(e.contains("mine.toml:4") && e.contains("pm.read_ns"), "{e}");
    let e = refused(&format!("extends = \"intel\"\n{}", "[[memory]]\nkind = \"pm\"\n".repeat(9)));
    assert!(e.contains("at most 8"), "{e}");
    let mut machine = parsed(&list("[[memory]]\nkind = \"pm\"\n")).unwrap();
    let e = machine.set("memory.3.pm.read_ns", "4").unwrap_err().to_string();
    assert!(e.contains("its memories are 0 to 0"), "{e}");
}

#[test]
fn a_power_failure_empties_dram_in_a_list_and_on_its_own() {
    let text =
        "extends = \"intel\"\n[[memory]]\nkind = \"ddr4\"\nsize = \"64 GiB\"\n[[memory]]\nkind = \"pm\"\n";
    let machine = parsed(text).unwrap();
    let work = workload("hashmap", &[("operations", "20")]);
    let recover = work.recovery(3).unwrap();
    let options = RunOptions { seed: 3, ..RunOptions::default() };
    let mut lost = 0;
    run_with_crashes(&machine, &work, &options, CrashEvery::Persists(20), &mut |point| {
        lost += u64::from(recover(&mut point.words(), &point.ended).is_err());
        true
    })
    .unwrap();
    assert!(lost > 0, "all of the program lies in memory that forgets");
    for name in ["ddr5", "optane-memory-mode"] {
        let report = ran(&Description::preset(name).unwrap(), &work, engine::Mode::Fast);
        assert!(report.durable.to_vec().iter().all(|byte| *byte == 0), "{name}");
        assert!(report.visible.to_vec().iter().any(|byte| *byte != 0), "{name}");
    }
}

/// A DRAM that stands in for NVDIMM-C has its pages in a window of the wires, as a device that translates has.
#[test]
fn a_dimm_of_dram_comes_back_beside_another_memory() {
    let machine =
        parsed("extends = \"nvdimmc-baseline\"\n[[memory]]\nkind = \"nvdimmc\"\nshare = 3\n[[memory]]\nkind = \"pm\"\n")
            .unwrap();
    comes_back(&machine, &workload("queue", &[("operations", "6"), ("durable", "true")]));
}

#[test]
fn near_data_devices_that_share_pages_with_another_memory_are_refused() {
    let text = |size: &str| {
        format!("extends = \"nearpm-md\"\n[[memory]]\nkind = \"nearpm\"\n{size}[[memory]]\nkind = \"pm\"\n")
    };
    let why = parsed(&text("")).and_then(|m| m.check().map_err(|e| e.to_string())).unwrap_err();
    assert!(why.contains("memory 0 (nearpm): size: programs have to know"), "{why}");
    parsed(&text("size = \"8 MiB\"\n")).unwrap().check().unwrap();
}

#[test]
fn copies_outside_the_range_of_the_devices_are_the_cores() {
    for name in compositions().filter(|name| name.contains("near")) {
        let machine = Description::preset(name).unwrap();
        ran(&machine, &workload("copy", &[("operations", "24"), ("threads", "6")]), engine::Mode::Fast);
    }
}

#[test]
fn hosts_take_no_list_of_memories() {
    let text = "extends = \"shared\"\n[[memory]]\nkind = \"pm\"\n";
    let why = parsed(text).and_then(|m| m.check().map_err(|e| e.to_string())).unwrap_err();
    assert!(why.contains("[[memory]]: a machine of machine.fidelity = hosts"), "{why}");
}

#[test]
fn nobody_is_told_of_an_operation_whose_fence_still_waits() {
    // There an sfence holds later stores and not the core, which goes on to the next operation.
    let mut machine = Description::preset("intel").unwrap();
    machine.set("ordering.sfence_blocks", "stores").unwrap();
    for program in ["hashmap", "btree"] {
        comes_back(&machine, &workload(program, &[("operations", "30")]));
    }
}

#[test]
fn what_a_list_is_made_of_is_given_in_a_file() {
    let mut machine = Description::preset("compose-bbb-two-media").unwrap();
    for (key, value) in [("memory.1.kind", "optane"), ("memory.1.share", "2"), ("memory.0.size", "1 MiB")] {
        let why = machine.set(key, value).unwrap_err().to_string();
        assert!(why.contains("is what the list is made of"), "{why}");
    }
}
