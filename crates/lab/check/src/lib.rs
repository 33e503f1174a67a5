//! What is left when the power fails: crash images of whole runs, litmus tests, exhaustive exploration.
#![forbid(unsafe_code)]

pub mod crash;
pub mod explore;
pub mod litmus;
