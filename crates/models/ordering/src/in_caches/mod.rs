//! Epochs whose lines wait in the caches until they may go: what LB++ and LRP do alike.
//!
//! ```text
//!   stores -> lines, each of one epoch --Flush, an epoch after the other--> controller -> WPQ
//!                ^      ^---------------------Ack-------------------------------|
//!                |-- a later store to the line, a line that leaves, another core: the epoch goes first
//! ```
//!
//! A line belongs to one epoch. An epoch goes when it is complete, when everything before it is durable, and, where nothing goes
//! on its own, when somebody waits for it. The bytes that tags in the caches keep apart are kept in a persist buffer here, whose
//! entries stand for the lines.

mod core;
pub mod mutant;
mod params;
mod stats;

#[cfg(test)]
mod tests;

pub use core::{InCaches, LinesCore, Rules};
pub use mutant::Mutant;
pub(crate) use params::{LineParameters, epochs_of_lines, lines_spec, unfinished};
pub(crate) use stats::LineStats;
