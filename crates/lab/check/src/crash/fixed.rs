//! Recovery on one image.

use super::in_flight::Tracker;
use super::unit::Unit;
use std::collections::BTreeMap;
use workloads::Persistent;

/// What recovery does with an image: the memory, and the operations that each thread had ended.
pub type Check<'c> = dyn FnMut(&mut dyn Persistent, &[u64]) -> Result<(), String> + 'c;

pub(super) type Failing = Option<(BTreeMap<Unit, usize>, String)>;

/// Memory under a fixed choice; a unit that it does not name keeps as much as the model allows.
struct Fixed<'a, 'b> {
    tracker: &'a Tracker<'b>,
    choice: BTreeMap<Unit, usize>,
}

impl Persistent for Fixed<'_, '_> {
    fn word(&mut self, address: u64) -> u64 {
        let unit = self.tracker.unit(address);
        let Some(stores) = self.tracker.in_flight.get(&unit) else {
            return self.tracker.persisted.word(address);
        };
        if !self.choice.contains_key(&unit) {
            for kept in (0..=stores.len()).rev() {
                self.choice.insert(unit, kept);
                if self.tracker.allows(&self.choice) {
                    break;
                }
            }
        }
        self.tracker.word(address, &stores[..self.choice[&unit].min(stores.len())])
    }
}

/// Recovery on one image.
pub(super) fn fixed(
    tracker: &Tracker<'_>,
    choice: &BTreeMap<Unit, usize>,
    check: &mut Check<'_>,
) -> Result<(), String> {
    check(&mut Fixed { tracker, choice: choice.clone() }, &tracker.ended)
}
