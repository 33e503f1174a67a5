//! A DIMM: its buffer of blocks, and the media behind it.

use crate::DimmSpec;
use crate::stats::DimmStats;
use crate::translation::Translation;
use crate::wear::Wear;
use memory::{Cost, Media};
use protocol::{Line, StatSink};
use units::{Dur, Time};

/// Lines of a media block: 256 bytes.
const BLOCK_LINES: u64 = 4;
const BLOCK_BYTES: u64 = 64 * BLOCK_LINES;
/// Every line of a block.
const WHOLE: u8 = 0xF;

/// A block in the buffer.
#[derive(Clone, Copy, Debug)]
struct Block {
    age: u64,
    /// Lines that were written and the media does not have.
    dirty: u8,
    /// Lines that are here, or come with the block that is being read.
    valid: u8,
    /// When the block that was read from the media is here.
    ready: Time,
}

/// What the media did last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    Read,
    Write,
}

/// A DIMM, seen from its controller: it tells when a line is there and when the next request may come.
#[derive(Clone, Debug)]
pub struct Dimm {
    spec: DimmSpec,
    /// Block numbers, searched for every access, beside the blocks that they name.
    numbers: Vec<u64>,
    blocks: Vec<Block>,
    tick: u64,
    /// When the media has done what it was given.
    media_free: Time,
    did: Did,
    translation: Translation,
    wear: Wear,
    stats: DimmStats,
}

impl Dimm {
    /// A DIMM with nothing in its buffer.
    pub fn new(spec: DimmSpec) -> Dimm {
        Dimm {
            spec,
            numbers: Vec::with_capacity(spec.buffer_blocks),
            blocks: Vec::with_capacity(spec.buffer_blocks),
            tick: 0,
            media_free: Time::ZERO,
            did: Did::Read,
            translation: Translation::new(spec.translation),
            wear: Wear::new(spec.wear),
            stats: DimmStats::default(),
        }
    }

    /// The place of a line's block in the buffer, and whether it was there. Where it was not, the least recently used
    /// block makes room; `cost` hears of it when it has to be written.
    fn find_or_insert(&mut self, line: Line) -> (usize, bool, Option<Block>) {
        self.tick += 1;
        let number = line.0 / BLOCK_LINES;
        if let Some(index) = self.numbers.iter().position(|n| *n == number) {
            self.blocks[index].age = self.tick;
            return (index, true, None);
        }
        let fresh = Block { age: self.tick, dirty: 0, valid: 0, ready: Time::ZERO };
        if self.blocks.len() < self.spec.buffer_blocks {
            self.numbers.push(number);
            self.blocks.push(fresh);
            return (self.blocks.len() - 1, false, None);
        }
        let ages = self.blocks.iter().map(|b| b.age).enumerate();
        let (oldest, _) = ages.min_by_key(|(_, age)| *age).expect("a buffer has blocks");
        self.numbers[oldest] = number;
        (oldest, false, Some(std::mem::replace(&mut self.blocks[oldest], fresh)))
    }

    /// The media reads a block; gives when it begins.
    fn read_block(&mut self, now: Time, cost: &mut Cost) -> Time {
        let overlap = if self.did == Did::Write { self.spec.overlap } else { Dur::ZERO };
        self.did = Did::Read;
        self.stats.block_reads += 1;
        cost.bytes_read += BLOCK_BYTES;
        // It begins before the end of the write beside which it goes on, but not before it was asked for.
        let free = Time::from_ps(self.media_free.ps().saturating_sub(overlap.as_ps()));
        let begins = free.max(now);
        let ends = (begins + self.spec.read_service).max(self.media_free);
        self.occupy(now, ends);
        begins
    }

    /// A block that is whole, or leaves the buffer, is written, where anything of it was.
    fn write_block(&mut self, now: Time, block: Block, cost: &mut Cost) {
        if block.dirty == 0 {
            return;
        }
        self.did = Did::Write;
        self.stats.block_writes += 1;
        self.stats.partial_writes += u64::from(block.dirty != WHOLE);
        cost.bytes_written += BLOCK_BYTES;
        let ends = self.media_free.max(now) + self.spec.write_service;
        self.occupy(now, ends);
    }

    /// The media has work until `ends`.
    fn occupy(&mut self, now: Time, ends: Time) {
        self.stats.media_time += ends.since(self.media_free.max(now));
        self.media_free = ends;
    }

    /// How long the controller sends nothing else: while the line is on the bus, and while the media has as much work as
    /// is taken ahead.
    fn busy(&self, now: Time) -> Dur {
        let behind = self.media_free.since(now);
        self.spec.bus.max(Dur::ps(behind.as_ps().saturating_sub(self.spec.ahead.as_ps())))
    }
}

impl Media for Dimm {
    fn read(&mut self, now: Time, line: Line) -> Cost {
        let mut cost = Cost::default();
        let bit = 1 << (line.0 % BLOCK_LINES);
        let (index, found, evicted) = self.find_or_insert(line);
        let is_here = self.blocks[index].valid & bit != 0;
        if !is_here {
            let translated = self.translation.look_up(line);
            self.stats.translation_misses += u64::from(translated > Dur::ZERO);
            let begins = self.read_block(now, &mut cost);
            self.blocks[index].ready = begins + translated + self.spec.array;
            self.blocks[index].valid = WHOLE;
        }
        if let Some(block) = evicted {
            self.write_block(now, block, &mut cost);
        }
        cost.latency = self.blocks[index].ready.since(now) + self.spec.hit;
        cost.hit = Some(found && is_here);
        cost.busy = self.busy(now);
        cost
    }

    fn write(&mut self, now: Time, line: Line) -> Cost {
        let mut cost = Cost::default();
        let bit = 1 << (line.0 % BLOCK_LINES);
        let (index, found, evicted) = self.find_or_insert(line);
        self.blocks[index].valid |= bit;
        self.blocks[index].dirty |= bit;
        if let Some(block) = evicted {
            self.write_block(now, block, &mut cost);
        }
        // A block that is whole waits for nothing more.
        if self.blocks[index].dirty == WHOLE {
            self.write_block(now, self.blocks[index], &mut cost);
            self.blocks[index].dirty = 0;
        }
        let stall = self.wear.written(line);
        if stall > Dur::ZERO {
            self.stats.wear_moves += 1;
            self.media_free = self.media_free.max(now) + stall;
        }
        cost.hit = Some(found);
        cost.busy = self.busy(now).max(stall);
        cost
    }

    fn least_read(&self) -> Dur {
        self.spec.hit
    }

    fn stats(&self, sink: &mut dyn StatSink) {
        self.stats.hand_up(sink);
    }
}
