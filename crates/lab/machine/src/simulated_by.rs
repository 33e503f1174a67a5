//! Which simulator takes a machine.

use crate::describe::Description;
use crate::fidelity::FidelityParameters;
use simulator::{Fidelity, Registered, Simulator};

impl Description {
    /// What its machine is simulated by, as a registry has it; none of one at line fidelity.
    pub(crate) fn registered(&self) -> Option<&'static Registered> {
        FidelityParameters::registered(&self.settings)
    }

    /// What its machine is simulated by; none of one at line fidelity, which the engine runs.
    pub fn simulator(&self) -> Option<&'static dyn Simulator> {
        self.registered().map(|registered| registered.simulator)
    }

    /// What its machine simulates.
    pub fn fidelity(&self) -> Fidelity {
        FidelityParameters::fidelity(&self.settings)
    }

    /// Whether it is a machine at line fidelity.
    pub fn is_line(&self) -> bool {
        self.fidelity() == Fidelity::Line
    }
}
