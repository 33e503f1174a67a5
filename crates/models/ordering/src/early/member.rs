//! Early flushes as they are explored.

use super::{EarlyCore, EarlySpec, Mutant, RecoverySpec, RecoveryTable};
use crate::spec::PathSpec;
use explore::Bound;

/// Both sides of a model with early flushes.
#[derive(Clone, Copy, Debug, Hash)]
pub struct EarlyMember {
    /// Records of a controller.
    pub records: usize,
    /// Stores after which a region ends; none where the program draws epochs.
    pub region_stores: Option<usize>,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

/// Where flushes leave early, two epochs of each core are explored in seconds.
pub(crate) const EPOCHS: Bound = Bound::number("epochs", 2, 1, 8, crate::explore::EPOCHS.meaning);
/// Records of a controller.
pub(crate) const RECORDS: Bound =
    Bound::number("records", 2, 0, 64, "Records of each controller; 0 refuses every early flush");

impl EarlyMember {
    /// A core's side, idle.
    pub(crate) fn core(&self, path: PathSpec) -> EarlyCore {
        let core = EarlyCore::new(path, EarlySpec { mutant: self.mutant, ..EarlySpec::EAGER });
        match self.region_stores {
            Some(stores) => core.in_regions(stores),
            None => core,
        }
    }

    /// A controller's side, empty.
    pub(crate) fn table(&self) -> RecoveryTable {
        let spec = RecoverySpec::of(self.records, true);
        RecoveryTable::new(RecoverySpec { mutant: self.mutant, ..spec })
    }
}
