//! Programs within the memory that a thread has.

use crate::describe::WorkloadDescription;
use crate::error::ConfigError;
use protocol::Param;
use protocol::params::Kind;
use workloads::Layout;

/// The memory of each thread, of a workload that may have more than the usual.
const MEMORY: &str = "workload.thread_mib";

/// Does `work`, in which the programs of `workload` run.
///
/// # Errors
/// When one of them needs more memory than a thread's arena has.
pub fn within_arenas<T>(workload: &WorkloadDescription, work: impl FnOnce() -> T) -> Result<T, ConfigError> {
    workloads::within_arenas(work).map_err(|_| {
        let sizes = |p: &&Param| match p.kind {
            Kind::Count { max, .. } => max > 100 || p.key.contains("depth"),
            Kind::PowerOfTwo { .. } => p.key != MEMORY,
            Kind::Multiple { .. } | Kind::Bytes { .. } => true,
            Kind::Thousandths { .. }
            | Kind::Nanoseconds { .. }
            | Kind::Choice(_)
            | Kind::Flag
            | Kind::Text => false,
        };
        let more = (2 * (Layout::of(&workload.settings).arena_bytes >> 20)).to_string();
        let keys: Vec<&str> = workload.params.iter().filter(sizes).map(|p| p.key).collect();
        ConfigError::new(format!(
            "workload {}: a thread needs more than the {} MiB of memory that it has; give {}less of {}",
            workload.name,
            Layout::of(&workload.settings).arena_bytes >> 20,
            if workload.params.iter().any(|p| p.key == MEMORY && p.kind.read(&more).is_ok()) {
                format!("more of {MEMORY}, or ")
            } else {
                String::new()
            },
            keys.join(", ")
        ))
    })
}
