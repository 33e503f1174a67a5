//! HOPS as the list of models knows it.

use super::HopsSpec;
use super::params::HopsParameters;
use super::{HopsCore, PollStats, TimestampRegister};
use crate::explore::PathSpace;
use crate::hardware::{Around, EPOCH_BITS, Fate, Place, Structure, epoch_buffer, epoch_table, structure};
use crate::path::{BUFFERED, CAPABILITIES, DEPENDING, Direct, path_spec, persistency};
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use params::{Parameters, Statistics};
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Node, Persistency, Settings};

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "hops",
    shared: BUFFERED,
    own: HopsParameters::TABLE,
    shared_statistics: DEPENDING,
    statistics: PollStats::TABLE,
    protocol: Harness::of::<PathSpace<super::explore::Hops>>(),
    model: &Hops,
};

struct Hops;

impl OrderingModel for Hops {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn persistency(&self, settings: &Settings) -> Persistency {
        persistency(settings)
    }

    fn structures(&self, settings: &Settings, around: &Around) -> Vec<Structure> {
        vec![
            epoch_buffer(settings),
            epoch_table(settings, around, false),
            structure("timestamp register", Place::Machine, around.cores, EPOCH_BITS, Fate::Lost),
        ]
    }

    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering> {
        let spec = HopsSpec { poll: HopsParameters::from_settings(settings).poll_ns };
        Box::new(HopsCore::new(path_spec(settings, core, map), spec))
    }

    fn controller_side(&self, _: &Settings) -> Box<dyn ControllerOrdering> {
        Box::new(Direct::default())
    }

    fn shared_node(&self, settings: &Settings, cores: usize) -> Option<Box<dyn Node>> {
        let access = HopsParameters::from_settings(settings).poll_access_ns;
        Some(Box::new(TimestampRegister::new(cores, access)))
    }
}
