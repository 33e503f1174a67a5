//! PPA: a core that keeps what its stores need until they are durable, and waits for that once in a region.
//!
//! ```text
//!   stores -> registers that are kept, and the path: --Flush, in order--> controller -> WPQ
//!                 ^-- a region ends when they run out: --------Ack-----------|
//! ```
//!
//! Modelled: stores that leave for their controllers in order and on their own; a region, of as many stores as registers can be kept
//! for; the first store of the next region, which waits until every store of the one before is acknowledged; a power failure, at
//! which the stores that are not durable are saved with their registers, and done again. So what is visible is durable, and fences mean
//! nothing.
//!
//! Where sources are silent: the length of regions, which hangs on free physical registers; here it is `ordering.region_stores`.
//!
//! How many bytes of registers go with them is `ordering.saved_registers_bytes`.
//!
//! Not modelled: the register file itself, and the stop of the pipeline where no register is free for other instructions; the
//! program's going on from there; the stores to memory that is not persistent, which PPA treats as all others.
//!
//! Source: Zeng, Jeong and Jung, Persistent Processor Architecture, MICRO 2023.

mod core;
mod explore;
mod mutant;
mod plug;
mod stats;

#[cfg(test)]
mod tests;

pub use core::{Kept, PpaCore};
pub use explore::Ppa;
pub use mutant::Mutant;
pub use plug::MODEL;
