//! What is behind a controller's queues: media, as a seam, and the simplest of them.

use super::blocks::{BLOCK_BYTES, BLOCK_LINES, Block, BlockBuffer, WHOLE, bit_of, lines_of};
use super::spec::FixedSpec;
use protocol::{Line, StatSink};
use units::{Dur, Time};

/// What one access costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// How long nothing else goes to the media.
    pub busy: Dur,
    /// For a read: time from now to its data.
    pub latency: Dur,
    /// Bytes that the media read.
    pub bytes_read: u64,
    /// Bytes that the media wrote.
    pub bytes_written: u64,
    /// Of these, bytes of lines or blocks that nothing but notes has changed.
    pub bytes_noted: u64,
    /// Whether it hit the module's internal buffer, where there is one.
    pub hit: Option<bool>,
}

/// What is behind a controller's queues. It decides when an access is done; the bytes are the controller's.
pub trait Media {
    /// A line is read at `now`.
    fn read(&mut self, now: Time, line: Line) -> Cost;
    /// A line leaves the write pending queue at `now`.
    fn write(&mut self, now: Time, line: Line) -> Cost;
    /// The same of a line none of whose own bytes change: only what is kept beside them.
    fn note(&mut self, now: Time, line: Line) -> Cost;
    /// How long a read takes at least.
    fn least_read(&self) -> Dur;
    /// Lines that have been written and are in a buffer of the module's alone at `now`.
    fn each_unwritten(&self, now: Time, each: &mut dyn FnMut(Line)) {
        let _ = (now, each);
    }
    /// Whether a buffer of the module's answers some accesses.
    fn has_buffer(&self) -> bool {
        false
    }
    /// Hands up statistics of its own.
    fn stats(&self, sink: &mut dyn StatSink) {
        let _ = sink;
    }
}

/// One server for reads and writes, busy for constant times, and the module's internal buffer where it has one.
pub struct FixedMedia {
    spec: FixedSpec,
    blocks: BlockBuffer,
}

impl Media for FixedMedia {
    fn read(&mut self, _: Time, line: Line) -> Cost {
        let Some(buffer) = self.spec.buffer else {
            let busy = self.spec.read_service;
            return Cost { busy, latency: self.spec.read, bytes_read: 64, ..Cost::default() };
        };
        let (block, mut cost) = self.enter(line);
        if block.valid & bit_of(line) != 0 {
            return Cost { busy: buffer.hit_service, latency: buffer.read, ..cost };
        }
        block.valid = WHOLE;
        cost.bytes_read += BLOCK_BYTES;
        cost.busy += self.spec.read_service * BLOCK_LINES;
        cost.latency = self.spec.read;
        cost
    }

    fn write(&mut self, _: Time, line: Line) -> Cost {
        self.put(line, Block::write)
    }

    fn note(&mut self, _: Time, line: Line) -> Cost {
        let cost = self.put(line, Block::note);
        let alone = if self.spec.buffer.is_none() { cost.bytes_written } else { cost.bytes_noted };
        Cost { bytes_noted: alone, ..cost }
    }

    fn least_read(&self) -> Dur {
        self.spec.buffer.map_or(self.spec.read, |buffer| self.spec.read.min(buffer.read))
    }

    fn each_unwritten(&self, _: Time, each: &mut dyn FnMut(Line)) {
        self.blocks.blocks().for_each(|(number, block)| lines_of(number, block.dirty).for_each(&mut *each));
    }

    fn has_buffer(&self) -> bool {
        self.spec.buffer.is_some()
    }
}

impl FixedMedia {
    /// Idle media.
    pub fn new(spec: FixedSpec) -> FixedMedia {
        let blocks = spec.buffer.map_or(0, |b| b.blocks);
        FixedMedia { spec, blocks: BlockBuffer::new(blocks) }
    }

    /// A line is changed, in its block by `change`.
    fn put(&mut self, line: Line, change: fn(&mut Block, Line)) -> Cost {
        let Some(buffer) = self.spec.buffer else {
            return Cost { busy: self.spec.write_service, bytes_written: 64, ..Cost::default() };
        };
        let (block, mut cost) = self.enter(line);
        change(block, line);
        cost.busy += buffer.hit_service;
        cost
    }

    /// The line's block in the buffer, and what making room for it costs: a partly written block is read
    /// first, then the whole block is written.
    fn enter(&mut self, line: Line) -> (&mut Block, Cost) {
        let entered = self.blocks.enter(line, |_| None);
        let mut cost = Cost { hit: Some(entered.found), ..Cost::default() };
        if let Some(old) = entered.evicted.filter(|old| old.dirty != 0) {
            cost.bytes_written += BLOCK_BYTES;
            cost.bytes_noted += old.bytes_noted();
            cost.busy += self.spec.write_service * BLOCK_LINES;
            if old.valid != WHOLE {
                cost.bytes_read += BLOCK_BYTES;
                cost.busy += self.spec.read_service * BLOCK_LINES;
            }
        }
        (self.blocks.at(entered.index), cost)
    }
}
