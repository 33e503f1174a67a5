//! A replica on another host. By lines every write-back follows at once; by pages what has changed in a window follows at
//! its end, for a fault tells of the first write alone.

use super::{Primitives, Unit, UseCase};
use std::collections::BTreeSet;

#[derive(Default)]
pub(crate) struct Replicate {
    behind: BTreeSet<Unit>,
}

impl UseCase for Replicate {
    fn written(&mut self, unit: Unit, primitives: &mut Primitives) {
        if primitives.tells_every_write() {
            primitives.first_write(unit);
            primitives.remote_copy(1);
        } else if self.behind.insert(unit) {
            primitives.first_write(unit);
        }
    }

    fn window(&mut self, primitives: &mut Primitives) {
        primitives.remote_copy(self.behind.len() as u64);
        primitives.track_anew();
        self.behind.clear();
    }

    /// How far the replica is behind.
    fn left(&self) -> u64 {
        self.behind.len() as u64
    }
}
