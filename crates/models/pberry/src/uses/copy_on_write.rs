//! A snapshot: what is changed after it keeps its old bytes elsewhere.

use super::{Primitives, Unit, UseCase};
use std::collections::BTreeSet;

#[derive(Default)]
pub(crate) struct CopyOnWrite {
    copied: BTreeSet<Unit>,
}

impl UseCase for CopyOnWrite {
    fn written(&mut self, unit: Unit, primitives: &mut Primitives) {
        if self.copied.insert(unit) {
            primitives.first_write(unit);
            primitives.local_copy(1);
        }
    }
}
