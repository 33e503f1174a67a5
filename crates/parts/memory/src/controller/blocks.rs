//! A module's buffer of media blocks, the least recently used of which leaves.

use crate::replacement::{Order, Replacement};
use protocol::Line;
use units::Places;

/// Lines of a media block: 256 bytes.
pub const BLOCK_LINES: u64 = 4;
/// Bytes of a media block.
pub const BLOCK_BYTES: u64 = 64 * BLOCK_LINES;
/// Every line of a block.
pub const WHOLE: u8 = (1 << BLOCK_LINES) - 1;

/// A block in the buffer; a bit for each line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Block {
    /// Lines that the media does not have yet.
    pub dirty: u8,
    /// Lines that the buffer has.
    pub valid: u8,
    /// Of those that the media does not have yet, lines whose own bytes nobody has changed.
    pub noted: u8,
}

impl Block {
    /// A line's bytes change.
    #[inline]
    pub fn write(&mut self, line: Line) {
        self.noted &= !bit_of(line);
        self.valid |= bit_of(line);
        self.dirty |= bit_of(line);
    }

    /// What is kept beside a line's bytes changes.
    pub fn note(&mut self, line: Line) {
        self.noted |= bit_of(line) & !self.dirty;
        self.valid |= bit_of(line);
        self.dirty |= bit_of(line);
    }

    /// Of the bytes of its write those that it has for nothing but notes: all of them or none.
    pub fn bytes_noted(&self) -> u64 {
        if self.noted == self.dirty { BLOCK_BYTES } else { 0 }
    }
}

/// Where a line's block is in the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Entered {
    /// Its place.
    pub index: usize,
    /// Whether it was there.
    pub found: bool,
    /// The block that made room for it.
    pub evicted: Option<Block>,
}

/// The buffer. Cost: a comparison for the block that was asked for last; for others a search through the numbers of its blocks.
#[derive(Clone, Debug, Hash)]
pub struct BlockBuffer {
    room: usize,
    numbers: Places,
    blocks: Vec<Block>,
    /// In which order blocks were used.
    order: Order,
    /// The place that was asked for last, which is the last in order.
    last: usize,
}

impl BlockBuffer {
    /// An empty buffer of `room` blocks.
    pub fn new(room: usize) -> BlockBuffer {
        let order = Order::new(Replacement::Lru, room as u32);
        BlockBuffer { room, numbers: Places::new(room), blocks: Vec::with_capacity(room), order, last: 0 }
    }

    /// The place of a line's block, which is empty where it was not there. A full buffer makes room at the place that `spare`
    /// knows, if it knows one.
    ///
    /// # Panics
    /// When there is room for no block.
    pub fn enter(&mut self, line: Line, spare: impl FnOnce(&[Block]) -> Option<usize>) -> Entered {
        let number = line.0 / BLOCK_LINES;
        if self.numbers.is_at(self.last, number) {
            return Entered { index: self.last, found: true, evicted: None };
        }
        let entered = match self.numbers.find(number, 0..self.blocks.len()) {
            Some(index) => {
                self.order.touch(index as u32);
                Entered { index, found: true, evicted: None }
            }
            None => self.make_room(number, spare),
        };
        self.last = entered.index;
        entered
    }

    /// A new block, at a free place, the spare one or that of the least recently used block.
    fn make_room(&mut self, number: u64, spare: impl FnOnce(&[Block]) -> Option<usize>) -> Entered {
        if self.blocks.len() < self.room {
            let index = self.blocks.len();
            self.order.cached(index as u32);
            self.numbers.put(index, number);
            self.blocks.push(Block::default());
            return Entered { index, found: false, evicted: None };
        }
        let index = spare(&self.blocks);
        let index = index.inspect(|place| self.order.touch(*place as u32)).unwrap_or_else(|| self.oldest());
        self.numbers.put(index, number);
        let evicted = Some(std::mem::take(&mut self.blocks[index]));
        Entered { index, found: false, evicted }
    }

    /// The place of the least recently used block, which becomes the last in order.
    fn oldest(&mut self) -> usize {
        let oldest = self.order.victim().expect("a buffer has blocks");
        self.order.cached(oldest);
        oldest as usize
    }

    /// The blocks in it, place by place, each with its number.
    pub fn blocks(&self) -> impl Iterator<Item = (u64, Block)> + '_ {
        let number = |place| self.numbers.number(place).expect("every block has a number");
        self.blocks.iter().enumerate().map(move |(place, block)| (number(place), *block))
    }

    /// The block at a place that [`BlockBuffer::enter`] gave.
    #[inline]
    pub fn at(&mut self, index: usize) -> &mut Block {
        &mut self.blocks[index]
    }
}

/// The bit of a line in its block.
#[inline]
pub fn bit_of(line: Line) -> u8 {
    1 << (line.0 % BLOCK_LINES)
}

/// The lines of a block that have their bits in `bits`.
pub fn lines_of(number: u64, bits: u8) -> impl Iterator<Item = Line> {
    (0..BLOCK_LINES)
        .map(move |n| Line(number * BLOCK_LINES + n))
        .filter(move |line| bits & bit_of(*line) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a list of blocks, the least recently used first; of some numbers it is known that their places are spare.
        #[test]
        fn a_spare_place_or_that_of_the_least_recently_used_block_is_taken(
            room in 1..6_usize,
            lines in prop::collection::vec((0..40_u64, 0..40_u8), 1..100),
        ) {
            let (mut buffer, mut list) = (BlockBuffer::new(room), Vec::new());
            for (line, spare) in lines {
                let number = line / BLOCK_LINES;
                let entered = buffer.enter(Line(line), |blocks| blocks.iter().position(|block| block.dirty == spare));
                let was_there = list.contains(&number);
                list.retain(|n| *n != number);
                let first = list.iter().position(|n| *n as u8 == spare).unwrap_or(0);
                let left = (list.len() == room).then(|| list.remove(first));
                list.push(number);
                prop_assert_eq!(entered.found, was_there);
                // Every block has its number in its bits.
                let bits = |number: u64| Block { dirty: number as u8, valid: !(number as u8), noted: 0 };
                prop_assert_eq!(entered.evicted, left.map(bits));
                *buffer.at(entered.index) = bits(number);
                let mut held: Vec<_> = buffer.blocks().collect();
                held.sort_by_key(|(number, _)| *number);
                let mut expected: Vec<_> = list.iter().map(|number| (*number, bits(*number))).collect();
                expected.sort_by_key(|(number, _)| *number);
                prop_assert_eq!(held, expected);
            }
        }
    }
}
