//! Which simulator takes a machine.

use crate::describe::Description;
use crate::fidelity::{FidelityParameters, LINE};
use simulator::{Registered, Simulator};

impl Description {
    /// What its machine is simulated by, as a registry has it; none of one at line fidelity.
    pub(crate) fn registered(&self) -> Option<&'static Registered> {
        FidelityParameters::registered(&self.settings)
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
