//! Vorpal as the list of models knows it.

use super::params::HeldParameters;
use crate::early::{EARLY, EarlyCore, EarlySpec, KeptStats, RecoverySpec, RecoveryTable};
use crate::explore::PathSpace;
use crate::hardware::{
    Around, Fate, Place, Structure, clocked, epoch_buffer, epoch_table, held_writes, structure,
};
use crate::path::{CAPABILITIES, path_spec, persistency};
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use params::{Parameters, Statistics};
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Persistency, Settings};

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "vorpal",
    shared: EARLY,
    own: HeldParameters::TABLE,
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
        vec![
            clocked(epoch_buffer(settings), around, own.clock_bytes),
            epoch_table(settings, around, true),
            clocked(held, around, own.clock_bytes),
            filter,
            structure("vector clock", Place::Controller, around.cores, clock, Fate::Lost),
        ]
    }

    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering> {
        let commit_interval = HeldParameters::from_settings(settings).clock_interval_ns;
        let spec = EarlySpec { commit_interval, ..EarlySpec::EAGER };
        Box::new(EarlyCore::new(path_spec(settings, core, map), spec))
    }

    fn controller_side(&self, settings: &Settings) -> Box<dyn ControllerOrdering> {
        let records = HeldParameters::from_settings(settings).held_writes;
        Box::new(RecoveryTable::new(RecoverySpec::of(records, false)))
    }
}
