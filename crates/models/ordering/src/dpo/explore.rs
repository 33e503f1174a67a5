//! DPO's cores, every interleaving of them. What is promised is what ASAP promises: committed epochs are in memory, and no
//! write is without what came before it.

use super::{DpoCore, Mutant};
use crate::explore::{
    CONTROLLERS, CORES, EPOCH_TABLE, EPOCHS, LINES, Member, PERSIST_BUFFER, PathSpace, Promise, STORES,
};
use crate::spec::PathSpec;
use explore::{Bound, Explored, Given, Mutants};
use memory::PassThrough;

/// DPO, as it is explored.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Dpo {
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

impl Member for Dpo {
    type Core = DpoCore;
    type Table = PassThrough;
    type TimestampRegister = ();

    const PROMISE: Promise = Promise::Epochs;

    fn core(&self, path: PathSpec) -> DpoCore {
        DpoCore::seeded(path, self.mutant)
    }

    fn table(&self) -> PassThrough {
        PassThrough
    }
}

/// One entry alone is never behind another.
const BUFFER: Bound = Bound::number("persist-buffer", 2, 1, 64, PERSIST_BUFFER.meaning);

impl Explored for PathSpace<Dpo> {
    const NAME: &'static str = "dpo";
    const MEANING: &'static str = "DPO: entries go in order and wait for no answer of their controller";
    const BOUNDS: &'static [Bound] = &[CORES, CONTROLLERS, LINES, EPOCHS, STORES, BUFFER, EPOCH_TABLE];
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;

    fn new(given: &Given, mutant: Option<Mutant>) -> PathSpace<Dpo> {
        PathSpace { persist_buffer: given.number(&BUFFER), ..PathSpace::of(given, Dpo { mutant }) }
    }
}
