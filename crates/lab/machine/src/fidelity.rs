//! What a machine is simulated by: lines, by the engine, or what a simulator of its own simulates.

use crate::registry::SIMULATORS;
use ::params::{Parameters, Words};
use protocol::Settings;
use simulator::{Fidelity, Registered};

/// Each fidelity but the engine's has a simulator.
const _: () = assert!(SIMULATORS.len() + 1 == Fidelity::ALL.len());

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
    /// What a machine's settings name.
    pub(crate) fn fidelity(settings: &Settings) -> Fidelity {
        FidelityParameters::from_settings(settings).fidelity
    }

    /// The simulator of that, as the registry has it; none at line fidelity.
    pub(crate) fn registered(settings: &Settings) -> Option<&'static Registered> {
        let fidelity = FidelityParameters::fidelity(settings);
        SIMULATORS.iter().find(|simulator| simulator.fidelity == fidelity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_says_what_each_word_means() {
        let row = FidelityParameters::TABLE[0];
        for word in Fidelity::WORDS {
            assert!(row.meaning.contains(&format!("{word}: ")), "{word}");
            assert!(row.kind.read(word).is_ok());
        }
    }

    #[test]
    fn each_fidelity_has_a_simulator_and_one_has_the_engine() {
        for fidelity in Fidelity::ALL {
            let simulators = SIMULATORS.iter().filter(|simulator| simulator.fidelity == *fidelity).count();
            assert_eq!(simulators, usize::from(*fidelity != Fidelity::Line), "{fidelity:?}");
        }
    }
}
