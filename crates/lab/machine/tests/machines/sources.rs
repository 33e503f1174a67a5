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
    for source in ["open 200..400: x", "open 0.2 us..400: x", "open 300: x", "artifact", "fitted to a.b"] {
        assert!(parsed(source).is_ok(), "{source}");
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
