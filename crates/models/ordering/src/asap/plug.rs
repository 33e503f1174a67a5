//! ASAP as the list of models knows it.

use super::params::AsapParameters;
use crate::early::{EarlyCore, EarlySpec, RecoverySpec, RecoveryTable};
use crate::explore::PathSpace;
use crate::path::{BufferParameters, CAPABILITIES, EpochParameters, path_spec, persistency};
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use memory::params::CommitParameters;
use params::{Param, Parameters};
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Persistency, Settings};

/// Its commits are messages, which HOPS's are not.
const PATH: &[&[Param]] = &[BufferParameters::TABLE, EpochParameters::TABLE, CommitParameters::TABLE];

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "asap",
    shared: PATH,
    own: AsapParameters::TABLE,
    statistics: &[],
    protocol: Harness::of::<PathSpace<super::explore::Asap>>(),
    model: &Asap,
};

struct Asap;

impl OrderingModel for Asap {
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
        let asap = AsapParameters::from_settings(settings);
        let spec = EarlySpec { eager: asap.eager, commit_pipelined: asap.commit_pipelined, mutant: None };
        Box::new(EarlyCore::new(path_spec(settings, core, map), spec))
    }

    fn controller_side(&self, settings: &Settings) -> Box<dyn ControllerOrdering> {
        let asap = AsapParameters::from_settings(settings);
        Box::new(RecoveryTable::new(RecoverySpec {
            entries: asap.recovery_table,
            speculates: true,
            undo_reads: asap.undo_reads,
            delay_writes: asap.delay_writes,
            nack_following: asap.nack_following,
            mutant: None,
        }))
    }
}
