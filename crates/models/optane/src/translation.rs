//! The DIMM's address translation: which pages it has at hand.

use crate::TranslationSpec;
use protocol::{Line, PAGE_BYTES};
use units::Dur;

/// Pages of a set.
const WAYS: usize = 4;

/// A cache of page numbers: sets of four, the least recently used of which leaves. Cost: one set of four numbers.
#[derive(Clone, Debug)]
pub(crate) struct Translation {
    spec: TranslationSpec,
    /// Page number plus one, the most recent of a set first; zero where there is none.
    sets: Vec<[u64; WAYS]>,
}

impl Translation {
    pub(crate) fn new(spec: TranslationSpec) -> Translation {
        Translation { spec, sets: vec![[0; WAYS]; (spec.pages / WAYS).max(1)] }
    }

    /// Further time of an access to `line`; its page is at hand from then on.
    pub(crate) fn look_up(&mut self, line: Line) -> Dur {
        let page = line.address() / PAGE_BYTES + 1;
        // Interleaving leaves every so-many-th page: the mixing keeps them from meeting in few sets.
        let index = units::mix(page) as usize % self.sets.len();
        let set = &mut self.sets[index];
        let place = set.iter().position(|p| *p == page);
        set[..=place.unwrap_or(WAYS - 1)].rotate_right(1);
        set[0] = page;
        if place.is_some() { Dur::ZERO } else { self.spec.miss }
    }
}
