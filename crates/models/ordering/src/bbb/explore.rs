//! BBB's buffers, every interleaving of them. What is promised is more than elsewhere: whatever is visible is durable.
//!
//! Flushes of all cores take the same time to a controller, and its answers the same time back, so they share a wire here:
//! the model relies on it when a line goes from one core to another. With wires of different lengths, a buffer that has not
//! heard yet that its write of a line was taken would drain it over a younger one of another core.

use super::{BatteryBuffer, Mutant};
use crate::explore::{CONTROLLERS, CORES, EPOCHS, LINES, Member, PERSIST_BUFFER, PathSpace, Promise, STORES};
use crate::spec::PathSpec;
use explore::{Bound, Explored, Given, Mutants};
use memory::PassThrough;

/// BBB, as it is explored.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Bbb {
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

impl Member for Bbb {
    type Core = BatteryBuffer;
    type Table = PassThrough;
    type TimestampRegister = ();

    const PROMISE: Promise = Promise::Stores;
    const ONE_WIRE: bool = true;

    fn core(&self, path: PathSpec) -> BatteryBuffer {
        BatteryBuffer::seeded(path, self.mutant)
    }

    fn table(&self) -> PassThrough {
        PassThrough
    }
}

impl Explored for PathSpace<Bbb> {
    const NAME: &'static str = "bbb";
    const MEANING: &'static str = "BBB: battery-backed buffers, durable at once";
    const BOUNDS: &'static [Bound] = &[CORES, CONTROLLERS, LINES, EPOCHS, STORES, PERSIST_BUFFER];
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;

    fn new(given: &Given, mutant: Option<Mutant>) -> PathSpace<Bbb> {
        PathSpace::of(given, Bbb { mutant })
    }
}
