//! StrandWeaver as the list of models knows it.

use super::StrandCore;
use super::core::Counts;
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use memory::PassThrough;
use params::{Dur, Parameters, Statistics, ns};
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Persistency, Settings};

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "strandweaver",
    shared: &[],
    own: StrandSpec::TABLE,
    statistics: Counts::TABLE,
    protocol: Harness::of::<super::explore::StrandSpace>(),
    model: &StrandWeaver,
};

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

struct StrandWeaver;

pub(super) const CAPABILITIES: Capabilities = Capabilities {
    flush_instructions: true,
    fences: true,
    orders_stores: true,
    takes_flushes: true,
    strands: true,
    ..Capabilities::NONE
};

impl OrderingModel for StrandWeaver {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn persistency(&self, _: &Settings) -> Persistency {
        Persistency::Strand
    }

    fn core_side(&self, settings: &Settings, _: u8, _: AddressMap) -> Box<dyn CoreOrdering> {
        Box::new(StrandCore::new(&StrandSpec::from_settings(settings), None))
    }

    fn controller_side(&self, _: &Settings) -> Box<dyn ControllerOrdering> {
        Box::new(PassThrough)
    }
}
