//! Parameters of Vorpal alone.

use params::{Dur, Parameters, ns};

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
    /// bytes of a clock's number, of which a flush carries one for each core
    #[param(
        default = "4",
        source = "open 1..8: not in the sources at hand; a counter of epochs, from one that wraps soon to one that never does",
        min = 1,
        max = 8
    )]
    pub(super) clock_bytes: u64,
    /// time from one telling of a controller's clock to the others to the next
    #[param(
        default = "100",
        source = "open 10..1000: ASAP §III says that how often decides on progress, nobody how often that is; a decade either way of a write's acknowledgement",
        range = ns::SERVICE
    )]
    pub(super) clock_interval_ns: Dur,
}
