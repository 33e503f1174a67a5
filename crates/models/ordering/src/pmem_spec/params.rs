//! Parameters of PMEM-Spec.

use params::{Dur, Parameters, ns};
use protocol::Capabilities;

/// The persist path, the speculation buffer, and what going back costs.
#[derive(Clone, Copy, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub struct SpecParameters {
    /// PMEM-Spec: stores of a core that are on its persist path and not acknowledged
    #[param(
        default = "64",
        source = "open 16..256: the sources have a path without a buffer, and no bound of what is on it",
        min = 1,
        max = 1024
    )]
    pub persist_path_entries: usize,
    /// PMEM-Spec: time of a store on the persist path, beyond the wire to its controller
    #[param(default = "15", source = "open 5..45: not in the sources at hand; from the time of a wire to what the window leaves, and stands at the geometric middle", range = ns::SERVICE)]
    pub persist_path_ns: Dur,
    /// PMEM-Spec: time from one store that a core puts on its persist path to the next
    #[param(default = "1", source = "open 0.5..2: as a persist buffer, half to twice", range = ns::STEP)]
    pub persist_path_issue_ns: Dur,
    /// PMEM-Spec: time for which a controller watches an evicted line; at least the longest way of a store to it
    #[param(default = "60", source = "open 20..200: from the way of a store as it stands, 15 ns and a wire, to ten of these; a longer window costs false alarms alone", range = ns::SERVICE)]
    pub speculation_window_ns: Dur,
    /// PMEM-Spec: time from the message that a line was read too early until the core begins to go back
    #[param(
        default = "3000",
        source = "open 500..20000: an interrupt alone, to a few faults with their signal and handler, 5 us each as measured",
        range = ns::SERVICE
    )]
    pub misspeculation_ns: Dur,
    /// PMEM-Spec: operations after which a region ends by itself
    #[param(
        default = "4096",
        source = "open 256..65536: ours, what a core keeps to go back",
        min = 16,
        max = 1_048_576
    )]
    pub region_operations: usize,
}

/// What the model asks of cores and caches.
pub(super) const CAPABILITIES: Capabilities = Capabilities {
    persist_path: true,
    orders_stores: true,
    fences: true,
    rolls_back: true,
    ..Capabilities::NONE
};
