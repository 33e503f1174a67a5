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

/// A machine at line fidelity that is measured for one of a simulator, and which of its keys act on that one.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The machine.
    pub machine: &'static str,
    /// Prefixes of the keys.
    pub own: &'static [&'static str],
    /// Keys with such a prefix that no time hangs on: what a power failure takes, or what measuring runs set themselves.
    pub but: &'static [&'static str],
}

impl Measured {
    /// Whether a description may give the key.
    pub fn asks(&self, key: &str) -> bool {
        self.own.iter().any(|prefix| key.starts_with(prefix)) && !self.but.contains(&key)
    }
}

/// A run at line fidelity that measures what memory costs.
#[derive(Clone, Debug)]
pub struct Probe<'a> {
    /// The machine, and the keys that it takes from the description, where the user has set them.
    pub of: Measured,
    /// Keys of it that are set in any case.
    pub machine_sets: Vec<(&'a str, String)>,
    /// The workload.
    pub workload: &'a str,
    /// Its parameters, without their prefix.
    pub workload_sets: Vec<(&'a str, String)>,
}
