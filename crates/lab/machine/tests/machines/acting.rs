//! Keys act on machines, or are refused.

use machine::{Description, PRESETS};

fn refused(machine: &str, key: &str, value: &str) -> String {
    let mut machine = Description::preset(machine).unwrap();
    machine.set(key, value).unwrap();
    machine.check().unwrap_err().to_string()
}

#[test]
fn a_key_that_does_nothing_is_refused_with_the_machines_on_which_it_acts() {
    let text = refused("intel", "remote.link_ns", "5");
    assert!(
        text.starts_with("remote.link_ns: does nothing on intel; it acts on remote-pages, pberry"),
        "{text}"
    );
    assert!(refused("hops-rp", "ordering.eager", "false").contains("it acts on asap-ep, asap-rp"));
    assert!(refused("asap-rp", "ordering.sfence_blocks", "stores").contains("it acts on intel, "));
    assert!(refused("bbb", "ordering.epoch_table", "4").contains("hops-ep, hops-rp"));
    assert!(refused("eadr", "ordering.persist_buffer", "4").contains("does nothing on eadr"));
    assert!(refused("amf", "l1.ways", "4").contains("it acts on intel, "));
    assert!(refused("intel", "os.cores", "4").contains("it acts on unified, amf"));
    assert!(refused("amf", "nand.dies", "4").contains("does nothing on amf"));
    assert!(refused("ddr5", "memory.drain_line_nj", "4").contains("does nothing on ddr5"));
    assert!(refused("intel", "memory.pm.drain_threshold", "17").contains("would never be reached"));
    // Channels have an order of their own.
    let mut machine = Description::preset("intel").unwrap();
    machine.set("memory.pm.media", "ddr4").unwrap();
    machine.check().unwrap();
    machine.set("memory.pm.drain_threshold", "17").unwrap();
    let text = machine.check().unwrap_err().to_string();
    assert_eq!(
        text,
        "memory.pm.drain_threshold: does nothing on intel with memory.pm.media = ddr4; it acts with memory.pm.media = fixed"
    );
    // Where it would with other values of other keys.
    let text = refused("intel", "nand.retries", "4");
    assert!(text.contains("it acts on nvdimmc-poc, ") && text.ends_with("with nand.bit_errors!=0"), "{text}");
    assert!(refused("intel", "memory.cxl.switch_ns", "4").contains("cxl-expander"));
    assert!(refused("amf", "nvdimm.slots_mib", "4").ends_with(", amf@nvdimmc"));
    let text = refused("compose-nvdimmc-pm", "memory.controllers", "4");
    assert!(text.contains("give memory.1.controllers; it acts on intel, "), "{text}");
    assert_eq!(text.matches("compose-nvdimmc-pm").count(), 1, "{text}");
}

#[test]
fn what_a_key_acts_on_follows_from_everything_that_is_set_whatever_the_order() {
    for sets in [
        [("ordering.model", "asap"), ("ordering.eager", "false")],
        [("ordering.eager", "false"), ("ordering.model", "asap")],
    ] {
        let mut machine = Description::preset("intel").unwrap();
        sets.iter().for_each(|(key, value)| machine.set(key, value).unwrap());
        machine.check().unwrap();
    }
}

#[test]
fn what_a_power_failure_costs_is_asked_of_every_machine_that_keeps_something() {
    for machine in ["compose-nearpm-remote", "intel", "nvdimmc-baseline"] {
        let mut machine = Description::preset(machine).unwrap();
        machine.set("memory.drain_line_nj", "5").unwrap();
        machine.check().unwrap();
    }
    // Pages alone have a price of their device's.
    for machine in ["cmmh", "nvdimmc-poc"] {
        assert!(refused(machine, "memory.drain_line_nj", "5").contains("it acts on"), "{machine}");
    }
    let mut machine = Description::preset("nvdimmc-poc").unwrap();
    machine.set("nvdimm.write_queue_survives", "true").unwrap();
    machine.set("memory.drain_line_nj", "5").unwrap();
    machine.check().unwrap();
}

#[test]
fn a_file_names_the_line_and_says_nothing_of_what_it_inherits() {
    let text = "extends = \"asap-rp\"\n[remote]\nlink_ns = 5\n";
    let error = Description::parse("mine", "mine.toml", text).unwrap_err().to_string();
    assert!(error.starts_with("mine.toml:3: remote.link_ns: does nothing on mine; it acts on "), "{error}");
    // The parent's persistency was said of the parent.
    let text = "extends = \"asap-ep\"\n[ordering]\nmodel = \"intel\"\n";
    let machine = Description::parse("mine", "mine.toml", text).unwrap();
    assert!(machine.rows().all(|(param, ..)| param.key != "ordering.persistency"));
}

#[test]
fn a_files_own_choice_is_named_where_it_leaves_no_use_for_a_key() {
    let refused = |text: &str| Description::parse("mine", "mine.toml", text).unwrap_err().to_string();
    let ddr5 = "extends = \"intel\"\n[memory.pm]\nmedia = \"ddr5\"\n";
    let said = "memory.pm.read_ns: does nothing on mine with memory.pm.media = ddr5; it acts with memory.pm.media = fixed";
    assert_eq!(refused(&format!("{ddr5}read_ns = 300\n")), format!("mine.toml:4: {said}"));
    let mut machine = Description::parse("mine", "mine.toml", ddr5).unwrap();
    assert_eq!(machine::does_nothing("memory.pm.read_ns", std::iter::once(&machine)), said);
    machine.set("memory.pm.read_ns", "300").unwrap();
    assert_eq!(machine.check().unwrap_err().to_string(), said);
    let optane = "extends = \"intel\"\n[memory]\nkind = \"optane\"\npm.read_ns = 300\n";
    assert!(
        refused(optane).ends_with("with memory.kind = optane; it acts with memory.kind = pm"),
        "{}",
        refused(optane)
    );
    // The kind is its parent's.
    let mut machine =
        Description::parse("mine", "mine.toml", "extends = \"optane\"\n[cpu]\ncores = 2\n").unwrap();
    machine.set("memory.pm.read_ns", "300").unwrap();
    assert!(machine.check().unwrap_err().to_string().ends_with("it acts with memory.kind = pm"));
}

#[test]
fn every_machine_shows_what_acts_on_it_and_nothing_else() {
    let keys = |name: &str| -> Vec<&str> {
        Description::preset(name).unwrap().rows().map(|(param, ..)| param.key).collect()
    };
    let (intel, asap, amf) = (keys("intel"), keys("asap-rp"), keys("amf"));
    assert!(intel.contains(&"ordering.sfence_blocks") && !asap.contains(&"ordering.sfence_blocks"));
    assert!(asap.contains(&"ordering.recovery_table") && !intel.contains(&"ordering.recovery_table"));
    assert!(amf.contains(&"fusion.design") && amf.contains(&"cpu.ipc") && !amf.contains(&"l1.ways"));
    let everywhere: std::collections::BTreeSet<&str> = PRESETS.iter().flat_map(|p| keys(p.name)).collect();
    // What hangs on a fault or a buffer acts once somebody asks for that.
    let acts = |p: &&params::Param| {
        everywhere.contains(p.key) || p.conditions().any(|c| !c.is_one && everywhere.contains(c.key))
    };
    let nowhere: Vec<&str> = machine::params::MACHINE.iter().filter(|p| !acts(p)).map(|p| p.key).collect();
    assert_eq!(nowhere, [""; 0], "each acts on some machine");
}

#[test]
fn what_a_key_hangs_on_is_a_parameter_and_one_of_its_values() {
    let all = machine::params::MACHINE;
    let hanging = all.iter().flat_map(|p| p.conditions().map(|condition| (p.key, condition)));
    let mut seen = 0;
    for (key, condition) in hanging {
        let on = condition.key;
        let on = all.iter().find(|p| p.key == on).unwrap_or_else(|| panic!("{key} hangs on {on}"));
        condition
            .values
            .split('|')
            .for_each(|v| _ = on.kind.read(v).unwrap_or_else(|e| panic!("{key}: {}={v}: {e}", on.key)));
        seen += 1;
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn a_key_acts_where_what_it_belongs_to_is_there() {
    // A device that nobody asks for anything, a module without NAND or without commands, memory without an agent.
    assert!(refused("nearpm-cpu", "neardata.units", "8").contains("it acts on nearpm-sd"));
    assert!(refused("nvdimmc-baseline", "nvdimm.replacement", "lru").contains("nvdimmc-poc"));
    assert!(refused("nvdimmc-hypothetical", "nvdimm.decode_ns", "9").contains("nvdimmc-poc"));
    assert!(refused("remote-pages", "remote.line_filter_bits", "64").contains("it acts on pberry"));
    assert!(refused("pberry", "remote.write_fault_ns", "9").contains("it acts on remote-pages"));
    // What a measured cost stands for, a machine whose memory is measured, a policy without persistent memory but for device
    // files, one that brings its own swap.
    assert!(refused("amf@curve", "fusion.pm_read_ns", "9").contains("it acts on unified"));
    assert!(refused("amf@curve", "memory.dram.read_ns", "9").contains("does nothing on amf@curve"));
    assert!(refused("dram-swap", "fusion.hidden", "remote").contains("does nothing on dram-swap"));
    assert!(refused("pm-block", "os.swap_gib", "9").contains("does nothing on pm-block"));
    // Another policy's.
    assert!(refused("amf", "os.promote_mib", "9").contains("does nothing on amf"));
    assert!(refused("tiering", "fusion.section_ns", "9").contains("it acts on amf"));
    // Wires between what is not there, fences of buffers that a battery keeps, a kind beside a list of memories.
    assert!(refused("intel", "wires.core_core_ns", "9").contains("asap-rp"));
    assert!(refused("hops-rp", "wires.core_core_ns", "9").contains("asap-rp"));
    assert!(refused("eadr", "wires.core_controller_ns", "9").contains("asap-rp"));
    assert!(refused("eadr", "memory.pm.acknowledge_ns", "9").contains("asap-rp"));
    assert!(refused("eadr@optane", "memory.optane.acknowledge_ns", "9").contains("optane"));
    assert!(refused("asap-rp", "cpu.write_combining", "9").contains("intel"));
    assert!(refused("eadr", "cpu.outstanding_writes", "9").contains("intel"));
    assert!(refused("nvdimmc-poc", "nand.retries", "9").contains("it acts with nand.bit_errors!=0"));
    assert!(
        refused("intel", "memory.pm.buffer_read_ns", "9").contains("it acts with memory.pm.buffer_blocks!=0")
    );
    assert!(refused("bbb", "ordering.sfence", "ofence").contains("asap-rp"));
    for persist_path in ["strandweaver", "nearpm-md@asap", "compose-asap-pm-nearpm"] {
        assert!(refused(persist_path, "ordering.sfence_blocks", "stores").contains("it acts on intel"));
    }
    assert!(
        refused("compose-bbb-two-media", "memory.kind", "nvdimmc")
            .contains("does nothing on compose-bbb-two-media")
    );
}

#[test]
fn what_hangs_on_a_fault_or_on_another_choice_is_refused_without_it() {
    let refused = |machine: &str, key: &str, with: &str| {
        let text = refused(machine, key, "9");
        assert!(text.contains("does nothing on") && text.contains(with), "{text}");
    };
    refused("cxl-expander", "memory.cxl.switch_ns", "it acts with memory.cxl.switches!=0");
    refused(
        "pberry",
        "remote.fault.late_ns",
        "remote.fault.late_one_in!=0 or remote.fault.duplicate_one_in!=0",
    );
    refused("pberry", "remote.fault.away_from_ns", "remote.fault.away_to_ns!=0");
    refused("pberry", "remote.retry_ns", "remote.fault.lose_one_in!=0 or ");
    refused("remote-pages", "remote.attempts", "remote.kind=lines and remote.fault.lose_one_in!=0");
    refused("pberry", "remote.give_up_ns", "it acts on remote-pages");
    refused("pberry", "remote.deadline_ns", "remote.page_table!=whole-page");
    refused("remote-pages", "remote.deadline_ns", "remote.page_table!=whole-page");
    refused("remote-pages", "remote.prefetch_pages", "it acts with remote.prefetch!=none");
    refused("remote-pages", "remote.protect_page_ns", "remote.protect_ns!=0");
    refused("remote-pages", "remote.copy_line_ns", "remote.use!=none");
    refused("pberry", "remote.cpu_after", "remote.cpu_kib!=0");
    for key in ["channels", "dies", "program_ns", "erase_ns", "transfer_ns"] {
        refused("nvdimmc-poc@pram", &format!("nand.{key}"), "it acts on nvdimmc-poc");
    }
    refused("ppa", "ordering.flush_timer_ns", "it acts on hops-ep");
    refused("amf", "os.watermark_scale", "it acts on hotplug");
}

#[test]
fn what_another_key_makes_useless_is_refused_with_that_key() {
    let refused = |machine: &str, sets: [(&str, &str); 2]| {
        let mut machine = Description::preset(machine).unwrap();
        sets.iter().for_each(|(key, value)| machine.set(key, value).unwrap());
        machine.check().unwrap_err().to_string()
    };
    // Channels have times of their own.
    for key in ["memory.pm.read_ns", "memory.pm.read_service_ns", "memory.pm.write_service_ns"] {
        let text = refused("intel", [("memory.pm.media", "ddr4"), (key, "9")]);
        assert_eq!(
            text,
            format!(
                "{key}: does nothing on intel with memory.pm.media = ddr4; it acts with memory.pm.media = fixed"
            )
        );
    }
    for key in ["memory.dram.read_ns", "memory.dram.service_ns"] {
        let text = refused("asap-rp", [("memory.dram.media", "ddr4"), (key, "9")]);
        assert!(text.ends_with("it acts with memory.dram.media = fixed"), "{text}");
    }
    let text = refused("nvdimmc-poc", [("nand.channels", "4"), ("nand.media", "fixed")]);
    assert!(text.ends_with("with nand.media = fixed; it acts with nand.media = z-nand"), "{text}");
}

#[test]
fn lines_are_shared_where_a_memory_has_two_controllers() {
    let set = |sets: &[(&str, &str)]| {
        let mut machine = Description::preset("intel").unwrap();
        sets.iter().for_each(|(key, value)| machine.set(key, value).unwrap());
        machine.check().map_err(|e| e.to_string())
    };
    let (one, dram) = (("memory.controllers", "1"), ("memory.dram.controllers", "1"));
    let interleave = ("memory.interleave_bytes", "512");
    assert!(
        set(&[one, dram, interleave])
            .unwrap_err()
            .starts_with("memory.interleave_bytes: does nothing on intel")
    );
    for sets in [[one, interleave], [dram, interleave]] {
        set(&sets).unwrap();
    }
    let text = "extends = \"intel\"\n[[memory]]\nkind = \"pm\"\ncontrollers = 1\ninterleave_bytes = 512\n";
    let error = Description::parse("mine", "mine.toml", text).unwrap_err().to_string();
    assert!(
        error.contains("memory 0 (pm): memory.interleave_bytes: does nothing on a memory of one"),
        "{error}"
    );
}

#[test]
fn what_does_nothing_on_one_memory_of_a_list_is_refused_with_what_it_acts_on() {
    let refused = |keys: &str| {
        let text = format!("extends = \"intel\"\n[[memory]]\nkind = \"pm\"\n{keys}\n");
        Description::parse("mine", "mine.toml", &text).and_then(|m| m.check()).unwrap_err().to_string()
    };
    assert!(refused("remote.link_ns = 4").contains("on a memory of this kind; it acts on remote"));
    assert!(refused("pm.buffer_read_ns = 4").contains("here; it acts with memory.pm.buffer_blocks!=0"));
    assert!(refused("cpu.cores = 4").contains("it is the machine's, give it beside the list"));
    assert!(refused("cxl.lanes = 4").contains("here; it acts with memory.link=cxl"));
}

/// A slow network is no reason to be told of a key that does nothing.
#[test]
fn a_request_is_late_only_where_something_can_be_late() {
    let mut machine = Description::preset("pberry").unwrap();
    machine.set("remote.network_byte_ns", "5").unwrap();
    machine.check().unwrap();
    machine.set("remote.fault.lose_one_in", "1000").unwrap();
    assert!(
        machine.check().unwrap_err().to_string().contains("remote.retry_ns = 20000: a page takes 23510 ns")
    );
}

#[test]
fn a_memorys_own_time_of_a_store_to_its_registers_acts() {
    let time = |store: &str| {
        let mut machine = Description::preset("compose-nearpm-remote").unwrap();
        machine.set("memory.0.neardata.store_ns", store).unwrap();
        let mut workload = machine::WorkloadDescription::named("tatp").unwrap();
        workload.set("workload.operations", "40").unwrap();
        machine::run(&machine, &workload, &Default::default()).unwrap().time
    };
    assert!(time("2000") > time("27"));
}

#[test]
fn a_memory_has_a_size_or_a_share() {
    let text = "extends = \"intel\"\n[[memory]]\nkind = \"pm\"\nsize = \"1 MiB\"\nshare = 3\n[[memory]]\nkind = \"pm\"\n";
    let error = Description::parse("mine", "mine.toml", text).unwrap_err().to_string();
    assert!(error.contains("has a size and a share"), "{error}");
}

#[test]
fn what_one_memory_of_a_list_cannot_have_is_refused_there_and_beside_the_list() {
    for (machine, kind) in [("compose-nvdimmc-x2", "nvdimmc"), ("compose-nearpm-remote", "remote")] {
        let index = usize::from(kind == "remote");
        let said = refused(machine, &format!("memory.{index}.controllers"), "7");
        assert!(
            said.contains(&format!("memory {index} ({kind}): memory.controllers: does nothing")),
            "{said}"
        );
        assert!(refused(machine, "memory.controllers", "4").contains("does nothing on"), "{machine}");
    }
    assert!(refused("lrp", "wires.core_core_ns", "5").contains("does nothing on lrp"));
}

#[test]
fn what_every_memory_of_a_list_says_itself_the_machine_does_not_show() {
    let text = |second: &str| {
        format!(
            "extends = \"intel\"\n[[memory]]\nkind = \"pm\"\npm.read_ns = 100\n[[memory]]\nkind = \"pm\"\n{second}"
        )
    };
    let shows = |text: &str| {
        let machine = Description::parse("mine", "mine.toml", text).unwrap();
        machine.rows().any(|(param, ..)| param.key == "memory.pm.read_ns")
    };
    assert!(shows(&text("")) && !shows(&text("pm.read_ns = 200\n")));
}

#[test]
fn a_list_of_one_memory_says_how_many_controllers_it_has() {
    for (kind, extends) in [("nvdimmc", "nvdimmc-poc"), ("remote", "intel")] {
        let text = format!("extends = \"{extends}\"\n[[memory]]\nkind = \"{kind}\"\ncontrollers = 1\n");
        Description::parse("mine", "mine.toml", &text).unwrap().check().unwrap();
    }
}

const TWO: &str =
    "extends = \"nvdimmc-poc\"\n[[memory]]\nkind = \"nvdimmc\"\n[[memory]]\nkind = \"pm\"\ncontrollers = 1\n";

#[test]
fn what_each_memory_says_itself_is_refused_of_the_machine_with_the_key_to_give_and_the_machines() {
    let text = refused("compose-nvdimmc-pm", "memory.controllers", "2");
    assert!(
        text.starts_with(
            "memory.controllers: does nothing on compose-nvdimmc-pm, where memories have their own: give memory.1.controllers; it acts on intel, "
        ),
        "{text}"
    );
    // A machine's file says as much, with the line.
    let mine = "extends = \"compose-nvdimmc-pm\"\n[memory]\ncontrollers = 2\n";
    let error = Description::parse("mine", "mine.toml", mine).unwrap_err().to_string();
    assert!(error.starts_with("mine.toml:3: memory.controllers: does nothing on mine, where"), "{error}");
    let mut machine = Description::parse("mine", "mine.toml", TWO).unwrap();
    machine.set("memory.1.controllers", "2").unwrap();
    machine.check().unwrap();
    // Where one memory leaves it to the machine, what is said of the machine is said of all.
    let mut machine = Description::preset("compose-bbb-two-media").unwrap();
    machine.set("memory.controllers", "3").unwrap();
    machine.check().unwrap();
    assert!(machine.memory_rows().iter().all(|row| !row.key.ends_with(".controllers")));
}

#[test]
fn what_one_memory_cannot_have_is_refused_with_the_machines_on_which_it_acts() {
    for (machine, key, begins) in [
        (
            "compose-nvdimmc-x2",
            "memory.0.controllers",
            "memory 0 (nvdimmc): memory.controllers: does nothing on one of several memories of this kind; it acts on intel, ",
        ),
        (
            "compose-nearpm-remote",
            "memory.0.controllers",
            "memory 0 (nearpm): memory.controllers: does nothing on a memory of this kind; it acts on pm, ddr4, ddr5; of machines it acts on intel, ",
        ),
    ] {
        let text = refused(machine, key, "2");
        assert!(text.starts_with(begins), "{text}");
    }
}

#[test]
fn a_choice_that_makes_a_memorys_own_keys_useless_is_blamed_and_the_way_out_named() {
    let text = refused("compose-bbb-two-media", "memory.pm.media", "ddr4");
    assert_eq!(
        text,
        "memory.pm.media = ddr4: memory 1 (pm) has pm.read_ns, pm.write_service_ns of its own, which act with memory.pm.media = fixed; say it of other memories alone (memory.N.pm.media), or take a file whose [[memory]] leaves that away"
    );
    let mut machine = Description::preset("compose-bbb-two-media").unwrap();
    machine.set("memory.0.pm.media", "ddr4").unwrap();
    machine.check().unwrap();
    let text = refused("compose-bbb-two-media", "memory.1.pm.media", "ddr4");
    assert_eq!(
        text,
        "memory 1 (pm): memory.pm.read_ns: does nothing with memory.pm.media = ddr4; it acts with memory.pm.media = fixed"
    );
    let text = refused("compose-bbb-two-media", "ordering.model", "eadr");
    assert_eq!(
        text,
        "ordering.model = eadr: memory 1 (pm) has pm.acknowledge_ns of its own, which acts with ordering.model = bbb; take a file whose [[memory]] leaves that away"
    );
}

#[test]
fn a_source_of_what_does_nothing_is_refused_with_its_line() {
    let parse = |text: &str| Description::parse("mine", "mine.toml", text).map_err(|e| e.to_string());
    let text = "extends = \"intel\"\n[sources]\n\"memory.pm.read_ns\" = \"measured: here\"\n\"remote.link_ns\" = \"measured: here\"\n";
    let error = parse(text).unwrap_err();
    assert!(
        error.starts_with(
            "mine.toml:4: sources: remote.link_ns: does nothing on mine; it acts on remote-pages, pberry"
        ),
        "{error}"
    );
    // What memories of a list say themselves has a source too.
    parse(&format!("{TWO}[sources]\n\"memory.controllers\" = \"measured: here\"\n")).unwrap();
}

/// Each was shown and did nothing: no page of lines is ever away but after a fault of the network, another controller acknowledges,
/// and DRAM alone has no dump.
#[test]
fn what_another_part_decides_is_not_shown() {
    for (machine, key, value) in [
        ("pberry", "remote.fault_ns", "9"),
        ("optane-memory-mode", "memory.ddr.acknowledge_ns", "9"),
        ("nvdimmc-baseline", "nvdimm.battery_uj", "9"),
        ("nvdimmc-hypothetical", "nvdimm.dump_page_uj", "9"),
        ("nvdimmc-baseline", "nvdimm.write_queue_survives", "true"),
    ] {
        assert!(refused(machine, key, value).contains(&format!("does nothing on {machine}")), "{key}");
    }
    for key in ["memory.ddr.acknowledge_ns", "memory.ddr.controller_ns"] {
        for machine in ["cascade-lake", "ddr5", "nvdimmc-poc", "cmmh"] {
            assert!(Description::preset(machine).unwrap().acts(key), "{key} on {machine}");
        }
    }
    let mut machine = Description::preset("intel").unwrap();
    machine.set("memory.pm.media", "ddr4").unwrap();
    assert!(machine.acts("memory.ddr.controller_ns") && !machine.acts("memory.ddr.acknowledge_ns"));
    let mut machine = Description::preset("pberry").unwrap();
    machine.set("remote.fault.lose_one_in", "1000").unwrap();
    assert!(machine.acts("remote.fault_ns"));
}
