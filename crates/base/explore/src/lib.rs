//! Exhaustive exploration: every order in which messages can be delivered, with a power failure in every state.
//!
//! ```text
//!   a model: state, steps, invariants, mutants, bounds     -- Protocol, Explored
//!        its state machines <--messages--> Wires
//!   the driver: breadth first, each state once             -- explore, replay
//! ```
//!
//! A protocol is explored through the state machines that the timed engine runs; the driver decides what happens next.
//! States are visited breadth first, so a violation comes with a shortest trace. A visited state is kept as a 128-bit
//! fingerprint of all that its `Hash` names. What a model leaves out of it stands in an [`Aside`], or in a `Hash` that
//! takes its struct apart field by field: a field or a message that nobody thought of does not compile.
//!
//! Architecture Invariant: nothing in here knows a protocol.
#![forbid(unsafe_code)]

mod bounds;
mod driver;
mod fingerprint;
mod harness;
mod held;
mod part;
mod wires;

#[cfg(test)]
mod tests;

pub use bounds::{Bound, Given, Kind};
pub use driver::{Outcome, Protocol, Replay, Violation, explore, replay};
pub use fingerprint::{Aside, Fingerprint};
pub use harness::{Explored, Harness, Mutants, Texts};
pub use held::Held;
pub use part::Part;
pub use wires::{Event, Wires};
