//! DPO as the list of models knows it.

use super::DpoCore;
use super::stats::DelegatedStats;
use crate::explore::PathSpace;
use crate::hardware::{Around, Structure, epoch_buffer, epoch_table};
use crate::path::{BUFFERED, CAPABILITIES, DEPENDING, Direct, path_spec, persistency};
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use params::Statistics;
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Persistency, Settings};

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "dpo",
    shared: BUFFERED,
    own: &[],
    shared_statistics: DEPENDING,
    statistics: DelegatedStats::TABLE,
    protocol: Harness::of::<PathSpace<super::explore::Dpo>>(),
    model: &Dpo,
};

struct Dpo;

impl OrderingModel for Dpo {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn tells_other_cores(&self) -> bool {
        true
    }

    fn persistency(&self, settings: &Settings) -> Persistency {
        persistency(settings)
    }

    fn structures(&self, settings: &Settings, around: &Around) -> Vec<Structure> {
        vec![epoch_buffer(settings), epoch_table(settings, around, false)]
    }

    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering> {
        Box::new(DpoCore::new(path_spec(settings, core, map)))
    }

    fn controller_side(&self, _: &Settings) -> Box<dyn ControllerOrdering> {
        Box::new(Direct::default())
    }
}
