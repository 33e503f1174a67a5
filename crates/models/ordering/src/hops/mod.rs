//! HOPS: persists are buffered, and flushed one epoch after the other.
//!
//! ```text
//!   stores -> persist buffer --Flush--> controller -> WPQ
//!                 |      ^-----Ack------|
//!             epoch table --Publish--> global timestamp register <--Poll-- waiting cores
//! ```
//!
//! Modelled: conservative flushing (an epoch's writes go once every write of the epochs before it is
//! acknowledged), cross dependences that are resolved by polling a global timestamp register, the trigger from
//! which the buffer starts to flush. Release persistency is ASAP's variation of HOPS (§VII).
//!
//! Not modelled: the Bloom filter by which HOPS stalls loads of buffered lines: such lines stay in the caches.
//!
//! Sources: Nalli et al., ASPLOS 2017; ASAP (HPCA 2022) §VII; the trigger from ASAP's public artifact, since
//! neither text gives it.

mod core;
mod explore;
mod mutant;
mod params;
mod plug;
mod register;
mod spec;

#[cfg(test)]
mod tests;

pub use core::{Conservative, HopsCore};
pub use explore::Hops;
pub use mutant::Mutant;
pub use plug::MODEL;
pub(crate) use register::PollStats;
pub use register::{TimestampRegister, Timestamps};
pub use spec::HopsSpec;
