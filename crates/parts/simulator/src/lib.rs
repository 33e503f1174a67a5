//! What a simulator of machines declares once, in its own folder, and what a description's machine asks of it. Machines at line
//! fidelity are wired from parts and run by the engine; a simulator has its own way from programs to what they did, and its
//! machines say so by `machine.fidelity`.
//!
//! Architecture Invariant: nothing here, and nothing that hands programs to simulators, knows the name of one.
#![forbid(unsafe_code)]

mod lines;
mod outcome;
mod power;
mod task;

pub use lines::{LineFidelity, Measured, Probe};
pub use outcome::{Counted, Error, Outcome, Series, Waits};
pub use power::{Broken, Instants, PowerFailure, PowerFailures, Whole};
pub use task::{Fidelity, Task, Work};

use params::{Param, Settings, StatisticInfo};
use plug::System;

/// A simulator as a registry has it.
#[derive(Clone, Copy)]
pub struct Registered {
    /// What its machines say in `machine.fidelity`.
    pub fidelity: Fidelity,
    /// What else is declared of it.
    pub system: &'static System,
    /// What it does.
    pub simulator: &'static dyn Simulator,
}

/// What machines of one fidelity are simulated by.
pub trait Simulator: Sync {
    /// What it simulates, for people, where machines cannot be compared for it; machines at line fidelity simulate every cache line.
    fn simulates(&self) -> &'static str;

    /// The tables of parameters that act on a machine as `settings` describe it.
    fn tables(&self, settings: &Settings) -> Vec<&'static [Param]>;

    /// Whether a key of these does anything, besides what its own row says.
    fn acts(&self, settings: &Settings, key: &str) -> bool {
        let _ = (settings, key);
        true
    }

    /// The tables of statistics that a run on such a machine reports of itself.
    fn statistics(&self, settings: &Settings) -> Vec<&'static [StatisticInfo]>;

    /// Whether its runs say where the time of cores went, as those of machines at line fidelity do.
    fn tells_waits(&self) -> bool {
        false
    }

    /// Whether parameters fit together.
    ///
    /// # Errors
    /// The key, and what is accepted.
    fn check(&self, settings: &Settings) -> Result<(), String>;

    /// The machine at line fidelity that is measured for such a machine; none where none is.
    fn measured(&self, settings: &Settings) -> Option<Measured> {
        let _ = settings;
        None
    }

    /// Runs programs.
    ///
    /// # Errors
    /// When they do not fit the machine, or a promise was broken.
    fn run(&self, task: &Task<'_>, lines: &dyn LineFidelity) -> Result<Outcome, Error>;

    /// Why the power does not fail in the middle of [`Simulator::run`], and what to do instead.
    fn runs_whole(&self) -> &'static str;

    /// Why no images of a power failure are judged, as those of machines at line fidelity are.
    fn has_no_images(&self) -> &'static str;

    /// What a power failure leaves, in its own terms; none where nothing is kept that it could take.
    fn power(&self) -> Option<&'static dyn PowerFailures> {
        None
    }
}
