//! cWSP's cores and logs, every interleaving of them. What is promised is what ASAP promises of epochs, which are regions here.

use crate::early::member::{EPOCHS, RECORDS};
use crate::early::{EarlyCore, EarlyMember, Mutant, RecoveryTable};
use crate::explore::{
    CONTROLLERS, CORES, EPOCH_TABLE, LINES, Member, PERSIST_BUFFER, PathSpace, Promise, STORES,
};
use crate::spec::PathSpec;
use explore::{Bound, Explored, Given, Mutants};

/// cWSP, as it is explored.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Cwsp(pub EarlyMember);

impl Cwsp {
    /// Two records at each controller.
    pub const SMALL: Cwsp = Cwsp(EarlyMember { records: 2, region_stores: Some(1), mutant: None });
}

const REGION_STORES: Bound = Bound::number("region-stores", 1, 1, 8, "Stores after which a region ends");

impl Member for Cwsp {
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

impl Explored for PathSpace<Cwsp> {
    const NAME: &'static str = "cwsp";
    const MEANING: &'static str = "cWSP: regions that leave early, and logs that undo them";
    const BOUNDS: &'static [Bound] =
        &[CORES, CONTROLLERS, LINES, EPOCHS, STORES, PERSIST_BUFFER, EPOCH_TABLE, RECORDS, REGION_STORES];
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;

    fn new(given: &Given, mutant: Option<Mutant>) -> PathSpace<Cwsp> {
        let sides = EarlyMember {
            records: given.number(&RECORDS),
            region_stores: Some(given.number(&REGION_STORES)),
            mutant,
        };
        PathSpace { epochs: given.number(&EPOCHS), ..PathSpace::of(given, Cwsp(sides)) }
    }
}
