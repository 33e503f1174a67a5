//! The buddy allocator of a zone: free blocks of 2^order pages, each at a multiple of its size.
//!
//! Lowest addresses first, where the kernel takes the block freed last: one answer, and sections empty sooner.

use super::bits::Bits;

/// Orders 0 to 10: blocks of 4 KiB to 4 MiB.
pub(crate) const ORDERS: usize = 11;
/// Pages of the largest block.
pub(crate) const LARGEST: u64 = 1 << (ORDERS - 1);

/// Free pages of a zone, numbered from the zone's first.
#[derive(Clone, Debug)]
pub(crate) struct Buddy {
    blocks: Vec<Bits>,
    free: u64,
}

impl Buddy {
    /// Nothing is free in a zone that spans `pages`.
    pub(crate) fn new(pages: u64) -> Buddy {
        Buddy { blocks: (0..ORDERS).map(|o| Bits::new((pages >> o) + 1)).collect(), free: 0 }
    }

    pub(crate) fn free(&self) -> u64 {
        self.free
    }

    /// Takes a block of 2^`order` pages, splitting a larger one where none is free. Cost: a few words a level.
    pub(crate) fn take(&mut self, order: usize) -> Option<u64> {
        let from = (order..ORDERS).find(|o| self.blocks[*o].len() > 0)?;
        let block = self.blocks[from].first()?;
        self.blocks[from].remove(block);
        let mut at = block;
        for o in (order..from).rev() {
            at *= 2;
            self.blocks[o].insert(at + 1);
        }
        self.free -= 1 << order;
        Some(at << order)
    }

    /// Gives back a block, joining it with its buddies.
    pub(crate) fn give(&mut self, page: u64, order: usize) {
        self.free += 1 << order;
        let (mut block, mut order) = (page >> order, order);
        while order + 1 < ORDERS && self.blocks[order].contains(block ^ 1) {
            self.blocks[order].remove(block ^ 1);
            block /= 2;
            order += 1;
        }
        self.blocks[order].insert(block);
    }

    /// Gives `pages` pages from `page` on, in the largest blocks that fit.
    pub(crate) fn give_range(&mut self, mut page: u64, pages: u64) {
        let end = page + pages;
        while page < end {
            let fits = |o: &usize| page.is_multiple_of(1 << o) && page + (1 << o) <= end;
            let order = (0..ORDERS).rev().find(fits).unwrap_or(0);
            self.give(page, order);
            page += 1 << order;
        }
    }

    /// Takes `pages` pages from `page` on out, which are all free and lie at multiples of the largest block.
    pub(crate) fn take_range(&mut self, page: u64, pages: u64) {
        for block in page / LARGEST..(page + pages) / LARGEST {
            self.blocks[ORDERS - 1].remove(block);
        }
        self.free -= pages;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Random;

    #[test]
    fn blocks_never_overlap_and_join_again() {
        const PAGES: u64 = 8192;
        let mut buddy = Buddy::new(PAGES);
        buddy.give_range(0, PAGES);
        let mut random = Random::new(7, 0);
        let (mut taken, mut used): (Vec<(u64, usize)>, Vec<bool>) = (Vec::new(), vec![false; PAGES as usize]);
        for _ in 0..20_000 {
            let order = random.below(ORDERS as u64) as usize;
            if random.chance(500) {
                if let Some(page) = buddy.take(order) {
                    assert!(page.is_multiple_of(1 << order));
                    for slot in &mut used[page as usize..(page + (1 << order)) as usize] {
                        assert!(!std::mem::replace(slot, true), "page taken twice");
                    }
                    taken.push((page, order));
                }
            } else if !taken.is_empty() {
                let (page, order) = taken.swap_remove(random.below(taken.len() as u64) as usize);
                used[page as usize..(page + (1 << order)) as usize].fill(false);
                buddy.give(page, order);
            }
            assert_eq!(buddy.free(), used.iter().filter(|u| !**u).count() as u64);
        }
        taken.into_iter().for_each(|(page, order)| buddy.give(page, order));
        assert_eq!(buddy.blocks[ORDERS - 1].len(), PAGES / LARGEST, "all blocks have joined");
        buddy.take_range(LARGEST, LARGEST);
        assert_eq!((buddy.free(), buddy.take(10)), (PAGES - LARGEST, Some(0)));
        assert_eq!(buddy.take(10), Some(2 * LARGEST));
    }
}
