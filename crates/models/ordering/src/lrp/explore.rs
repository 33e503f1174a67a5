//! LRP's cores, every interleaving of them. What is promised: committed epochs are in memory, no release without what came
//! before it, and nothing without what came before a fence or was met by an acquire.

use crate::explore::{CONTROLLERS, CORES, EPOCH_TABLE, LINES, Member, PathSpace, Promise};
use crate::in_caches::{LinesCore, Mutant, mutant, unfinished};
use crate::spec::{CrossCore, PathSpec};
use explore::{Bound, Explored, Given, Mutants, Texts};
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

    const PROMISE: Promise = Promise::Releases;
    const CROSS_CORE: CrossCore = CrossCore::Acquires;

    fn core(&self, path: PathSpec) -> LinesCore {
        LinesCore::new(path, super::RULES, self.mutant)
    }

    fn table(&self) -> PassThrough {
        PassThrough
    }
}

/// Stores that no fence keeps apart, so that releases alone order them.
const EPOCHS: Bound = Bound::number("epochs", 1, 1, 8, "Epochs of each core");
const STORES: Bound = Bound::number("stores", 2, 1, 4, "Stores in each epoch");
/// Lines of two epochs at once.
const UNFINISHED: Bound = unfinished(2);

impl Explored for PathSpace<Lrp> {
    const NAME: &'static str = "lrp";
    const MEANING: &'static str = "LRP: epochs that stay in the caches until somebody waits for them";
    const BOUNDS: &'static [Bound] = &[CORES, CONTROLLERS, LINES, EPOCHS, STORES, UNFINISHED, EPOCH_TABLE];
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &[
        mutant::PASSES_EPOCHS,
        mutant::PASSES_FENCES,
        mutant::JOINS_OVER_FENCES,
        mutant::JOINS_RELEASES,
        mutant::COMMITS_UNACKNOWLEDGED,
        mutant::HANDS_OVER_EARLY,
        mutant::HEARS_NOBODY,
    ];
    const SHOWN_WITH: &'static [(&'static str, Texts)] = &[
        ("passes-fences", &[("epochs", "2"), ("stores", "1")]),
        ("joins-over-fences", &[("epochs", "2")]),
        ("joins-releases", &[("stores", "3")]),
    ];

    fn new(given: &Given, mutant: Option<Mutant>) -> PathSpace<Lrp> {
        let (epochs, stores) = (given.number(&EPOCHS), given.number(&STORES));
        let space = PathSpace::of(given, Lrp { mutant });
        PathSpace { epochs, stores, persist_buffer: given.number(&UNFINISHED), ..space }
    }
}
