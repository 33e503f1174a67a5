//! Vorpal's cores and controllers, every interleaving of them. What is promised is what ASAP promises.

use crate::early::member::{EPOCHS, RECORDS};
use crate::early::{EarlyCore, EarlyMember, Mutant, RecoveryTable};
use crate::explore::{
    CONTROLLERS, CORES, EPOCH_TABLE, LINES, Member, PERSIST_BUFFER, PathSpace, Promise, STORES,
};
use crate::spec::PathSpec;
use explore::{Bound, Explored, Given, Mutants};

/// Vorpal, as it is explored.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Vorpal(pub EarlyMember);

impl Vorpal {
    /// Two records at each controller.
    pub const SMALL: Vorpal =
        Vorpal(EarlyMember { records: 2, speculates: false, region_stores: None, mutant: None });
}

impl Member for Vorpal {
    type Core = EarlyCore;
    type Table = RecoveryTable;
    type TimestampRegister = ();

    const PROMISE: Promise = Promise::Epochs;

    fn core(&self, path: PathSpec) -> EarlyCore {
        self.0.core(path)
    }

    fn table(&self) -> RecoveryTable {
        self.0.table()
    }
}

impl Explored for PathSpace<Vorpal> {
    const NAME: &'static str = "vorpal";
    const MEANING: &'static str = "Vorpal: controllers that keep writes until their order allows them";
    const BOUNDS: &'static [Bound] =
        &[CORES, CONTROLLERS, LINES, EPOCHS, STORES, PERSIST_BUFFER, EPOCH_TABLE, RECORDS];
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;

    fn new(given: &Given, mutant: Option<Mutant>) -> PathSpace<Vorpal> {
        let sides = EarlyMember { records: given.number(&RECORDS), mutant, ..Vorpal::SMALL.0 };
        PathSpace { epochs: given.number(&EPOCHS), ..PathSpace::of(given, Vorpal(sides)) }
    }
}
