//! A DIMM: its buffer of blocks, and the media behind it.

use crate::DimmSpec;
use crate::stats::DimmStats;
use crate::translation::Translation;
use crate::wear::Wear;
use memory::controller::blocks::{BLOCK_BYTES, Block, BlockBuffer, Entered, WHOLE, bit_of};
use memory::{Cost, Media};
use protocol::{Line, StatSink};
use units::{Dur, Time};

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
    buffer: BlockBuffer,
    /// When the block that was read from the media is there, by its place in the buffer.
    ready: Vec<Time>,
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
            buffer: BlockBuffer::new(spec.buffer_blocks),
            ready: vec![Time::ZERO; spec.buffer_blocks],
            media_free: Time::ZERO,
            did: Did::Read,
            translation: Translation::new(spec.translation),
            wear: Wear::new(spec.wear),
            stats: DimmStats::default(),
        }
    }

    /// A line's block in the buffer: a new one has waited for nothing yet.
    fn enter(&mut self, line: Line) -> Entered {
        let entered = self.buffer.enter(line);
        if !entered.found {
            self.ready[entered.index] = Time::ZERO;
        }
        entered
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
        let Entered { index, found, evicted } = self.enter(line);
        let is_here = self.buffer.at(index).valid & bit_of(line) != 0;
        if !is_here {
            let translated = self.translation.look_up(line);
            self.stats.translation_misses += u64::from(translated > Dur::ZERO);
            let begins = self.read_block(now, &mut cost);
            self.ready[index] = begins + translated + self.spec.array;
            self.buffer.at(index).valid = WHOLE;
        }
        if let Some(block) = evicted {
            self.write_block(now, block, &mut cost);
        }
        cost.latency = self.ready[index].since(now) + self.spec.hit;
        cost.hit = Some(found && is_here);
        cost.busy = self.busy(now);
        cost
    }

    fn write(&mut self, now: Time, line: Line) -> Cost {
        let mut cost = Cost::default();
        let Entered { index, found, evicted } = self.enter(line);
        let own = self.buffer.at(index);
        own.valid |= bit_of(line);
        own.dirty |= bit_of(line);
        // A block that is whole waits for nothing more.
        let whole = (own.dirty == WHOLE).then(|| std::mem::replace(own, Block { dirty: 0, ..*own }));
        if let Some(block) = evicted {
            self.write_block(now, block, &mut cost);
        }
        if let Some(block) = whole {
            self.write_block(now, block, &mut cost);
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
