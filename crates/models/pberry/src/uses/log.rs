//! Logging for persistent memory: old bytes go into an undo log before memory changes, and a window's end commits.

use super::{Primitives, Unit, UseCase};
use std::collections::BTreeSet;

#[derive(Default)]
pub(crate) struct UndoLog {
    logged: BTreeSet<Unit>,
}

impl UseCase for UndoLog {
    fn written(&mut self, unit: Unit, primitives: &mut Primitives) {
        if self.logged.insert(unit) {
            primitives.first_write(unit);
            primitives.local_copy(1);
        }
    }

    fn window(&mut self, primitives: &mut Primitives) {
        primitives.track_anew();
        self.logged.clear();
    }

    /// What an abort would write back.
    fn left(&self) -> u64 {
        self.logged.len() as u64
    }
}
