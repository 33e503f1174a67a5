//! What HOPS has of its own.

use units::Dur;

/// HOPS's own.
#[derive(Clone, Copy, Debug)]
pub struct HopsSpec {
    /// Time from one look at the global timestamp register to the next.
    pub poll: Dur,
}
