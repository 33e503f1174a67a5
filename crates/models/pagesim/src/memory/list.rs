//! Page lists: pages in the order in which they came, of which any can be taken out. A ring, so that the host reads the oldest
//! pages one after the other, where links would make it wait for each to learn of the next.

use super::table::{PageNumber, Table};

/// No page: it was taken out.
const NONE: u32 = u32::MAX;
/// In a page's spot: it is on the active list.
const ACTIVE: u32 = 1 << 31;
/// Spots that a list has at first.
const FIRST: usize = 64;

/// A list. Takes four bytes a page, and as much again for what was taken out.
#[derive(Debug)]
pub(crate) struct List {
    ring: Vec<u32>,
    /// The spot of the oldest page.
    tail: usize,
    /// Spots from the oldest page's to the newest's, those of pages that were taken out among them.
    used: usize,
    len: usize,
    mark: u32,
}

impl List {
    pub(crate) fn active() -> List {
        List { ring: Vec::new(), tail: 0, used: 0, len: 0, mark: ACTIVE }
    }

    pub(crate) fn inactive() -> List {
        List { mark: 0, ..List::active() }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len as u64
    }

    pub(crate) fn oldest(&self) -> Option<PageNumber> {
        (self.len > 0).then(|| self.ring[self.tail])
    }

    /// The pages, oldest first.
    pub(crate) fn oldest_first(&self) -> impl Iterator<Item = PageNumber> {
        (0..self.used).map(|n| self.ring[self.spot(n)]).filter(|page| *page != NONE)
    }

    /// Puts `page`, which is on no list, behind all.
    #[inline]
    pub(crate) fn push(&mut self, table: &mut Table, page: PageNumber) {
        if self.used == self.ring.len() {
            self.make_room(table);
        }
        let spot = self.spot(self.used);
        self.ring[spot] = page;
        table.set_spot(page, spot as u32 | self.mark);
        self.used += 1;
        self.len += 1;
    }

    /// Takes `page` out, which is on this list.
    #[inline]
    pub(crate) fn remove(&mut self, table: &Table, page: PageNumber) {
        self.ring[(table.spot(page) & !ACTIVE) as usize] = NONE;
        self.len -= 1;
        while self.used > 0 && self.ring[self.tail] == NONE {
            self.tail = self.spot(1);
            self.used -= 1;
        }
    }

    /// So many spots behind the oldest page's. The ring's size is a power of two.
    #[inline]
    fn spot(&self, behind: usize) -> usize {
        (self.tail + behind) & (self.ring.len() - 1)
    }

    /// Closes the gaps, and makes the ring twice as large unless half of it were gaps: each page moves once for each that
    /// came since, on average.
    #[cold]
    fn make_room(&mut self, table: &mut Table) {
        let larger = 2 * self.len > self.ring.len();
        let size = if larger { 2 * self.ring.len() } else { self.ring.len() }.max(FIRST);
        let mut ring = Vec::with_capacity(size);
        ring.extend(self.oldest_first());
        for (spot, page) in ring.iter().enumerate() {
            table.set_spot(*page, spot as u32 | self.mark);
        }
        ring.resize(size, NONE);
        (self.ring, self.tail, self.used) = (ring, 0, self.len);
    }
}

impl Table {
    /// Whether `page`, which is on a list, is on an active one.
    pub(crate) fn is_active(&self, page: PageNumber) -> bool {
        self.spot(page) & ACTIVE != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use units::Random;

    #[test]
    fn lists_are_lists() {
        let mut table = Table::default();
        table.add(0, false);
        let mut lists = [List::active(), List::inactive()];
        let mut wanted: [VecDeque<u32>; 2] = Default::default();
        let mut random = Random::new(3, 0);
        for _ in 0..20_000 {
            let (which, page) = (random.below(2) as usize, random.below(200) as u32);
            if let Some(at) = (0..2).find(|l| wanted[*l].contains(&page)) {
                assert_eq!(table.is_active(page), at == 0);
                lists[at].remove(&table, page);
                wanted[at].retain(|p| *p != page);
            } else {
                lists[which].push(&mut table, page);
                wanted[which].push_back(page);
            }
            for (list, wanted) in lists.iter().zip(&wanted) {
                assert_eq!(list.len() as usize, wanted.len());
                assert_eq!(list.oldest(), wanted.front().copied());
                assert!(list.oldest_first().eq(wanted.iter().copied()));
                assert!(list.ring.len() <= 512, "gaps are closed before a list of 200 grows");
            }
        }
    }
}
