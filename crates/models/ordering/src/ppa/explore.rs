//! PPA's cores, every interleaving of them. What is promised is what BBB promises: whatever is visible is durable.
//!
//! Flushes of all cores take the same time to a controller, and its answers the same time back, so they share a wire here, as BBB's do
//! and for the same reason.

use super::{Mutant, PpaCore};
use crate::explore::{CONTROLLERS, CORES, EPOCHS, LINES, Member, PERSIST_BUFFER, PathSpace, Promise, STORES};
use crate::spec::PathSpec;
use explore::{Bound, Explored, Given, Mutants};
use memory::PassThrough;

/// PPA, as it is explored.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Ppa {
    /// Stores after which a region ends.
    pub region_stores: usize,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

const REGION_STORES: Bound = Bound::number("region-stores", 2, 1, 8, "Stores after which a region ends");
/// A region of two stores fits.
const BUFFER: Bound = Bound::number("persist-buffer", 2, 1, 64, PERSIST_BUFFER.meaning);

impl Member for Ppa {
    type Core = PpaCore;
    type Table = PassThrough;
    type TimestampRegister = ();

    const PROMISE: Promise = Promise::Stores;
    const ONE_WIRE: bool = true;

    fn core(&self, path: PathSpec) -> PpaCore {
        PpaCore::new(path, self.region_stores, self.mutant)
    }

    fn table(&self) -> PassThrough {
        PassThrough
    }
}

impl Explored for PathSpace<Ppa> {
    const NAME: &'static str = "ppa";
    const MEANING: &'static str = "PPA: stores that are kept until they are durable";
    const BOUNDS: &'static [Bound] = &[CORES, CONTROLLERS, LINES, EPOCHS, STORES, BUFFER, REGION_STORES];
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;

    fn new(given: &Given, mutant: Option<Mutant>) -> PathSpace<Ppa> {
        let space = PathSpace::of(given, Ppa { region_stores: given.number(&REGION_STORES), mutant });
        PathSpace { persist_buffer: given.number(&BUFFER), ..space }
    }
}
