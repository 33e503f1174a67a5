//! PMEM-Spec: strict persistency by speculation; what was read too early is found at the controller, and its core goes back.
//!
//! ```text
//!   stores -> caches --evicted line: bytes dropped, watched--> controller: speculation buffer <--Read-- caches
//!      \-> persist path, in order --Flush, no fence-----------^      |
//!   core: goes back to its checkpoint <--Misread, Recalled-----------+  evicted, read, and then the store comes
//! ```
//!
//! Modelled: a path beside the caches that takes every store in order, as it becomes visible; evicted lines whose bytes are dropped and
//! whose address is watched for as long as a store can be under way; a read of such a line, and then a store to it that arrives:
//! the read was too early. The core whose store it was is interrupted, the line is taken out of every cache, the core takes its region's
//! stores back and carries the region out once more.
//!
//! Ours, where the sources are silent or a simulator has to choose: the page `docs/models/pmem-spec.md` has the table. In short: a
//! region ends at a release, a locked operation or a dfence, each of which waits until every store of its core is durable, so that
//! nobody sees what may be taken back and stores of two critical sections never come in the wrong order; a read that is too early is
//! given the right bytes, so that a program never runs down a wrong way; with several controllers a store waits on the path until
//! those to others are acknowledged.
//!
//! Not modelled: identifiers of critical sections, which find stores that come in the wrong order and have nothing to find here;
//! the log of a failure-atomic region, which programs bring themselves; more than one process.
//!
//! Source: Jeong and Jung, PMEM-Spec: Persistent Memory Speculation, ASPLOS 2021.

mod controller;
mod core;
mod explore;
mod mutant;
mod params;
mod plug;
mod stats;

#[cfg(test)]
mod tests;

pub use controller::SpeculationBuffer;
pub use core::SpecCore;
pub use explore::SpecSpace;
pub use mutant::Mutant;
pub use params::SpecParameters;
pub use plug::MODEL;
