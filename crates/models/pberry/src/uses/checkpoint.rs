//! Checkpoints: at the end of each window what has changed is copied aside, and from there to another host.

use super::{Primitives, Unit, UseCase};
use std::collections::BTreeSet;

#[derive(Default)]
pub(crate) struct Checkpoint {
    dirty: BTreeSet<Unit>,
}

impl UseCase for Checkpoint {
    fn written(&mut self, unit: Unit, primitives: &mut Primitives) {
        if self.dirty.insert(unit) {
            primitives.first_write(unit);
        }
    }

    fn window(&mut self, primitives: &mut Primitives) {
        let count = self.dirty.len() as u64;
        primitives.local_copy(count);
        primitives.remote_copy(count);
        primitives.track_anew();
        self.dirty.clear();
    }

    fn left(&self) -> u64 {
        self.dirty.len() as u64
    }
}
