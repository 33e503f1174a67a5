//! A module's buffer of media blocks, the least recently used of which leaves.

use protocol::Line;
use std::hash::{Hash, Hasher};

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

/// The buffer. Cost: a comparison for the block that was asked for last; for others a search through the numbers of its blocks, and one through their
/// ages where a block has to leave.
#[derive(Clone, Debug)]
pub struct BlockBuffer {
    room: usize,
    /// Numbers and last uses, searched for every access, beside the blocks that they belong to.
    numbers: Vec<u64>,
    ages: Vec<u64>,
    blocks: Vec<Block>,
    tick: u64,
    /// The place that was asked for last.
    last: usize,
}

/// Of ages their order counts alone.
impl Hash for BlockBuffer {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let BlockBuffer { room: _, numbers, ages, blocks, tick: _, last: _ } = self;
        (numbers, blocks).hash(into);
        ages.iter().for_each(|age| ages.iter().filter(|other| *other < age).count().hash(into));
    }
}

impl BlockBuffer {
    /// An empty buffer of `room` blocks.
    pub fn new(room: usize) -> BlockBuffer {
        let (numbers, ages) = (Vec::with_capacity(room), Vec::with_capacity(room));
        BlockBuffer { room, numbers, ages, blocks: Vec::with_capacity(room), tick: 0, last: 0 }
    }

    /// The place of a line's block, which is empty where it was not there.
    ///
    /// # Panics
    /// When there is room for no block.
    pub fn enter(&mut self, line: Line) -> Entered {
        let number = line.0 / BLOCK_LINES;
        let entered = match self.find(number) {
            Some(index) => Entered { index, found: true, evicted: None },
            None => self.make_room(number),
        };
        self.tick += 1;
        self.ages[entered.index] = self.tick;
        self.last = entered.index;
        entered
    }

    #[inline]
    fn find(&self, number: u64) -> Option<usize> {
        if self.numbers.get(self.last) == Some(&number) {
            return Some(self.last);
        }
        self.numbers.iter().position(|n| *n == number)
    }

    /// A new block, at a free place or that of the least recently used one.
    fn make_room(&mut self, number: u64) -> Entered {
        if self.blocks.len() < self.room {
            self.numbers.push(number);
            self.ages.push(0);
            self.blocks.push(Block::default());
            return Entered { index: self.blocks.len() - 1, found: false, evicted: None };
        }
        let ages = self.ages.iter().enumerate();
        let (index, _) = ages.min_by_key(|(_, age)| **age).expect("a buffer has blocks");
        self.numbers[index] = number;
        let evicted = Some(std::mem::take(&mut self.blocks[index]));
        Entered { index, found: false, evicted }
    }

    /// The blocks in it, place by place, each with its number.
    pub fn blocks(&self) -> impl Iterator<Item = (u64, Block)> + '_ {
        self.numbers.iter().copied().zip(self.blocks.iter().copied())
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
