//! Programs within the memory that a thread has.

use crate::describe::WorkloadDescription;
use crate::error::ConfigError;
use protocol::Param;
use protocol::params::Kind;
use workloads::Layout;

/// Does `work`, in which the programs of `workload` run.
///
/// # Errors
/// When one of them needs more memory than a thread's arena has.
pub fn within_arenas<T>(workload: &WorkloadDescription, work: impl FnOnce() -> T) -> Result<T, ConfigError> {
    workloads::within_arenas(work).map_err(|_| {
        let sizes = |p: &&Param| match p.kind {
            Kind::Count { max, .. } => max > 100 || p.key.contains("depth"),
            Kind::PowerOfTwo { .. } => p.key != Layout::KEY,
            Kind::Multiple { .. } | Kind::MultipleOrZero { .. } | Kind::Bytes { .. } => true,
            Kind::Thousandths { .. }
            | Kind::Nanoseconds { .. }
            | Kind::Choice(_)
            | Kind::Flag
            | Kind::Text => false,
        };
        let keys: Vec<&str> = workload.params.iter().filter(sizes).map(|p| p.key).collect();
        let mib = Layout::of(&workload.settings).arena_bytes >> 20;
        let takes_more = |p: &Param| p.key == Layout::KEY && p.kind.read(&(2 * mib).to_string()).is_ok();
        let more = if workload.params.iter().any(takes_more) {
            format!("more of {}, or ", Layout::KEY)
        } else {
            String::new()
        };
        ConfigError::new(format!(
            "workload {}: a thread needs more than the {mib} MiB of memory that it has; give {more}less of {}",
            workload.name,
            keys.join(", ")
        ))
    })
}
