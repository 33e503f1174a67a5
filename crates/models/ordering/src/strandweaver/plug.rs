//! StrandWeaver as the list of models knows it.

use super::StrandCore;
use super::core::Counts;
use super::spec::{CAPABILITIES, StrandSpec};
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use memory::PassThrough;
use params::{Parameters, Statistics};
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

struct StrandWeaver;

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
