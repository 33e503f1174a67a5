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
