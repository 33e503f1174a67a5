//! Its parameters, and what it asks of cores.

use params::{Dur, Parameters, ns};
use protocol::Capabilities;

/// StrandWeaver's own parameters.
#[derive(Clone, Copy, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub struct StrandSpec {
    /// StrandWeaver: flushes, barriers and new strands between a core and its strand buffers
    #[param(
        default = "16",
        source = "open 8..32: the sources give 144 bytes a core for queue and buffers",
        min = 1,
        max = 1024
    )]
    pub persist_queue: usize,
    /// StrandWeaver: strand buffers of a core, which drain side by side
    #[param(default = "4", source = "open 2..8: as ordering.persist_queue", min = 1, max = 64)]
    pub strand_buffers: usize,
    /// StrandWeaver: flushes and barriers in a strand buffer
    #[param(default = "4", source = "open 2..8: as ordering.persist_queue", min = 1, max = 1024)]
    pub strand_entries: usize,
    /// StrandWeaver: time from one write-back that strand buffers ask for to the next
    #[param(default = "1", source = "open 0.5..2: as a persist buffer, half to twice", range = ns::STEP)]
    pub strand_issue_ns: Dur,
}

pub(super) const CAPABILITIES: Capabilities = Capabilities {
    flush_instructions: true,
    fences: true,
    orders_stores: true,
    takes_flushes: true,
    strands: true,
    ..Capabilities::NONE
};
