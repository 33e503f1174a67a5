//! Capri: regions that a power failure leaves whole or not at all, in buffers that a battery saves.
//!
//! ```text
//!   stores -> saved buffer: the open region | regions that ended --Flush--> controller -> WPQ
//!                                                       ^-----------Ack--------|
//! ```
//!
//! Modelled: stores that wait beside the core until their region ends; the end, after so many stores, at a fence, at a release,
//! where another core takes a line of the region, or where the buffer is full; stores of regions that ended, which are durable there and then and
//! leave in any order; a power failure that saves these and forgets the open region. A store waits when the buffer is full, and
//! nothing else waits.
//!
//! Where sources are silent: the compiler's regions. Here one ends every `ordering.region_stores` stores, which has to fit the
//! buffer; recordings and built-in programs carry no more. The registers that a region's end keeps are `ordering.saved_registers_bytes`.
//!
//! Not modelled: the instructions that save registers; the program's going on from there, for which
//! images are taken as a recovery's; the second buffer beside each controller, to which an open region's stores go ahead, with
//! what is needed to undo them: here they leave when the region ends, which takes later what little they take.
//!
//! Source: Jeong, Zeng and Jung, Capri: Compiler and Architecture Support for Whole-System Persistence, HPDC 2022.

mod core;
mod explore;
mod mutant;
mod plug;
mod stats;

#[cfg(test)]
mod tests;

pub use core::{Atomic, CapriCore};
pub use explore::Capri;
pub use mutant::Mutant;
pub use plug::MODEL;
