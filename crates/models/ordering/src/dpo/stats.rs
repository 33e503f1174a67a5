//! What delegating counts.

use params::Statistics;

/// Flushes whose order is the controller's business.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(super) struct DelegatedStats {
    /// flushes sent while writes of an earlier epoch were not acknowledged
    pub(super) delegated_flushes: u64,
}
