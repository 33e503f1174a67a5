//! Memory that is encrypted where it lies. By lines the agent deciphers what caches read and enciphers what they write back, in
//! place; by pages a fault opens a page, and a window's end closes all that are open.

use super::{Primitives, Unit, UseCase};
use std::collections::BTreeSet;

#[derive(Default)]
pub(crate) struct Encrypt {
    open: BTreeSet<Unit>,
}

impl UseCase for Encrypt {
    fn read(&mut self, unit: Unit, primitives: &mut Primitives) {
        if primitives.tells_every_write() || self.open.insert(unit) {
            primitives.first_write(unit);
            primitives.transform(1);
        }
    }

    fn written(&mut self, unit: Unit, primitives: &mut Primitives) {
        self.read(unit, primitives);
    }

    fn window(&mut self, primitives: &mut Primitives) {
        primitives.transform(self.open.len() as u64);
        primitives.track_anew();
        self.open.clear();
    }

    /// What lies open.
    fn left(&self) -> u64 {
        self.open.len() as u64
    }
}
