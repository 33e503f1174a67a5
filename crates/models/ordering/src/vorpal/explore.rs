//! Vorpal's cores and controllers, every interleaving of them. What is promised is what ASAP promises.

use super::{ClockedCore, ClockedTable, Mutant};
use crate::early::member::{EPOCHS, RECORDS};
use crate::explore::{
    CONTROLLERS, CORES, EPOCH_TABLE, LINES, Member, PERSIST_BUFFER, PathSpace, Promise, STORES,
};
use crate::spec::PathSpec;
use explore::{Bound, Explored, Given, Mutants, Texts};
use units::Dur;

/// Vorpal, as it is explored.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Vorpal {
    /// Writes that a controller may hold.
    pub held_writes: usize,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

impl Vorpal {
    /// Two writes at each controller.
    pub const SMALL: Vorpal = Vorpal { held_writes: 2, mutant: None };
}

impl Member for Vorpal {
    type Core = ClockedCore;
    type Table = ClockedTable;
    type TimestampRegister = ();

    const PROMISE: Promise = Promise::Epochs;

    fn core(&self, path: PathSpec) -> ClockedCore {
        ClockedCore::new(path, self.mutant)
    }

    fn table(&self) -> ClockedTable {
        ClockedTable::new(self.held_writes, Dur::ZERO, self.mutant)
    }
}

impl Explored for PathSpace<Vorpal> {
    const NAME: &'static str = "vorpal";
    const MEANING: &'static str = "Vorpal: controllers that keep writes until clocks allow them";
    const BOUNDS: &'static [Bound] =
        &[CORES, CONTROLLERS, LINES, EPOCHS, STORES, PERSIST_BUFFER, EPOCH_TABLE, RECORDS];
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;
    const SHOWN_WITH: &'static [(&'static str, Texts)] = &[("forgets-refused", &[("records", "0")])];

    fn new(given: &Given, mutant: Option<Mutant>) -> PathSpace<Vorpal> {
        let sides = Vorpal { held_writes: given.number(&RECORDS), mutant };
        PathSpace { epochs: given.number(&EPOCHS), ..PathSpace::of(given, sides) }
    }
}
