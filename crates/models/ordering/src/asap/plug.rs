//! ASAP as the list of models knows it.

use super::{AsapCore, RecoverySpec, RecoveryTable};
use crate::AsapSpec;
use crate::path::{CAPABILITIES, path_spec, persistency};
use crate::plug::{OrderingModel, Registered};
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Persistency, Settings};

/// The model, by its word.
pub const MODEL: Registered = Registered { name: "asap", parameters: &[], model: &Asap };

struct Asap;

impl OrderingModel for Asap {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn persistency(&self, settings: &Settings) -> Persistency {
        persistency(settings)
    }

    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering> {
        let spec = AsapSpec {
            eager: settings.flag("ordering.eager"),
            commit_pipelined: settings.flag("ordering.commit_pipelined"),
            mutant: None,
        };
        Box::new(AsapCore::new(path_spec(settings, core, map), spec))
    }

    fn controller_side(&self, settings: &Settings) -> Box<dyn ControllerOrdering> {
        Box::new(RecoveryTable::new(RecoverySpec {
            entries: settings.count("ordering.recovery_table"),
            undo_reads: settings.flag("ordering.undo_reads"),
            delay_writes: settings.flag("ordering.delay_writes"),
            nack_following: settings.flag("ordering.nack_following"),
            mutant: None,
        }))
    }
}
