//! Live migration of a process or virtual machine to another host.

use super::{Primitives, Unit, UseCase, page_of};
use std::collections::BTreeSet;

/// The program runs here while its memory is copied there; each round copies what the one before has missed.
#[derive(Default)]
pub(crate) struct PreCopy {
    dirty: BTreeSet<Unit>,
}

impl UseCase for PreCopy {
    fn written(&mut self, unit: Unit, primitives: &mut Primitives) {
        if self.dirty.insert(unit) {
            primitives.first_write(unit);
        }
    }

    fn window(&mut self, primitives: &mut Primitives) {
        primitives.remote_copy(self.dirty.len() as u64);
        primitives.track_anew();
        self.dirty.clear();
    }

    /// What is copied while the program stands still.
    fn left(&self) -> u64 {
        self.dirty.len() as u64
    }
}

/// The program runs there already; a page comes when it is wanted.
#[derive(Default)]
pub(crate) struct PostCopy {
    here: BTreeSet<u64>,
}

impl UseCase for PostCopy {
    fn read(&mut self, unit: Unit, primitives: &mut Primitives) {
        if self.here.insert(page_of(unit, primitives)) {
            primitives.fetch_page();
        }
    }

    fn written(&mut self, unit: Unit, primitives: &mut Primitives) {
        self.read(unit, primitives);
    }
}
