//! LRP's cores, every interleaving of them. What is promised is what HOPS promises: committed epochs are in memory, and no
//! write is without what came before it.

use crate::explore::{CONTROLLERS, CORES, EPOCH_TABLE, EPOCHS, LINES, Member, PathSpace, Promise, STORES};
use crate::in_caches::{LinesCore, Mutant, mutant, unfinished};
use crate::spec::PathSpec;
use explore::{Bound, Explored, Given, Mutants};
use memory::PassThrough;

/// LRP, as it is explored.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Lrp {
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

impl Member for Lrp {
    type Core = LinesCore;
    type Table = PassThrough;
    type TimestampRegister = ();

    const PROMISE: Promise = Promise::Epochs;

    fn core(&self, path: PathSpec) -> LinesCore {
        LinesCore::new(path, super::RULES, self.mutant)
    }

    fn table(&self) -> PassThrough {
        PassThrough
    }
}

/// Lines of two epochs at once.
const UNFINISHED: Bound = unfinished(2);

impl Explored for PathSpace<Lrp> {
    const NAME: &'static str = "lrp";
    const MEANING: &'static str = "LRP: epochs that stay in the caches until somebody waits for them";
    const BOUNDS: &'static [Bound] = &[CORES, CONTROLLERS, LINES, EPOCHS, STORES, UNFINISHED, EPOCH_TABLE];
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &[
        mutant::PASSES_EPOCHS,
        mutant::COMMITS_UNACKNOWLEDGED,
        mutant::HANDS_OVER_EARLY,
        mutant::HEARS_NOBODY,
    ];

    fn new(given: &Given, mutant: Option<Mutant>) -> PathSpace<Lrp> {
        PathSpace { persist_buffer: given.number(&UNFINISHED), ..PathSpace::of(given, Lrp { mutant }) }
    }
}
