//! ASAP's cores and recovery tables, every interleaving of them. What must hold at every step is ASAP's Theorem 2
//! (§VI-B): every write of a committed epoch is in memory, and no write of an epoch is without all that came before it.
//! Theorem 1 (§VI-A) is that nothing gets stuck.

use crate::early::{EarlyCore, EarlyMember, Mutant, RecoveryTable};
use crate::explore::{
    CONTROLLERS, CORES, EPOCH_TABLE, EPOCHS, LINES, Member, PERSIST_BUFFER, PathSpace, Promise, STORES,
};
use crate::spec::PathSpec;
use explore::{Bound, Explored, Given, Mutants};

/// ASAP, as it is explored.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Asap {
    /// Entries of a recovery table.
    pub recovery_table: usize,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

impl Asap {
    /// Recovery tables of two entries.
    pub const SMALL: Asap = Asap { recovery_table: 2, mutant: None };

    fn sides(self) -> EarlyMember {
        let Asap { recovery_table: records, mutant } = self;
        EarlyMember { records, region_stores: None, mutant }
    }
}

const RECOVERY_TABLE: Bound =
    Bound::number("recovery-table", 2, 0, 64, "Entries of each recovery table; 0 refuses every early flush");

impl Member for Asap {
    type Core = EarlyCore;
    type Table = RecoveryTable;
    type TimestampRegister = ();

    const PROMISE: Promise = Promise::Epochs;

    fn core(&self, path: PathSpec) -> EarlyCore {
        self.sides().core(path)
    }

    fn table(&self) -> RecoveryTable {
        self.sides().table()
    }
}

impl Explored for PathSpace<Asap> {
    const NAME: &'static str = "asap";
    const MEANING: &'static str = "ASAP: eager flushes, recovery tables, commits, and both theorems";
    const BOUNDS: &'static [Bound] =
        &[CORES, CONTROLLERS, LINES, EPOCHS, STORES, PERSIST_BUFFER, EPOCH_TABLE, RECOVERY_TABLE];
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;

    fn new(given: &Given, mutant: Option<Mutant>) -> PathSpace<Asap> {
        PathSpace::of(given, Asap { recovery_table: given.number(&RECOVERY_TABLE), mutant })
    }
}
