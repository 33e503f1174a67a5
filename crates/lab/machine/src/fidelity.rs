//! What a machine is simulated by: lines, by the engine, or what a simulator of its own simulates.

use crate::registry::SIMULATORS;
use ::params::{FromSetting, Kind, Parameters, Plain, Setting};
use protocol::Settings;
use simulator::Registered;

/// The simulator of a machine; none of one at line fidelity.
#[derive(Clone, Copy)]
struct Fidelity(Option<&'static Registered>);

/// The word of machines that the engine runs.
pub(crate) const LINE: &str = "line";

const WORDS: &[&str] = &{
    let mut words = [LINE; SIMULATORS.len() + 1];
    let mut n = 0;
    while n < SIMULATORS.len() {
        words[n + 1] = SIMULATORS[n].word;
        n += 1;
    }
    words
};

impl FromSetting for Fidelity {
    fn from_setting(setting: &Setting) -> Option<Fidelity> {
        let word = setting.as_text()?;
        let simulator = SIMULATORS.iter().find(|simulator| simulator.word == word);
        (simulator.is_some() || word == LINE).then_some(Fidelity(simulator))
    }
}

impl Plain for Fidelity {
    const KIND: Kind = Kind::Choice(WORDS);
}

/// What a machine is simulated by.
#[derive(Parameters)]
#[parameters(prefix = "machine")]
pub(crate) struct FidelityParameters {
    /// line: cores, caches, every line of 64 B; page: visits of pages, for footprints of hundreds of GB; hosts: several hosts
    /// that share memory
    #[param(default = "line", source = "open line: what is asked of a machine, lines, pages or hosts")]
    fidelity: Fidelity,
}

impl FidelityParameters {
    /// The simulator that a machine's settings name, as a registry has it; none at line fidelity.
    pub(crate) fn registered(settings: &Settings) -> Option<&'static Registered> {
        FidelityParameters::from_settings(settings).fidelity.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_says_what_each_word_means() {
        let row = FidelityParameters::TABLE[0];
        for word in WORDS {
            assert!(row.meaning.contains(&format!("{word}: ")), "{word}");
            assert!(row.kind.read(word).is_ok());
        }
    }
}
