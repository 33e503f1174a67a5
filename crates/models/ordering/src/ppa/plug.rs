//! PPA as the list of models knows it.

use super::PpaCore;
use super::stats::KeptStats;
use crate::explore::PathSpace;
use crate::hardware::{Around, Fate, Structure, persist_buffer, registers};
use crate::path::{
    ALONE, BufferParameters, CAPABILITIES, Direct, PaceParameters, RegionParameters, RegisterParameters,
    path_spec,
};
use crate::plug::{OrderingModel, Registered};
use crate::spec::PathSpec;
use explore::Harness;
use params::{Param, Parameters, Statistics};
use protocol::{
    AddressMap, Capabilities, ControllerOrdering, CoreOrdering, LINE_BYTES, Persistency, Settings,
};

const SHARED: &[&[Param]] =
    &[BufferParameters::TABLE, PaceParameters::TABLE, RegionParameters::TABLE, RegisterParameters::TABLE];

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "ppa",
    shared: SHARED,
    own: &[],
    shared_statistics: ALONE,
    statistics: KeptStats::TABLE,
    protocol: Harness::of::<PathSpace<super::explore::Ppa>>(),
    model: &Ppa,
};

struct Ppa;

impl OrderingModel for Ppa {
    fn capabilities(&self) -> Capabilities {
        Capabilities { keeps_regions: true, ..CAPABILITIES }
    }

    fn persistency(&self, _: &Settings) -> Persistency {
        Persistency::Strict
    }

    fn structures(&self, settings: &Settings, _: &Around) -> Vec<Structure> {
        // Of a region that ended and the next, one has stores. Registers are there anyhow.
        vec![persist_buffer(settings, 2, Fate::Saved(LINE_BYTES)), registers(settings)]
    }

    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering> {
        let regions = RegionParameters::from_settings(settings);
        let path = path_spec(settings, core, map);
        // Of a region that ended and the next, one has stores.
        let path = PathSpec { epoch_table: 2, ..path };
        Box::new(PpaCore::new(path, regions.region_stores, None))
    }

    fn controller_side(&self, _: &Settings) -> Box<dyn ControllerOrdering> {
        Box::new(Direct::default())
    }
}
