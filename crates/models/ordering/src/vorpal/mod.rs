//! Vorpal: cores send what they have with what it comes after, and controllers keep it until that is durable.
//!
//! ```text
//!   stores -> persist buffer --Flush(early)--> controller: held writes -> WPQ
//!                 |    ^-------Ack, Nack-----------|        ^
//!             epoch table ---Commit--> controllers ----------|
//! ```
//!
//! Modelled: flushes that leave whatever is under way before them, to any number of controllers; a flush that stands at its controller,
//! volatile, until everything that it comes after is durable, and is written then; dependences between cores. Nothing is ever
//! undone. A core waits at a dfence, and when its buffer is full.
//!
//! Where sources are silent: the room at a controller (`ordering.held_writes`; without room the flush is refused, and goes again when
//! it is safe).
//!
//! Not modelled: the clocks themselves. Controllers there carry a vector of what each core has made durable, and tell each other; here
//! the core, which has every acknowledgement, tells the controllers that an epoch may be written: one way from a core where it
//! would be one between controllers, and no messages that grow with the number of cores.
//!
//! Source: Korgaonkar et al., Vorpal: Vector Clock Ordering for Large Persistent Memory Systems, PODC 2019; ASAP (HPCA 2022) §VIII.

mod explore;
mod params;
mod plug;

#[cfg(test)]
mod tests;

pub use explore::Vorpal;
pub use plug::MODEL;
