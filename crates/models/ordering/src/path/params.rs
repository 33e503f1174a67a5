//! Parameters that persist paths have in common.

use crate::spec::{CrossCore, Dependences};
use params::{Dur, Parameters, ns};

/// The buffer beside each core.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub(crate) struct BufferParameters {
    /// entries of each core's persist buffer
    #[param(default = "32", source = "paper: ASAP Table II", min = 1, max = 1024)]
    pub(crate) persist_buffer: usize,
}

/// When what waits beside a core, or in its caches, leaves.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub(crate) struct PaceParameters {
    /// writes that wait from which on a core flushes them
    #[param(
        default = "2",
        source = "artifact: the paper says only as soon as possible",
        min = 1,
        max = 1024
    )]
    pub(crate) flush_trigger: usize,
    /// below the trigger, one entry is flushed after so long
    #[param(acts = "ordering.flush_trigger!=1", default = "500", source = "artifact", range = ns::SERVICE)]
    pub(crate) flush_timer_ns: Dur,
    /// time from one flush of a core to the next
    #[param(default = "1", source = "artifact", range = ns::STEP)]
    pub(crate) flush_issue_ns: Dur,
}

/// Epochs, where there are any.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub(crate) struct EpochParameters {
    /// when one core's persists wait for another's
    #[param(default = "release", source = "paper: ASAP §IV-A")]
    pub(crate) persistency: CrossCore,
    /// epochs in flight on each core, the open one included
    #[param(default = "32", source = "paper: ASAP §VII", min = 2, max = 1024)]
    pub(crate) epoch_table: usize,
}

/// What a dependence between cores comes of, where cores depend on each other.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub(crate) struct DependenceParameters {
    /// which conflicts make an epoch depend on another under epoch persistency
    #[param(acts = "ordering.persistency=epoch", default = "accesses", source = "paper: ASAP §IV-A")]
    pub(crate) dependences: Dependences,
}

/// What programs go on with, where they do without a recovery of their own.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub(crate) struct RegisterParameters {
    /// bytes of a core's registers that a power failure saves, for the program to go on with
    #[param(
        default = "384",
        source = "open 128..2688: from the general registers alone to vectors of 64 bytes and masks; stands at what every x86-64 core has, 16 general registers of 8 bytes and 16 vector registers of 16",
        min = 0,
        max = 65536
    )]
    pub(crate) saved_registers_bytes: u64,
}
