//! A paper's evaluation: which runs it takes, what its figures show, and which of its claims hold.
#![forbid(unsafe_code)]

mod claims;

pub use claims::{Claim, Claims};
