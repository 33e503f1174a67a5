//! Parameters of HOPS alone.

use params::{Dur, Parameters, ns};

/// The global timestamp register, and how it is polled.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub(super) struct HopsParameters {
    /// HOPS: time from one look at the global timestamp register to the next
    #[param(default = "250", source = "paper: ASAP §VII (500 cycles)", range = ns::POLL)]
    pub(super) poll_ns: Dur,
    /// HOPS: time of reading the register
    #[param(default = "17", source = "paper: ASAP §VII (50 cycles, wires taken off)", range = ns::NS)]
    pub(super) poll_access_ns: Dur,
}
