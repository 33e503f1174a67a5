//! Parameters of cWSP alone.

use params::Parameters;

/// The controllers' logs.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub(super) struct LogParameters {
    /// records of a controller's log
    #[param(
        default = "64",
        source = "open 16..256: the abstract tells no size; of the order of a write pending queue, or of several regions",
        min = 0,
        max = 4096
    )]
    pub(super) undo_log: usize,
}
