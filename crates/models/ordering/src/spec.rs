//! Parameters of the persist paths; descriptions, units and sources stand in `machine`'s description.

use protocol::AddressMap;
use units::Dur;

/// When one core's persists wait for another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, params::Words)]
pub enum CrossCore {
    /// Epoch persistency: after every conflicting access to persistent memory, and after every acquire.
    #[word = "epoch"]
    Conflicts,
    /// Release persistency: after every acquire that synchronises with a release.
    #[word = "release"]
    Acquires,
}

/// Which accesses make one epoch depend on another under epoch persistency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, params::Words)]
pub enum Dependences {
    /// Loads and stores.
    Accesses,
    /// Stores alone.
    Stores,
}

/// What HOPS, ASAP and BBB have in common.
#[derive(Clone, Copy, Debug)]
pub struct PathSpec {
    /// This core.
    pub core: u8,
    /// Which controller owns which line.
    pub map: AddressMap,
    /// Entries of the persist buffer, at least 1.
    pub persist_buffer: usize,
    /// Epochs in flight, the open one included; at least 2.
    pub epoch_table: usize,
    /// Time from one flush to the next.
    pub flush_issue: Dur,
    /// Unflushed entries from which on the buffer flushes, at least 1.
    pub flush_trigger: usize,
    /// Below the trigger, one entry is flushed when so much time has passed.
    pub flush_timer: Dur,
    /// What orders epochs of different cores.
    pub cross_core: CrossCore,
    /// Which conflicts count under epoch persistency.
    pub dependences: Dependences,
}
