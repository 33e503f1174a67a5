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
fn every_machine_shows_what_acts_on_it_and_nothing_else() {
    let keys = |name: &str| -> Vec<&str> {
        Description::preset(name).unwrap().rows().map(|(param, ..)| param.key).collect()
    };
    let (intel, asap, amf) = (keys("intel"), keys("asap-rp"), keys("amf"));
    assert!(intel.contains(&"ordering.sfence_blocks") && !asap.contains(&"ordering.sfence_blocks"));
    assert!(asap.contains(&"ordering.recovery_table") && !intel.contains(&"ordering.recovery_table"));
    assert!(amf.contains(&"fusion.design") && amf.contains(&"cpu.ipc") && !amf.contains(&"l1.ways"));
    let everywhere: std::collections::BTreeSet<&str> = PRESETS.iter().flat_map(|p| keys(p.name)).collect();
    let nowhere: Vec<&str> =
        machine::params::MACHINE.iter().map(|p| p.key).filter(|key| !everywhere.contains(key)).collect();
    assert_eq!(nowhere, [""; 0], "each acts on some machine");
}
