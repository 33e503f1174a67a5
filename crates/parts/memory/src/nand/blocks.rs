//! Closed blocks by how many valid pages they have: the one with the fewest is found at once.

use super::Block;

const NONE: u32 = u32::MAX;

/// A list of blocks for each number of valid pages. Moving a block costs four writes.
#[derive(Clone, Debug)]
pub(super) struct ByValid {
    head: Vec<u32>,
    next: Vec<u32>,
    before: Vec<u32>,
    /// No list below this one has a block.
    least: usize,
}

impl ByValid {
    pub(super) fn new(blocks: u32, pages_per_block: u32) -> ByValid {
        ByValid {
            head: vec![NONE; pages_per_block as usize + 1],
            next: vec![NONE; blocks as usize],
            before: vec![NONE; blocks as usize],
            least: 0,
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, block: Block, valid: u32) {
        let first = std::mem::replace(&mut self.head[valid as usize], block);
        self.next[block as usize] = first;
        self.before[block as usize] = NONE;
        if first != NONE {
            self.before[first as usize] = block;
        }
        self.least = self.least.min(valid as usize);
    }

    #[inline]
    pub(super) fn remove(&mut self, block: Block, valid: u32) {
        let (next, before) = (self.next[block as usize], self.before[block as usize]);
        if before == NONE {
            self.head[valid as usize] = next;
        } else {
            self.next[before as usize] = next;
        }
        if next != NONE {
            self.before[next as usize] = before;
        }
    }

    /// A block with the fewest valid pages.
    pub(super) fn least(&mut self) -> Option<Block> {
        while self.least < self.head.len() {
            if self.head[self.least] != NONE {
                return Some(self.head[self.least]);
            }
            self.least += 1;
        }
        self.least = 0;
        None
    }
}
