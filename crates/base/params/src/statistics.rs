//! What a statistic is.

use crate::Tally;

/// A row of the table of statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatisticInfo {
    /// Dotted name.
    pub name: &'static str,
    /// Its unit; `1` for plain numbers and shares.
    pub unit: &'static str,
    /// One line on what it says.
    pub meaning: &'static str,
    /// The head of its column where machines are compared; empty where it has none.
    pub column: &'static str,
    /// The statistics of time (`time.kernel`) that it may be the reason of: it is offered as evidence where two machines
    /// differ in these.
    pub explains: &'static [&'static str],
    /// Whether reports tell it. What only others are derived from is not told.
    pub reported: bool,
    /// Whether a report may be without it, where nothing of the kind has happened.
    pub sometimes: bool,
}

/// A struct whose fields are statistics; derived.
///
/// `#[statistics(prefix = "...")]` on the struct says what stands before each name, and with `sometimes` that who hands it up
/// may leave all of it out; a field's doc comment is the meaning. A `u64` is a count, a `Dur` a time, an [`crate::Occupancy`] three rows (mean, p99, max), whose meanings
/// follow from one ("filling of a persist buffer"), a [`crate::Distribution`] seven (mean, p10 to p99999); the struct gets `hand_up`, which tells a [`crate::StatSink`]. An
/// `Option` of one is `sometimes` too: it is of a part that a machine may lack. A struct of `f64` has what a report computes, and gets `each` instead.
///
/// On a field, `#[stat(..)]` takes `name` where the field's own will not do (with a dot in front, the whole name), `unit`,
/// `most` (the meaning of a level's highest), `column` and `explains` (words separated by spaces) as in [`StatisticInfo`],
/// `unless_zero` (not reported while nothing was counted), `unreported` and `skip`. A level's column is of its mean.
pub trait Statistics {
    /// The rows.
    const TABLE: &'static [StatisticInfo];
}

/// Tells what follows from what was counted: from a tally and the time of all cores together in nanoseconds.
pub type Derive = fn(&Tally, f64, &mut dyn FnMut(&'static str, f64));
