//! What release persistency orders, as the checker knows it: how many stores of each core come before a store.

use super::MOST_CORES;
use super::state::Written;

/// So many stores of each core.
pub(super) type Stores = [u8; MOST_CORES];

/// Where cores stand. Nothing moves where releases are not explored.
#[derive(Clone, Hash)]
pub(super) struct Releases {
    /// Stores that each core has made.
    made: Stores,
    /// What the next plain store of each core comes after: what is before a fence, and what an acquire met.
    plain: Vec<Stores>,
}

impl Releases {
    pub(super) fn new(cores: usize) -> Releases {
        Releases { made: [0; MOST_CORES], plain: vec![[0; MOST_CORES]; cores] }
    }

    /// Whether a core stores after `last` without a race.
    pub(super) fn knows(&self, core: usize, last: Option<&Written>) -> bool {
        last.is_none_or(|w| w.core == core || w.place < self.plain[core][w.core])
    }

    /// A core stores after `last`, and acquires and releases or does not: its place, and what comes before it.
    pub(super) fn store(&mut self, core: usize, last: Option<&Written>, releases: bool) -> (u8, Stores) {
        let place = self.made[core];
        self.made[core] += 1;
        if !releases {
            return (place, self.plain[core]);
        }
        if let Some(met) = last.filter(|w| w.releases && w.core != core) {
            let own = &mut self.plain[core];
            own.iter_mut().zip(met.after).for_each(|(own, met)| *own = met.max(*own));
            own[met.core] = own[met.core].max(met.place + 1);
        }
        let mut before = self.plain[core];
        before[core] = place;
        (place, before)
    }

    /// A core passes a fence.
    pub(super) fn fence(&mut self, core: usize) {
        self.plain[core][core] = self.made[core];
    }
}
