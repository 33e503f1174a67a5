//! What is left when the power fails: crash images of whole runs, litmus tests.
#![forbid(unsafe_code)]

pub mod crash;
pub mod litmus;
