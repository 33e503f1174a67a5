//! Capri's buffers, every interleaving of them. Whatever a region wrote that has ended is durable, and of one that has not, nothing.
//!
//! Flushes of all cores take the same time to a controller, and its answers the same time back, so they share a wire here, as BBB's do
//! and for the same reason.

use super::{CapriCore, Mutant};
use crate::explore::{CONTROLLERS, CORES, EPOCHS, LINES, Member, PERSIST_BUFFER, PathSpace, Promise, STORES};
use crate::spec::PathSpec;
use explore::{Bound, Explored, Given, Mutants, Texts};
use memory::PassThrough;

/// Capri, as it is explored.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Capri {
    /// Stores after which a region ends.
    pub region_stores: usize,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

const REGION_STORES: Bound = Bound::number("region-stores", 2, 1, 8, "Stores after which a region ends");
/// A region of two stores fits.
const BUFFER: Bound = Bound::number("persist-buffer", 2, 1, 64, PERSIST_BUFFER.meaning);

impl Member for Capri {
    type Core = CapriCore;
    type Table = PassThrough;
    type TimestampRegister = ();

    const PROMISE: Promise = Promise::Regions;
    const ONE_WIRE: bool = true;

    fn core(&self, path: PathSpec) -> CapriCore {
        CapriCore::new(path, self.region_stores, self.mutant)
    }

    fn table(&self) -> PassThrough {
        PassThrough
    }
}

impl Explored for PathSpace<Capri> {
    const NAME: &'static str = "capri";
    const MEANING: &'static str = "Capri: regions that a power failure leaves whole or not at all";
    const BOUNDS: &'static [Bound] = &[CORES, CONTROLLERS, LINES, EPOCHS, STORES, BUFFER, REGION_STORES];
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;
    const SHOWN_WITH: &'static [(&'static str, Texts)] = &[("sends-open-region", &[("stores", "2")])];

    fn new(given: &Given, mutant: Option<Mutant>) -> PathSpace<Capri> {
        let space = PathSpace::of(given, Capri { region_stores: given.number(&REGION_STORES), mutant });
        PathSpace { persist_buffer: given.number(&BUFFER), ..space }
    }
}
