//! HOPS as the list of models knows it.

use super::{HopsCore, TimestampRegister};
use crate::HopsSpec;
use crate::path::{CAPABILITIES, Direct, path_spec, persistency};
use crate::plug::{OrderingModel, Registered};
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Node, Persistency, Settings};

/// The model, by its word.
pub const MODEL: Registered = Registered { name: "hops", parameters: &[], model: &Hops };

struct Hops;

impl OrderingModel for Hops {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn persistency(&self, settings: &Settings) -> Persistency {
        persistency(settings)
    }

    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering> {
        let spec = HopsSpec { poll: settings.dur("ordering.poll_ns") };
        Box::new(HopsCore::new(path_spec(settings, core, map), spec))
    }

    fn controller_side(&self, _: &Settings) -> Box<dyn ControllerOrdering> {
        Box::new(Direct::default())
    }

    fn shared_node(&self, settings: &Settings, cores: usize) -> Option<Box<dyn Node>> {
        Some(Box::new(TimestampRegister::new(cores, settings.dur("ordering.poll_access_ns"))))
    }
}
