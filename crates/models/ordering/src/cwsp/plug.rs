//! cWSP as the list of models knows it.

use super::params::LogParameters;
use crate::early::{EarlyCore, EarlySpec, RecoverySpec, RecoveryTable, WITH_RECORDS};
use crate::explore::PathSpace;
use crate::hardware::{Around, Structure, epoch_buffer, epoch_table, records};
use crate::path::{
    BufferParameters, CAPABILITIES, DependenceParameters, EpochParameters, PaceParameters, RegionParameters,
    path_spec, persistency,
};
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use memory::params::CommitParameters;
use params::{Param, Parameters};
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Persistency, Settings};

const PATH: &[&[Param]] = &[
    BufferParameters::TABLE,
    PaceParameters::TABLE,
    EpochParameters::TABLE,
    DependenceParameters::TABLE,
    CommitParameters::TABLE,
    RegionParameters::TABLE,
];

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "cwsp",
    shared: PATH,
    own: LogParameters::TABLE,
    shared_statistics: WITH_RECORDS,
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

    fn structures(&self, settings: &Settings, around: &Around) -> Vec<Structure> {
        let entries = LogParameters::from_settings(settings).undo_log;
        let core = [epoch_buffer(settings), epoch_table(settings, around, true)];
        core.into_iter().chain(records("undo log", entries, settings, around)).collect()
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
