//! One file a workload.

pub(crate) mod bandwidth;
pub(crate) mod mix;
pub(crate) mod queue;
