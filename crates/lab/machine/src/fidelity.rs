//! What a machine is simulated by: lines, by the engine, or what a simulator of its own simulates.

use crate::describe::Description;
use crate::registry::SIMULATORS;
use ::params::{FromSetting, Kind, Parameters, Plain, Setting};
use simulator::{Registered, Simulator};

/// The simulator of a machine; none of one at line fidelity.
#[derive(Clone, Copy)]
struct Fidelity(Option<&'static Registered>);

/// The word of machines that the engine runs.
const LINE: &str = "line";

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

impl Description {
    /// What its machine is simulated by, as a registry has it; none of one at line fidelity.
    pub(crate) fn registered(&self) -> Option<&'static Registered> {
        FidelityParameters::from_settings(&self.settings).fidelity.0
    }

    /// What its machine is simulated by; none of one at line fidelity, which the engine runs.
    pub fn simulator(&self) -> Option<&'static dyn Simulator> {
        self.registered().map(|registered| registered.simulator)
    }

    /// Its word of `machine.fidelity`.
    pub fn fidelity(&self) -> &'static str {
        self.registered().map_or(LINE, |registered| registered.word)
    }

    /// Whether it is a machine at line fidelity.
    pub fn is_line(&self) -> bool {
        self.registered().is_none()
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
