//! Machines at line fidelity, for simulators that have costs measured on them.

use crate::Error;
use units::Dur;

/// Whoever can run machines at line fidelity.
pub trait LineFidelity {
    /// The time of a run.
    ///
    /// # Errors
    /// When the machine's description does not hold together, or its run breaks a promise.
    fn time(&self, probe: &Probe<'_>) -> Result<Dur, Error>;
}

/// A run at line fidelity that measures what memory costs.
#[derive(Clone, Debug)]
pub struct Probe<'a> {
    /// The machine.
    pub machine: &'a str,
    /// Prefixes of keys that it takes from the description, where the user has set them.
    pub own: &'a [&'a str],
    /// Keys of it that are set in any case.
    pub machine_sets: Vec<(&'a str, String)>,
    /// The workload.
    pub workload: &'a str,
    /// Its parameters, without their prefix.
    pub workload_sets: Vec<(&'a str, String)>,
}
