//! StrandWeaver: a core's persists are ordered within strands, and strands drain side by side.
//!
//! ```text
//!   clwb, ofence, new strand -> persist queue -> strand buffers --WriteBack--> caches -> directory -> WPQ
//!   join, dfence: wait until all are empty        |  |  |  ^---------CleanAck-------------------------|
//! ```
//!
//! Modelled: the persist queue, which takes flushes and barriers in program order; the strand buffers beside the first
//! cache, each of which sends the flushes before its first barrier, and the next ones when these have arrived; new
//! strands, which go to the next buffer; joins; lines that have to wait in their core, whether evicted or asked for by
//! another, until what their last store comes after has arrived, so that persists of several cores are ordered by what
//! they share. A flush of a line that this core has not changed goes to the caches, and fences wait for it there.
//!
//! Where sources are silent: a store to a line whose flush still waits behind a barrier, or on an older strand, waits
//! until the flush has read the line, or the younger bytes would persist before what they come after; a flush of a line
//! with a store of an older strand behind a barrier waits until what is before that barrier has arrived; a strand that
//! finds its buffer in use comes after what is in there.
//!
//! Not modelled: logging by the compiler and its strands; programs draw strands themselves.
//!
//! Source: Gogte et al., Relaxed Persist Ordering Using Strand Persistency, ISCA 2020.

mod core;
mod explore;
mod mutant;
mod plug;
mod spec;
mod unit;

#[cfg(test)]
mod tests;

pub use core::StrandCore;
pub use explore::StrandSpace;
pub use mutant::Mutant;
pub use plug::MODEL;
pub use spec::StrandSpec;
