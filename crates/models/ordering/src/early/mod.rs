//! Flushes that leave before they are safe, and controllers that make up for it: what ASAP and cWSP do alike, and whose records Vorpal's controllers keep.
//!
//! ```text
//!   stores -> persist buffer --Flush(safe|early)--> controller: records (undo, delay) -> WPQ
//!                 |    ^-------Ack, Nack-------------|
//!             epoch table ---Commit--> controllers --CommitAck--> committed --CrossDependencyResolved--> cores
//! ```
//!
//! A flush is early when something before its epoch may still be lost. Its controller writes it, and remembers what was there before;
//! or it keeps the flush until the epoch commits. When it has no room for another record it refuses, and the core goes on with
//! what is safe.

mod bloom;
mod core;
pub(crate) mod member;
mod mutant;
mod recovery;
mod spec;
mod stats;

#[cfg(test)]
mod tests;

use crate::path::{BufferParameters, DependenceParameters, EpochParameters, PaceParameters};
use ::memory::params::CommitParameters;
use ::params::{Param, Parameters};

/// The parameters of a path whose commits are messages.
pub(crate) const EARLY: &[&[Param]] = &[
    BufferParameters::TABLE,
    PaceParameters::TABLE,
    EpochParameters::TABLE,
    DependenceParameters::TABLE,
    CommitParameters::TABLE,
];

pub(crate) use bloom::COUNTERS as FILTER_COUNTERS;
pub use core::{Eager, EarlyCore};
pub use member::EarlyMember;
pub use mutant::Mutant;
pub use recovery::{RecoverySpec, RecoveryTable};
pub use spec::EarlySpec;
pub(crate) use stats::{COUNTED, EarlyStats, KeptStats, RecordStats, WITH_RECORDS};
