//! Where the values of every machine that comes with the project come from.

use machine::{Description, PRESETS};
use params::Source;

#[test]
fn every_parameter_of_every_preset_has_one_of_six_sources() {
    let mut wrong = Vec::new();
    for preset in PRESETS {
        let machine = Description::preset(preset.name).unwrap();
        for (param, value, source) in machine.rows() {
            let open = match Source::read(&source) {
                Ok(source) => source.open(),
                Err(why) => {
                    wrong.push(format!("{}: {}: {why}", preset.name, param.key));
                    continue;
                }
            };
            let read = param.kind.read(&value).unwrap();
            if let Some(Err(why)) = open.map(|open| open.among.check(param.kind, &read)) {
                wrong.push(format!("{}: {} = {value} ({source}): {why}", preset.name, param.key));
            }
        }
    }
    for machine in PRESETS.iter().map(|preset| Description::preset(preset.name).unwrap()) {
        for row in machine.memory_rows() {
            if let Err(why) = Source::read(&row.source) {
                wrong.push(format!("{}: {}: {why}", machine.name, row.key));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_end_of_an_open_interval_is_a_machine() {
    let mut wrong = Vec::new();
    for preset in PRESETS {
        let machine = Description::preset(preset.name).unwrap();
        for (param, _, source) in machine.rows() {
            let Some(open) = Source::read(&source).unwrap().open() else { continue };
            for text in open.among.texts() {
                let mut changed = machine.clone();
                changed.set(param.key, text).unwrap();
                if let Err(why) = changed.check() {
                    wrong.push(format!("{}: {} = {text}: {why}", preset.name, param.key));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_source_that_is_none_of_the_six_or_leaves_open_what_cannot_be_is_refused_at_its_line() {
    let parsed = |source: &str| {
        let text = format!(
            "extends = \"intel\"\n[memory]\npm.read_ns = 300\n[sources]\n\"memory.pm.read_ns\" = \"{source}\"\n"
        );
        Description::parse("mine", "mine.toml", &text).map_err(|e| e.to_string())
    };
    for source in ["", "hearsay", "paper", "open", "open 200..400", "guess: 300"] {
        let e = parsed(source).unwrap_err();
        assert!(
            e.starts_with("mine.toml:5: sources: memory.pm.read_ns: ") && e.contains(::params::SOURCES),
            "{e}"
        );
    }
    for (source, why) in [
        ("open ten..five: x", "ten"),
        ("open 10..five: x", "five"),
        ("open 400..200: x", "from the lower value to the higher"),
        ("open 300..300: x", "from the lower value to the higher"),
        ("open 10..200: x", "300 is not among its own 10, 200"),
        ("open 200|400: x", "300 is not among its own 200, 400"),
    ] {
        let e = parsed(source).unwrap_err();
        assert!(e.starts_with("mine.toml:5: sources: memory.pm.read_ns: ") && e.contains(why), "{e}");
    }
    for source in
        ["open 200..400: x", "open 0.2 us..400: x", "open 300: x", "artifact", "fitted to nearpm.micro"]
    {
        assert!(parsed(source).is_ok(), "{source}");
    }
    for (claim, why) in [("asap.speedup.rp: x", "which is marked predict"), ("a.b", "which is no claim")] {
        let e = parsed(&format!("fitted to {claim}")).unwrap_err();
        assert!(
            e.starts_with("mine.toml:5: sources: memory.pm.read_ns: is fitted to ") && e.contains(why),
            "{e}"
        );
    }
}

#[test]
fn what_a_memory_of_a_list_says_itself_is_not_held_against_the_machines_value() {
    let text = "extends = \"intel\"\n[[memory]]\nkind = \"pm\"\nsize = \"64 MiB\"\npm.read_ns = 90\n\
                [[memory]]\nkind = \"pm\"\nshare = 1\npm.read_ns = 80\n[sources]\n\"memory.pm.read_ns\" = \"open 60..100: x\"\n";
    Description::parse("mine", "mine.toml", text).unwrap();
    for other in ["60..ten", "60..85", "1000..2000"] {
        assert!(Description::parse("mine", "mine.toml", &text.replace("60..100", other)).is_err(), "{other}");
    }
}

const TWO: &str = "extends = \"intel\"\n[[memory]]\nkind = \"pm\"\nsize = \"64 MiB\"\npm.read_ns = 90\n\
                   [[memory]]\nkind = \"pm\"\npm.read_ns = 80\n[sources]\n";

#[test]
fn what_a_memory_of_a_list_says_has_a_source_of_its_own() {
    let two = |sources: &str| Description::parse("mine", "mine.toml", &format!("{TWO}{sources}"));
    let sources = |machine: &Description| {
        let rows = machine.memory_rows().into_iter();
        rows.map(|row| (row.key, row.source)).collect::<std::collections::BTreeMap<_, _>>()
    };
    let said = sources(&two("").unwrap());
    assert_eq!((&*said["memory.0.size"], &*said["memory.1.pm.read_ns"]), ("mine.toml", "mine.toml"));
    assert!(said["memory.1.share"].starts_with("open 1: "), "nobody gave it");
    let mut machine = two(
        "\"memory.1.pm.read_ns\" = \"open 40..160: one\"\n\"memory.pm.read_ns\" = \"datasheet: all\"\n\"memory.0.size\" = \"measured: it\"",
    )
    .unwrap();
    let said = sources(&machine);
    assert_eq!(said["memory.0.pm.read_ns"], "datasheet: all");
    assert_eq!(said["memory.1.pm.read_ns"], "open 40..160: one", "what is said of one counts");
    assert_eq!(said["memory.0.size"], "measured: it");
    machine.set_all([("memory.1.pm.read_ns", "70")]).unwrap();
    assert_eq!(sources(&machine)["memory.1.pm.read_ns"], "set by the user");
    for (source, why) in [
        (
            "\"memory.1.pm.read_ns\" = \"open 100..400: x\"",
            "memory.1.pm.read_ns: \"open 100..400: x\": 80 is not among",
        ),
        ("\"memory.1.pm.read_ns\" = \"hearsay\"", "memory.1.pm.read_ns: \"hearsay\" is no source"),
        ("\"memory.1.pm.acknowledge_ns\" = \"paper: x\"", "this memory has no value of its own; give"),
        ("\"memory.1.share\" = \"paper: x\"", "the list says nothing of it"),
        ("\"memory.0.size\" = \"open 1..9: x\"", "is what the list is made of and never varied"),
        ("\"memory.2.pm.read_ns\" = \"paper: x\"", "its memories are 0 to 1"),
        ("\"memory.1.pm.read_nss\" = \"paper: x\"", "this memory has no value of its own"),
    ] {
        let e = two(source).unwrap_err().to_string();
        assert!(e.starts_with("mine.toml:10: ") && e.contains(why), "{source}: {e}");
    }
}
