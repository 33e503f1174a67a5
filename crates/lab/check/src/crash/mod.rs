//! Crash images of whole programs: which a persistency model allows, whether recovery copes, and if not, why.
//!
//! ```text
//!   program --log--> stores, flushes, fences --persist--> what is persisted, what is in flight
//!                                                  |
//!          recovery reads a line with stores in flight: every choice that the model allows (images)
//!                                                  |
//!                     a failing image is made smaller and explained (why); the persistence lint looks at the log alone
//! ```
//!
//! Modelled: x86 (a line's stores persist in order, or each word on its own), epoch and release persistency
//! (releases that order both ways, or one), strict persistency (persistent caches). A program is taken in one interleaving of its threads, an access at a
//! time in turn. Only lines that recovery reads multiply, as in Jaaru (ASPLOS 2021).
//!
//! Not modelled: stores that are still in a store buffer (a crash before them is a crash earlier in the log).

mod candidate;
mod classes;
#[cfg(test)]
mod classes_tests;
mod cuts;
mod epochs;
mod facts;
mod files;
mod fixed;
mod grouped;
mod images;
#[cfg(test)]
mod images_tests;
mod in_flight;
mod known;
mod log;
mod made_folders;
mod named;
mod pages;
mod persistence_lint;
mod races;
mod recorded;
mod small;
mod timed;
mod torn;
mod unit;
mod whole;
#[cfg(test)]
mod whole_tests;
mod why;

pub use candidate::{Candidate, Outcome, Verdict};
pub use facts::{Facts, FileFacts, Gap, GapKind};
pub use files::{Change, FileState, What};
pub use fixed::Check;
pub use images::{Bounds, Failure, Progress, Reads, Search, says_the_same, search};
pub use in_flight::Tracker;
pub use log::{Event, Kind, Log, MOST_EVENTS, Mark, SiteId, of_beginning, of_program};
pub use named::Named;
pub use pages::PageBytes;
pub use persistence_lint::{Finding, persistence_lint};
pub use protocol::Persistency;
pub use races::{Race, races, recorded_races};
pub use recorded::{Recorded, of_trace};
pub use timed::{
    Resumed, SoFar, Timed, TimedFailure, Whole, WholeCheck, by_writes, spread, timed, timed_on, timed_whole,
};
pub use unit::{METADATA, Unit};
pub use whole::search_whole;
pub use why::{Explanation, Replay, StoreNote};
