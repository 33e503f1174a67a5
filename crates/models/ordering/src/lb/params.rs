//! Parameters of LB++ alone.

use params::Parameters;

/// What LB++ adds to lazy barriers.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub(super) struct BarrierParameters {
    /// a complete epoch goes on its own; otherwise when a store, an eviction, a fence or another core waits for it
    #[param(default = "true", source = "paper: Joshi et al., MICRO 2015")]
    pub(super) proactive_flush: bool,
    /// a line goes to another core at once, whose epoch then depends on this core's; otherwise it waits until it is durable
    #[param(default = "true", source = "paper: Joshi et al., MICRO 2015")]
    pub(super) track_dependences: bool,
}
