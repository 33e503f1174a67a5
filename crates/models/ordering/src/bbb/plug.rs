//! BBB as the list of models knows it.

use super::{BatteryBuffer, CAPABILITIES};
use crate::explore::PathSpace;
use crate::hardware::{Around, Fate, Structure, persist_buffer};
use crate::path::{BufferParameters, BufferStats, Direct, DropStats, FlushStats, PaceParameters, path_spec};
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use params::{Parameters, Statistics};
use protocol::{
    AddressMap, Capabilities, ControllerOrdering, CoreOrdering, LINE_BYTES, Persistency, Settings,
};

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "bbb",
    shared: &[BufferParameters::TABLE, PaceParameters::TABLE],
    own: &[],
    shared_statistics: &[FlushStats::TABLE, BufferStats::TABLE, DropStats::TABLE],
    statistics: &[],
    protocol: Harness::of::<PathSpace<super::explore::Bbb>>(),
    model: &Bbb,
};

struct Bbb;

impl OrderingModel for Bbb {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn persistency(&self, _: &Settings) -> Persistency {
        Persistency::Strict
    }

    fn structures(&self, settings: &Settings, _: &Around) -> Vec<Structure> {
        vec![persist_buffer(settings, 1, Fate::Saved(LINE_BYTES))]
    }

    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering> {
        Box::new(BatteryBuffer::new(path_spec(settings, core, map)))
    }

    fn controller_side(&self, _: &Settings) -> Box<dyn ControllerOrdering> {
        Box::new(Direct::default())
    }
}
