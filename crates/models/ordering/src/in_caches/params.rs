//! Parameters of epochs in caches.

use params::Parameters;

/// How much may wait in them.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub(crate) struct LineParameters {
    /// lines of a core's caches that unfinished epochs may have; then the open one ends, and the oldest goes
    #[param(
        default = "128",
        source = "open 32..512: tags stand in the caches, so the lines of unfinished epochs are bounded by these; here by a list",
        min = 1,
        max = 1024
    )]
    pub(crate) unfinished_lines: usize,
}
