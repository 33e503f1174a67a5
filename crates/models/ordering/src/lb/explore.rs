//! LB++'s cores, every interleaving of them. What is promised is what HOPS promises: committed epochs are in memory, and no
//! write is without what came before it.

use crate::explore::{CONTROLLERS, CORES, EPOCH_TABLE, EPOCHS, LINES, Member, PathSpace, Promise, STORES};
use crate::in_caches::{LinesCore, Mutant, Rules, mutant, unfinished};
use crate::spec::PathSpec;
use explore::{Bound, Explored, Given, Mutants};
use memory::PassThrough;

/// LB++, as it is explored.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Lb {
    /// What it does on its own.
    pub rules: Rules,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

impl Lb {
    /// As published.
    pub const RULES: Rules = Rules { proactive: true, tracks: true, one_sided: false };
}

impl Member for Lb {
    type Core = LinesCore;
    type Table = PassThrough;
    type TimestampRegister = ();

    const PROMISE: Promise = Promise::Epochs;

    fn core(&self, path: PathSpec) -> LinesCore {
        LinesCore::new(path, self.rules, self.mutant)
    }

    fn table(&self) -> PassThrough {
        PassThrough
    }
}

const UNFINISHED: Bound = unfinished(1);

impl Explored for PathSpace<Lb> {
    const NAME: &'static str = "lb++";
    const MEANING: &'static str = "LB++: epochs whose lines wait in the caches, and who depends on them";
    const BOUNDS: &'static [Bound] = &[CORES, CONTROLLERS, LINES, EPOCHS, STORES, UNFINISHED, EPOCH_TABLE];
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &[
        mutant::IGNORES_DEPENDENCE,
        mutant::PASSES_EPOCHS,
        mutant::COMMITS_UNACKNOWLEDGED,
        mutant::HANDS_OVER_EARLY,
    ];

    fn new(given: &Given, mutant: Option<Mutant>) -> PathSpace<Lb> {
        let space = PathSpace::of(given, Lb { rules: Lb::RULES, mutant });
        PathSpace { persist_buffer: given.number(&UNFINISHED), ..space }
    }
}
