//! Lines of files that were stored to and neither flushed nor synchronised since.

use std::collections::BTreeMap;

const PAGE: u64 = 4096;

#[derive(Default)]
pub(super) struct Pending {
    /// By page, a bit a line.
    pages: BTreeMap<u64, u64>,
    /// The line that was stored to last, if nothing was flushed since: mostly it is stored to again.
    last: Option<u64>,
}

impl Pending {
    #[inline]
    pub(super) fn stored(&mut self, place: u64) {
        if self.last != Some(place / 64) {
            self.last = Some(place / 64);
            *self.pages.entry(place / PAGE).or_default() |= 1 << (place % PAGE / 64);
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    pub(super) fn flushed(&mut self, place: u64) {
        self.last = None;
        if let Some(lines) = self.pages.get_mut(&(place / PAGE)) {
            *lines &= !(1 << (place % PAGE / 64));
            if *lines == 0 {
                self.pages.remove(&(place / PAGE));
            }
        }
    }

    /// Takes out the lines from `first` to `end`, in their order.
    pub(super) fn take(&mut self, first: u64, end: u64) -> Box<[u64]> {
        let pages: Vec<u64> =
            self.pages.range(first / PAGE..end.div_ceil(PAGE)).map(|(page, _)| *page).collect();
        let mut taken = Vec::new();
        for page in pages {
            let lines = self.pages.get(&page).copied().unwrap_or(0);
            let all = (0..64).filter(|n| lines >> n & 1 == 1).map(|n| page * PAGE + n * 64);
            taken.extend(all.filter(|line| (first / 64 * 64..end).contains(line)));
        }
        taken.iter().for_each(|line| self.flushed(*line));
        taken.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_takes_the_changed_lines_of_its_range_that_nothing_flushed() {
        let mut p = Pending::default();
        for place in [0, 64, 4096 + 128, 3 * 4096, 3 * 4096 + 8] {
            p.stored(place);
        }
        p.flushed(64 + 5);
        assert_eq!(*p.take(0, 4096 + 128), [0]);
        assert_eq!(*p.take(0, u64::MAX), [4096 + 128, 3 * 4096]);
        assert_eq!(*p.take(0, u64::MAX), [0; 0]);
    }

    #[test]
    fn a_line_that_is_stored_to_again_is_taken_again() {
        let mut p = Pending::default();
        for again in 0..2 {
            p.stored(64);
            p.stored(72);
            p.flushed(64);
            assert_eq!(*p.take(0, u64::MAX), [0; 0], "{again}");
            p.stored(64);
            assert_eq!(*p.take(0, u64::MAX), [64], "{again}");
        }
    }
}
