//! Power failures at many instants of one run: what recovery makes of what each would leave.

use crate::Task;
use params::Settings;
use units::{Dur, Time};

/// When the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instants {
    /// After every so many writes that are sent to memory.
    Writes(u64),
    /// After every so many accesses.
    Accesses(u64),
    /// At most `most` times in a run of so many accesses, at places that do not fall into step with a loop; its end is
    /// one of them.
    Among {
        /// Accesses of the run.
        accesses: u64,
        /// Power failures.
        most: u64,
    },
    /// Once.
    At(Time),
}

/// What recovery does not cope with.
#[derive(Clone, Debug)]
pub struct Broken {
    /// What it is.
    pub message: String,
    /// The same of two that are the same mistake.
    pub mark: String,
}

/// A power failure.
#[derive(Clone, Debug)]
pub struct PowerFailure {
    /// When.
    pub at: Time,
    /// Operations that each host had ended.
    pub ended: Vec<u64>,
    /// What recovery does not cope with.
    pub broken: Option<Broken>,
    /// Lines that stored energy has to bring to the media, for nothing to be lost that the machine flushes.
    pub lines: u64,
    /// How much the device's count of dirty shutdowns went up.
    pub dirty_shutdowns: u64,
}

/// What a run was besides.
#[derive(Clone, Debug)]
pub struct Whole {
    /// How long it took.
    pub time: Dur,
    /// Accesses of all programs.
    pub accesses: u64,
    /// What is wrong with the program where no power fails.
    pub broken: Option<String>,
}

/// What power failures leave.
pub trait PowerFailures: Sync {
    /// Runs programs, nothing happening besides, and shows what a power failure would leave at many instants. `visit` says whether
    /// to go on.
    ///
    /// # Errors
    /// When programs do not fit the machine.
    fn cut(
        &self,
        task: &Task<'_>,
        instants: Instants,
        visit: &mut dyn FnMut(PowerFailure) -> bool,
    ) -> Result<Whole, String>;

    /// The energy, in nanojoules, that a power failure takes for each line that the machine has to save.
    fn drain_line_nj(&self, settings: &Settings) -> u64;
}
