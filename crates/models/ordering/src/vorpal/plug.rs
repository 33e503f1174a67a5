//! Vorpal as the list of models knows it.

use super::params::HeldParameters;
use crate::early::{EarlyCore, EarlySpec, RecoverySpec, RecoveryTable};
use crate::explore::PathSpace;
use crate::path::{BufferParameters, CAPABILITIES, EpochParameters, path_spec, persistency};
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use memory::params::CommitParameters;
use params::{Param, Parameters};
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Persistency, Settings};

const PATH: &[&[Param]] = &[BufferParameters::TABLE, EpochParameters::TABLE, CommitParameters::TABLE];

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "vorpal",
    shared: PATH,
    own: HeldParameters::TABLE,
    statistics: &[],
    protocol: Harness::of::<PathSpace<super::explore::Vorpal>>(),
    model: &Vorpal,
};

struct Vorpal;

impl OrderingModel for Vorpal {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn tells_other_cores(&self) -> bool {
        true
    }

    fn persistency(&self, settings: &Settings) -> Persistency {
        persistency(settings)
    }

    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering> {
        Box::new(EarlyCore::new(path_spec(settings, core, map), EarlySpec::EAGER))
    }

    fn controller_side(&self, settings: &Settings) -> Box<dyn ControllerOrdering> {
        let records = HeldParameters::from_settings(settings).held_writes;
        Box::new(RecoveryTable::new(RecoverySpec::of(records, false)))
    }
}
