//! Memory that several hosts share, and that nothing keeps coherent between them (CXL without back-invalidation), and what
//! finds mistakes in programs for it.
//!
//! ```text
//!   program -> host 0: caches --\                              every load is asked: did its host know of newer bytes?
//!   program -> host 1: caches ----> links -> device (stays)    every store: does anybody else's write-back destroy it?
//!   program -> host 2: caches --/                              at the end: the program's own check of the device
//!                 ^ pauses, evictions, slow flushes, a stop, lost links and power: drawn by seed, then made as few as still show the mistake
//! ```
//!
//! Modelled: the bytes of each line in each host's caches, so that a stale read returns stale bytes and a write-back of a
//! line overwrites all of it; flush instructions that leave the line on its way until a fence; stores past the caches;
//! evictions at any time; a host that stops, whose caches and writes under way are lost; a link that fails and comes back,
//! which delays, or does not, which fences its host off; power that fails of all hosts and of the device, with what a global
//! persistent flush saves in its two phases; lines that hardware keeps coherent (back-invalidate); time of links, device,
//! flushes and fences, in picoseconds.
//!
//! Programs are those of `workloads`, or recorded ones, a process for each host: what a recording's loads would have missed.
//!
//! Not modelled: store buffers of cores, which only other cores of their host would see; a fill of the device's own queues; hosts that come back; atomic operations across hosts.
//!
//! Sources: CXL specification 3.1, sections on HDM-D and HDM-DB; Assa et al. (CXL0, ASPLOS 2026) for what a crash of one
//! host leaves; the CXL driver of Linux 6.15 for global persistent flush; vector clocks as in FastTrack (PLDI 2009).
#![forbid(unsafe_code)]

mod checked;
mod cut;
mod cuts;
mod device;
mod explore;
mod finding;
mod forget;
mod judge;
mod link;
mod looks;
mod lost_link;
mod mutant;
mod params;
mod port;
#[cfg(test)]
mod power_tests;
mod ranges;
mod recorded;
mod recording;
mod replay;
mod run;
mod schedule;
mod search;
mod shadow;
mod simulator;
mod smallest;
mod source_line;
mod state;
mod stats;
#[cfg(test)]
mod tests;
mod world;

pub use self::simulator::{SIMULATOR, searched};
pub use device::{PostCrashState, Reach};
pub use finding::{Finding, Kind, Side};
pub use link::Use;
pub use mutant::Mutant;
pub use params::PersistentFlush;
pub use ranges::CoherentRanges;
pub use recorded::{Access, Act, Recorded};
pub use replay::{check_recorded, replay};
pub use run::{Ran, check, run};
pub use schedule::{Accesses, Happens, What};
pub use search::{Found, Outcome, Search};
pub use source_line::SourceLine;
pub use state::{Keep, State};
pub use world::Step;

use ::explore::Harness;
use ::params::{Param, Parameters, StatisticInfo};
use plug::System;

/// Every parameter of hosts and of what they share.
const PARAMETERS: &[Param] = params::SharedParameters::TABLE;

/// Every statistic.
const STATISTICS: &[&[StatisticInfo]] = stats::STATISTICS;

/// Hosts that share memory.
pub const SYSTEM: System = System {
    parameters: &[PARAMETERS],
    groups: &[("shared", "hosts that share memory")],
    renamed: &[("shared.coherent_lines", "shared.coherent_ranges")],
    statistics: STATISTICS,
    protocols: &[Harness::of::<explore::SharedSpace>()],
    ..System::NOTHING
};
