//! HOPS's cores and the global timestamp register, every interleaving of them. What is promised is what ASAP promises:
//! committed epochs are in memory, and no write is without what came before it.

use super::HopsSpec;
use super::{HopsCore, Mutant, Timestamps};
use crate::explore::{
    CONTROLLERS, CORES, EPOCH_TABLE, LINES, Member, PERSIST_BUFFER, PathSpace, Promise, STORES,
    TimestampRegister,
};
use crate::spec::PathSpec;
use explore::{Bound, Explored, Given, Mutants, Texts};
use memory::PassThrough;
use protocol::{Msg, messages};
use units::{Dur, Time};

/// HOPS, as it is explored.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Hops {
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

/// Longer than any trace takes: a poll is a step of its own, and comes when the explorer says so.
const POLL: Dur = Dur::ns(1_000_000);

/// Polls make many states of few epochs.
const EPOCHS: Bound = Bound::number("epochs", 2, 1, 8, "Epochs of each core");

impl Member for Hops {
    type Core = HopsCore;
    type Table = PassThrough;
    type TimestampRegister = Timestamps;

    const PROMISE: Promise = Promise::Epochs;

    fn core(&self, path: PathSpec) -> HopsCore {
        HopsCore::seeded(path, HopsSpec { poll: POLL }, self.mutant)
    }

    fn table(&self) -> PassThrough {
        PassThrough
    }

    fn timer(core: &HopsCore) -> Time {
        core.poll_at()
    }
}

impl TimestampRegister for Timestamps {
    fn of(cores: usize) -> Timestamps {
        Timestamps::new(cores)
    }

    fn on(&mut self, core: u8, msg: &Msg) -> Option<Msg> {
        match *msg {
            Msg::Publish { epoch } => self.publish(core, epoch),
            Msg::Poll { core } => return Some(Msg::Timestamp { tag: self.read(core) }),
            Msg::Timestamp { .. }
            | messages!(timers | caches | memory | persists | acknowledgements | dependences)
            | messages!(uncached | near) => protocol::unexpected("the timestamp register", msg),
        }
        None
    }
}

impl Explored for PathSpace<Hops> {
    const NAME: &'static str = "hops";
    const MEANING: &'static str = "HOPS: one epoch after the other, dependences resolved by polling";
    const BOUNDS: &'static [Bound] =
        &[CORES, CONTROLLERS, LINES, EPOCHS, STORES, PERSIST_BUFFER, EPOCH_TABLE];
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;
    const SHOWN_WITH: &'static [(&'static str, Texts)] =
        &[("flushes-past-epochs", &[("persist-buffer", "2")])];

    fn new(given: &Given, mutant: Option<Mutant>) -> PathSpace<Hops> {
        PathSpace { epochs: given.number(&EPOCHS), ..PathSpace::of(given, Hops { mutant }) }
    }
}
