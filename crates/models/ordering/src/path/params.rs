//! Parameters that persist paths have in common.

use crate::spec::{CrossCore, Dependences};
use params::{Dur, Parameters, ns};

/// The buffer beside each core, and its pace.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub(crate) struct BufferParameters {
    /// entries of each core's persist buffer
    #[param(default = "32", source = "paper: ASAP Table II", min = 1, max = 1024)]
    pub(crate) persist_buffer: usize,
    /// unflushed entries from which on a persist buffer flushes
    #[param(
        default = "2",
        source = "artifact: the paper says only as soon as possible",
        min = 1,
        max = 1024
    )]
    pub(crate) flush_trigger: usize,
    /// below the trigger, one entry is flushed after so long
    #[param(default = "500", source = "artifact", range = ns::SERVICE)]
    pub(crate) flush_timer_ns: Dur,
    /// time from one flush of a persist buffer to the next
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
    /// which conflicts make an epoch depend on another under epoch persistency
    #[param(default = "accesses", source = "paper: ASAP §IV-A")]
    pub(crate) dependences: Dependences,
    /// epochs in flight on each core, the open one included
    #[param(default = "32", source = "paper: ASAP §VII", min = 2, max = 1024)]
    pub(crate) epoch_table: usize,
}
