//! Epochs that a program does not draw itself: a compiler or the core ends one every so many stores.

use params::Parameters;
use protocol::EpochId;

/// How long they are.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub(crate) struct RegionParameters {
    /// stores to persistent memory after which a region ends, where nothing ended it before
    #[param(
        default = "32",
        source = "open 8..128: compilers end regions at calls and loops, which recordings do not tell",
        min = 1,
        max = 4096
    )]
    pub(crate) region_stores: usize,
}

/// How much of the open region is done.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Regions {
    stores: usize,
    /// The open epoch when something was stored last, and its stores.
    epoch: EpochId,
    done: usize,
}

impl Regions {
    pub(crate) fn new(stores: usize) -> Regions {
        Regions { stores, epoch: 0, done: 0 }
    }

    /// Whether the open epoch takes another store.
    pub(crate) fn may_store(&self, open: EpochId) -> bool {
        self.epoch != open || self.done < self.stores
    }

    /// A store joined the open epoch.
    pub(crate) fn stored(&mut self, open: EpochId) {
        self.done = if self.epoch == open { self.done + 1 } else { 1 };
        self.epoch = open;
    }
}
