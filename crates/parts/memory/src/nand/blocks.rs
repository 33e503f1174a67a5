//! How many valid pages each block has, and which closed block has the fewest.

use super::Block;
use std::ops::Range;

/// Set in the count of a block that cannot be collected, so that it is never the least.
const NOT_CLOSED: u32 = 1 << 31;
/// Blocks that share a minimum.
const GROUP: usize = 64;

/// Valid pages by block, and their minimum by group of blocks. A page's invalidation writes two numbers and takes no
/// branch, since nobody can foretell which block it meets; finding the least looks at each group and then at 64 blocks.
#[derive(Clone, Debug)]
pub(super) struct ValidPages {
    count: Vec<u32>,
    least: Vec<u32>,
    /// What was found last.
    last: Block,
}

impl ValidPages {
    /// No block has a valid page, and none is closed.
    pub(super) fn new(blocks: u32) -> ValidPages {
        let blocks = blocks as usize;
        ValidPages {
            count: vec![NOT_CLOSED; blocks],
            least: vec![NOT_CLOSED; blocks.div_ceil(GROUP)],
            last: 0,
        }
    }

    pub(super) fn of(&self, block: Block) -> u32 {
        self.count[block as usize] & !NOT_CLOSED
    }

    /// One more, in a block that is not closed.
    #[inline]
    pub(super) fn add(&mut self, block: Block) {
        debug_assert!(self.count[block as usize] >= NOT_CLOSED);
        self.count[block as usize] += 1;
    }

    /// One less.
    #[inline]
    pub(super) fn remove(&mut self, block: Block) {
        self.count[block as usize] -= 1;
        self.look_at(block);
    }

    /// One less, in a block that is not closed.
    #[inline]
    pub(super) fn remove_from_taken(&mut self, block: Block) {
        debug_assert!(self.count[block as usize] > NOT_CLOSED);
        self.count[block as usize] -= 1;
    }

    /// The block can be collected from here on.
    pub(super) fn close(&mut self, block: Block) {
        self.count[block as usize] &= !NOT_CLOSED;
        self.look_at(block);
    }

    /// It cannot any more.
    pub(super) fn take(&mut self, block: Block) {
        self.count[block as usize] |= NOT_CLOSED;
        let group = block as usize / GROUP;
        let blocks = self.count.iter().skip(group * GROUP).take(GROUP);
        self.least[group] = blocks.copied().min().unwrap_or(NOT_CLOSED);
    }

    /// A closed block with the fewest valid pages: of several the next one round after the last that was found, so that
    /// all wear alike.
    pub(super) fn least(&mut self) -> Option<Block> {
        let least = self.least.iter().copied().min().filter(|least| *least < NOT_CLOSED)?;
        let (after, blocks) = (self.last as usize + 1, self.count.len());
        self.last = self.find(least, after..blocks).or_else(|| self.find(least, 0..blocks))?;
        Some(self.last)
    }

    /// The first closed block in `blocks` with exactly `least` valid pages, the fewest of all.
    fn find(&self, least: u32, blocks: Range<usize>) -> Option<Block> {
        let mut from = blocks.start;
        while from < blocks.end {
            let end = ((from / GROUP + 1) * GROUP).min(blocks.end);
            if self.least[from / GROUP] == least
                && let Some(within) = self.count[from..end].iter().position(|count| *count == least)
            {
                return Some((from + within) as Block);
            }
            from = end;
        }
        None
    }

    #[inline]
    fn look_at(&mut self, block: Block) {
        let least = &mut self.least[block as usize / GROUP];
        *least = (*least).min(self.count[block as usize]);
    }
}

/// Which pages hold data of the host, a bit each: small enough to stay in a cache where a word for each page would not.
#[derive(Clone, Debug)]
pub(super) struct PageSet(Vec<u64>);

impl PageSet {
    pub(super) fn new(pages: u32) -> PageSet {
        PageSet(vec![0; (pages as usize).div_ceil(64)])
    }

    pub(super) fn has(&self, page: u32) -> bool {
        self.0[page as usize / 64] >> (page % 64) & 1 == 1
    }

    #[inline]
    pub(super) fn insert(&mut self, page: u32) {
        self.0[page as usize / 64] |= 1 << (page % 64);
    }

    #[inline]
    pub(super) fn remove(&mut self, page: u32) {
        self.0[page as usize / 64] &= !(1 << (page % 64));
    }

    /// Those at the front of `pages`, which they and those between are taken from: up to 64.
    #[inline]
    pub(super) fn some_of(&self, pages: &mut Range<u32>) -> impl Iterator<Item = u32> + use<> {
        let first = pages.start;
        let end = ((first / 64 + 1) * 64).min(pages.end);
        pages.start = end;
        let mut bits = self.0[first as usize / 64] >> (first % 64) & (u64::MAX >> (64 - (end - first)));
        std::iter::from_fn(move || {
            let page = (bits != 0).then(|| first + bits.trailing_zeros())?;
            bits &= bits - 1;
            Some(page)
        })
    }
}
