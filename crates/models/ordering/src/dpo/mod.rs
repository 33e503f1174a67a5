//! DPO: persists are buffered beside the core, and their order is left to the controller.
//!
//! ```text
//!   stores -> persist buffer --Flush, in order--> controller -> WPQ
//!                 |      ^-----------Ack-------------|
//!             epoch table --CrossDependencyResolved--> dependent cores
//! ```
//!
//! Modelled: entries that leave in the order in which they became visible, as fast as the wire takes them, without waiting for
//! the acknowledgements of the epoch before, since the controller takes them in the order in which they come; dependences
//! between cores, found by coherence, that hold the later core's entries back until the earlier epoch is durable, and are
//! told by message. Epoch and release persistency, as of the other persist paths.
//!
//! Where sources are silent: they have one controller. With several, an entry waits until what came before its epoch and went
//! to other controllers is acknowledged. A barrier takes no place in a buffer or a queue, since the write pending queue is
//! inside the persistence domain.
//!
//! Not modelled: a controller that reorders within epochs; the broadcast by which buffers learn what others drain.
//!
//! Source: Kolli et al., Delegated Persist Ordering, MICRO 2016.

mod core;
mod explore;
mod mutant;
mod plug;
mod stats;

#[cfg(test)]
mod tests;

pub use core::{Delegated, DpoCore};
pub use explore::Dpo;
pub use mutant::Mutant;
pub use plug::MODEL;
