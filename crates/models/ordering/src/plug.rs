//! What an ordering model declares of itself, in its own folder.

use crate::hardware::{Around, Structure};
use explore::Harness;
use params::{Param, StatisticInfo};
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Node, Persistency, Settings};

/// A persist-ordering model.
pub trait OrderingModel: Sync {
    /// What it asks of cores and caches.
    fn capabilities(&self) -> Capabilities;

    /// Whether a core tells another when an epoch that it waits for is done. Others ask a register, or wait for nobody.
    fn tells_other_cores(&self) -> bool {
        false
    }

    /// What programs may rely on when they recover.
    fn persistency(&self, settings: &Settings) -> Persistency;

    /// The half beside core `core`.
    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering>;

    /// The half at a controller of persistent memory.
    fn controller_side(&self, settings: &Settings) -> Box<dyn ControllerOrdering>;

    /// A node that the halves beside `cores` cores share, where there is one.
    fn shared_node(&self, settings: &Settings, cores: usize) -> Option<Box<dyn Node>> {
        let _ = (settings, cores);
        None
    }

    /// What it adds to the machine `around` it, and what of that a power failure brings to memory. Caches that survive are
    /// among it, without a bit of their own.
    fn structures(&self, settings: &Settings, around: &Around) -> Vec<Structure>;

    /// Whether parameters that are accepted one by one fit together.
    ///
    /// # Errors
    /// The key, and what is accepted.
    fn check(&self, settings: &Settings) -> Result<(), String> {
        let _ = settings;
        Ok(())
    }
}

/// A model under its word in descriptions.
#[derive(Clone, Copy)]
pub struct Registered {
    /// The word.
    pub name: &'static str,
    /// Tables of parameters that other models read too.
    pub shared: &'static [&'static [Param]],
    /// Parameters that no other model reads.
    pub own: &'static [Param],
    /// Tables of statistics that other models report too.
    pub shared_statistics: &'static [&'static [StatisticInfo]],
    /// Statistics that no other model reports.
    pub statistics: &'static [StatisticInfo],
    /// Its protocol, for exploration.
    pub protocol: Harness,
    /// The model.
    pub model: &'static dyn OrderingModel,
}
