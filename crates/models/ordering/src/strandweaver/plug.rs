//! StrandWeaver as the list of models knows it.

use super::StrandCore;
use super::core::Counts;
use super::spec::{CAPABILITIES, StrandSpec};
use crate::hardware::{Around, Fate, LINE_ADDRESS_BITS, Place, Structure, structure};
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
    shared_statistics: &[],
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

    fn structures(&self, settings: &Settings, _: &Around) -> Vec<Structure> {
        let spec = StrandSpec::from_settings(settings);
        let strands = (spec.strand_buffers * spec.strand_entries) as u64;
        // A flush, a barrier or a new strand; in a buffer also whether it was sent, and has arrived.
        let queued = LINE_ADDRESS_BITS + 2;
        vec![
            structure("persist queue", Place::Core, spec.persist_queue as u64, queued, Fate::Lost),
            structure("strand buffers", Place::Core, strands, LINE_ADDRESS_BITS + 3, Fate::Lost),
        ]
    }

    fn core_side(&self, settings: &Settings, _: u8, _: AddressMap) -> Box<dyn CoreOrdering> {
        Box::new(StrandCore::new(&StrandSpec::from_settings(settings), None))
    }

    fn controller_side(&self, _: &Settings) -> Box<dyn ControllerOrdering> {
        Box::new(PassThrough)
    }
}
