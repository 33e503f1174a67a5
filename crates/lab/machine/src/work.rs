//! How much a run has to do.

use crate::describe::{Source, WorkloadDescription};

/// About how much there is to do, for whoever waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// Of a recording.
    Records(u64),
    /// Of a workload that counts them, or zero.
    Operations(u64),
}

impl Work {
    pub(crate) fn of(workload: &WorkloadDescription) -> Work {
        match &workload.source {
            Source::Trace(recorded) => Work::Records(recorded.recording.len()),
            Source::BuiltIn(_) | Source::Pages(_) | Source::Shared(_) => {
                let known = workload.params.iter().find(|p| p.key == "workload.operations");
                Work::Operations(known.map_or(0, |p| workload.settings.number(p.key)))
            }
        }
    }
}
