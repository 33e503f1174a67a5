//! Parameters of Vorpal alone.

use params::Parameters;

/// The controllers' room.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub(super) struct HeldParameters {
    /// writes that a controller keeps until what they come after is durable
    #[param(
        default = "64",
        source = "open 16..256: the abstract tells no size; of the order of a write pending queue",
        min = 0,
        max = 4096
    )]
    pub(super) held_writes: usize,
}
