//! ASAP as the list of models knows it.

use super::params::AsapParameters;
use crate::early::{EARLY, EarlyCore, EarlySpec, RecoverySpec, RecoveryTable, WITH_RECORDS};
use crate::explore::PathSpace;
use crate::hardware::{Around, Structure, epoch_buffer, epoch_table, records};
use crate::path::{CAPABILITIES, path_spec, persistency};
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use params::Parameters;
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Persistency, Records, Settings};

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "asap",
    shared: EARLY,
    own: AsapParameters::TABLE,
    shared_statistics: WITH_RECORDS,
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

    fn structures(&self, settings: &Settings, around: &Around) -> Vec<Structure> {
        let entries = AsapParameters::from_settings(settings).recovery_table;
        let core = [epoch_buffer(settings), epoch_table(settings, around, true)];
        core.into_iter().chain(records("recovery table", entries, settings, around)).collect()
    }

    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering> {
        let asap = AsapParameters::from_settings(settings);
        let (eager, commit_pipelined) = (asap.eager, asap.commit_pipelined);
        let spec = EarlySpec { eager, commit_pipelined, ..EarlySpec::EAGER };
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
            records: Records::RecoveryTable,
            mutant: None,
        }))
    }
}
