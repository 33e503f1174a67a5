//! Vorpal as the list of models knows it.

use super::params::HeldParameters;
use super::{ClockedCore, ClockedTable};
use crate::early::{COUNTED, EARLY, KeptStats};
use crate::explore::PathSpace;
use crate::hardware::{
    Around, Fate, Place, Structure, clocked, epoch_buffer, epoch_table, held_writes, structure,
};
use crate::path::{CAPABILITIES, EpochParameters, path_spec, persistency};
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use params::{Parameters, Statistics};
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Persistency, Settings};

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "vorpal",
    shared: EARLY,
    own: HeldParameters::TABLE,
    shared_statistics: COUNTED,
    statistics: KeptStats::TABLE,
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

    fn structures(&self, settings: &Settings, around: &Around) -> Vec<Structure> {
        let own = HeldParameters::from_settings(settings);
        let [held, filter] = held_writes(own.held_writes, settings, around);
        let clock = 8 * own.clock_bytes;
        let epochs = EpochParameters::from_settings(settings).epoch_table as u64;
        vec![
            clocked(epoch_buffer(settings), around, own.clock_bytes),
            epoch_table(settings, around, true),
            clocked(held, around, own.clock_bytes),
            filter,
            structure(
                "vector clocks",
                Place::Controller,
                around.cores * around.controllers,
                clock,
                Fate::Lost,
            ),
            structure("complete epochs", Place::Controller, around.cores * epochs, 2 * clock, Fate::Lost),
        ]
    }

    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering> {
        Box::new(ClockedCore::new(path_spec(settings, core, map), None))
    }

    fn controller_side(&self, settings: &Settings) -> Box<dyn ControllerOrdering> {
        let own = HeldParameters::from_settings(settings);
        Box::new(ClockedTable::new(own.held_writes, own.clock_interval_ns, None))
    }
}
