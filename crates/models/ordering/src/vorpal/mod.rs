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
//! undone. Clocks are told at whole multiples of `ordering.clock_interval_ns`, and no write that waited for one is written before.
//! A core waits at a dfence, and when its buffer is full.
//!
//! Where sources are silent: the room at a controller (`ordering.held_writes`; without room the flush is refused, and goes again when
//! it is safe); how often clocks are told, and how large their numbers are (`ordering.clock_bytes`, which is told of the hardware
//! and costs no time: wires have no width).
//!
//! Not modelled: messages between controllers. Each there carries a vector of what each core has made durable, and compares; here
//! the core, which has every acknowledgement, compares, and tells the controllers when clocks are told: one way from a core where it
//! would be one between controllers.
//!
//! Source: Korgaonkar et al., Vorpal: Vector Clock Ordering for Large Persistent Memory Systems, PODC 2019; ASAP (HPCA 2022) §VIII.

mod explore;
mod params;
mod plug;

#[cfg(test)]
mod tests;

pub use explore::Vorpal;
pub use plug::MODEL;
