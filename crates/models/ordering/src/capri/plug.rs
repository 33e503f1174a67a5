//! Capri as the list of models knows it.

use super::CapriCore;
use super::stats::RegionStats;
use crate::explore::PathSpace;
use crate::hardware::{Around, Fate, Structure, kept_registers, persist_buffer};
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
    name: "capri",
    shared: SHARED,
    own: &[],
    shared_statistics: ALONE,
    statistics: RegionStats::TABLE,
    protocol: Harness::of::<PathSpace<super::explore::Capri>>(),
    model: &Capri,
};

struct Capri;

impl OrderingModel for Capri {
    fn capabilities(&self) -> Capabilities {
        Capabilities { keeps_regions: true, ..CAPABILITIES }
    }

    fn persistency(&self, _: &Settings) -> Persistency {
        Persistency::Epoch
    }

    fn structures(&self, settings: &Settings, _: &Around) -> Vec<Structure> {
        let regions = BufferParameters::from_settings(settings).persist_buffer as u64 + 2;
        vec![persist_buffer(settings, regions, Fate::Saved(LINE_BYTES)), kept_registers(settings)]
    }

    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering> {
        let regions = RegionParameters::from_settings(settings);
        let path = path_spec(settings, core, map);
        // Regions in flight are bounded by the buffer alone.
        let path = PathSpec { epoch_table: path.persist_buffer + 2, ..path };
        Box::new(CapriCore::new(path, regions.region_stores, None))
    }

    fn controller_side(&self, _: &Settings) -> Box<dyn ControllerOrdering> {
        Box::new(Direct::default())
    }
}
