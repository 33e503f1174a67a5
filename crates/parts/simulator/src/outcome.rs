//! What a run came to.

use params::Tally;
use units::Dur;

/// What was counted.
#[derive(Clone, Debug)]
pub enum Counted {
    /// Statistics by name, with all that follows from them.
    Whole(Vec<(&'static str, f64)>),
    /// Counts of so many cores, of which statistics are made as at line fidelity, and what the cores waited for.
    OfCores(Tally, usize, Waits),
}

/// What cores waited for, summed over them; the rest of their time they computed.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// Lines of memory.
    pub memory: Dur,
    /// Flushes and fences.
    pub fences: Dur,
    /// The last of them to end.
    pub idle: Dur,
}

/// What was seen over time: columns as long as the first.
#[derive(Clone, Debug)]
pub struct Series {
    /// Seconds since boot.
    pub seconds: Vec<f64>,
    /// Names with units last, and values.
    pub columns: Vec<(&'static str, Vec<f64>)>,
}

/// What a run says.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// From start to the last program's end.
    pub time: Dur,
    /// What programs did: loads and stores, or visits of pages.
    pub references: u64,
    /// Steps of the simulator.
    pub events: u64,
    /// What was counted.
    pub counted: Counted,
    /// Operations by kind: name, how many, from the first one's beginning to the last one's end.
    pub phases: Vec<(String, u64, Dur)>,
    /// What was seen over time, where something was.
    pub series: Option<Series>,
}

/// Why a run gives no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Bad input.
    Config(String),
    /// A promise was broken.
    Violation(String),
}
