//! Vorpal: cores send what they have with what it comes after, and controllers keep it until that is durable.
//!
//! ```text
//!   stores -> persist buffer --Flush, with what it comes after--> controller: held writes -> WPQ
//!                 |    ^------------Ack, Nack-------------------|   ^ compares
//!             epoch table ----------Complete-------------------> vector clocks <--Clock--> those of other controllers
//!                      ^------------CommitAck-------------------|
//! ```
//!
//! Modelled: flushes that leave whatever is under way before them, to any number of controllers; a clock at each, which says for every
//! core up to which epoch everything is durable there; messages in which controllers tell each other, at whole multiples of
//! `ordering.clock_interval_ns`; a flush that stands at its controller, volatile, until every controller is known there to have what it
//! comes after, and is written then; dependences between cores. A core tells controllers of each epoch whose writes have all been
//! taken, and hears from each when it is durable there. Nothing is ever undone. A core waits at a dfence, and when its buffer is full.
//!
//! A flush carries the two numbers of its vector that decide: its core's own, and that of the epoch of another core that it comes
//! after. What these come after is durable when they are, so the rest of the vector holds wherever these two do.
//!
//! Where sources are silent: the room at a controller (`ordering.held_writes`; without room the flush is refused, and goes again when
//! its core knows that all before it is durable, which is then not compared); how often clocks are told; how large their numbers are
//! (`ordering.clock_bytes`, which is told of the hardware and costs no time: wires have no width); how a controller knows that no write of an
//! epoch is still to come (here its core says so).
//!
//! Source: Korgaonkar et al., Vorpal: Vector Clock Ordering for Large Persistent Memory Systems, PODC 2019; ASAP (HPCA 2022) §VIII.

mod clock;
mod controller;
mod core;
mod explore;
mod mutant;
mod params;
mod plug;

#[cfg(test)]
mod tests;

pub use controller::ClockedTable;
pub use core::{Clocked, ClockedCore};
pub use explore::Vorpal;
pub use mutant::Mutant;
pub use plug::MODEL;
