//! A counting Bloom filter over lines: two hash functions, 8-bit counters.

use protocol::Line;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use units::mix;

/// Counters of a filter.
pub(crate) const COUNTERS: usize = 1024;

#[derive(Clone)]
pub(super) struct CountingBloom {
    /// Shared by clones until one changes, so that an explorer can afford many.
    counters: Arc<[u8; COUNTERS]>,
    inside: usize,
}

/// The counters that are not zero.
impl Hash for CountingBloom {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let CountingBloom { counters, inside } = self;
        inside.hash(into);
        if *inside > 0 {
            counters.iter().enumerate().filter(|(_, n)| **n > 0).for_each(|counter| counter.hash(into));
        }
    }
}

impl CountingBloom {
    pub(super) fn new() -> CountingBloom {
        CountingBloom { counters: Arc::new([0; COUNTERS]), inside: 0 }
    }

    fn places(line: Line) -> [usize; 2] {
        let h = mix(line.0);
        [h as usize % COUNTERS, (h >> 32) as usize % COUNTERS]
    }

    pub(super) fn insert(&mut self, line: Line) {
        self.inside += 1;
        let counters = Arc::make_mut(&mut self.counters);
        for place in Self::places(line) {
            counters[place] = counters[place].saturating_add(1);
        }
    }

    /// Takes one insertion back. A saturated counter stays: a false positive only delays.
    pub(super) fn remove(&mut self, line: Line) {
        self.inside = self.inside.saturating_sub(1);
        let counters = Arc::make_mut(&mut self.counters);
        for place in Self::places(line) {
            if counters[place] < u8::MAX {
                counters[place] = counters[place].saturating_sub(1);
            }
        }
    }

    pub(super) fn may_contain(&self, line: Line) -> bool {
        Self::places(line).into_iter().all(|place| self.counters[place] > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_found_until_it_is_removed_as_often() {
        let mut b = CountingBloom::new();
        for n in 0..40 {
            b.insert(Line(n));
            b.insert(Line(n));
        }
        (0..40).for_each(|n| b.remove(Line(n)));
        assert!((0..40).all(|n| b.may_contain(Line(n))));
        (0..40).for_each(|n| b.remove(Line(n)));
        assert!((0..400).all(|n| !b.may_contain(Line(n))));
    }
}
