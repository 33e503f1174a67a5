//! cWSP as the list of models knows it.

use super::params::LogParameters;
use crate::early::{EarlyCore, EarlySpec, RecoverySpec, RecoveryTable};
use crate::explore::PathSpace;
use crate::path::{
    BufferParameters, CAPABILITIES, EpochParameters, RegionParameters, path_spec, persistency,
};
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use memory::params::CommitParameters;
use params::{Param, Parameters};
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Persistency, Settings};

const PATH: &[&[Param]] =
    &[BufferParameters::TABLE, EpochParameters::TABLE, CommitParameters::TABLE, RegionParameters::TABLE];

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "cwsp",
    shared: PATH,
    own: LogParameters::TABLE,
    statistics: &[],
    protocol: Harness::of::<PathSpace<super::explore::Cwsp>>(),
    model: &Cwsp,
};

struct Cwsp;

impl OrderingModel for Cwsp {
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
        let regions = RegionParameters::from_settings(settings);
        let core = EarlyCore::new(path_spec(settings, core, map), EarlySpec::EAGER);
        Box::new(core.in_regions(regions.region_stores))
    }

    fn controller_side(&self, settings: &Settings) -> Box<dyn ControllerOrdering> {
        let records = LogParameters::from_settings(settings).undo_log;
        Box::new(RecoveryTable::new(RecoverySpec::of(records, true)))
    }
}
