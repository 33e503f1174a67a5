//! What is behind a controller's queues: media, as a seam, and the simplest of them.

use super::spec::{BufferSpec, FixedSpec};
use protocol::{Line, StatSink};
use units::{Dur, Time};

/// Lines of a media block: 256 bytes.
pub(super) const BLOCK_LINES: u64 = 4;

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
    /// Whether it hit the module's internal buffer, where there is one.
    pub hit: Option<bool>,
}

/// What is behind a controller's queues. It decides when an access is done; the bytes are the controller's.
pub trait Media {
    /// A line is read at `now`.
    fn read(&mut self, now: Time, line: Line) -> Cost;
    /// A line leaves the write pending queue at `now`.
    fn write(&mut self, now: Time, line: Line) -> Cost;
    /// How long a read takes at least.
    fn least_read(&self) -> Dur;
    /// Hands up statistics of its own.
    fn stats(&self, sink: &mut dyn StatSink) {
        let _ = sink;
    }
}

#[derive(Clone, Copy)]
struct Block {
    number: u64,
    age: u64,
    /// Lines that the media does not have yet, and lines that the buffer has.
    dirty: u8,
    valid: u8,
}

/// One server for reads and writes, busy for constant times, and the module's internal buffer where it has one.
pub struct FixedMedia {
    spec: FixedSpec,
    blocks: Vec<Block>,
    tick: u64,
}

impl Media for FixedMedia {
    fn read(&mut self, _: Time, line: Line) -> Cost {
        let Some(buffer) = self.spec.buffer else {
            let busy = self.spec.read_service;
            return Cost { busy, latency: self.spec.read, bytes_read: 64, ..Cost::default() };
        };
        let bit = 1 << (line.0 % BLOCK_LINES);
        let (index, mut cost) = self.find_or_insert(line, &buffer);
        if self.blocks[index].valid & bit != 0 {
            return Cost { busy: buffer.hit_service, latency: buffer.read, ..cost };
        }
        self.blocks[index].valid = 0xF;
        cost.bytes_read += 64 * BLOCK_LINES;
        cost.busy += self.spec.read_service * BLOCK_LINES;
        cost.latency = self.spec.read;
        cost
    }

    fn write(&mut self, _: Time, line: Line) -> Cost {
        let Some(buffer) = self.spec.buffer else {
            return Cost { busy: self.spec.write_service, bytes_written: 64, ..Cost::default() };
        };
        let bit = 1 << (line.0 % BLOCK_LINES);
        let (index, mut cost) = self.find_or_insert(line, &buffer);
        self.blocks[index].valid |= bit;
        self.blocks[index].dirty |= bit;
        cost.busy += buffer.hit_service;
        cost
    }

    fn least_read(&self) -> Dur {
        self.spec.buffer.map_or(self.spec.read, |buffer| self.spec.read.min(buffer.read))
    }
}

impl FixedMedia {
    /// Idle media.
    pub fn new(spec: FixedSpec) -> FixedMedia {
        let blocks = spec.buffer.map_or(0, |b| b.blocks);
        FixedMedia { spec, blocks: Vec::with_capacity(blocks), tick: 0 }
    }

    /// The line's block in the buffer, and what making room for it costs: a partly written block is read
    /// first, then the whole block is written.
    fn find_or_insert(&mut self, line: Line, buffer: &BufferSpec) -> (usize, Cost) {
        self.tick += 1;
        let number = line.0 / BLOCK_LINES;
        if let Some(index) = self.blocks.iter().position(|b| b.number == number) {
            self.blocks[index].age = self.tick;
            return (index, Cost { hit: Some(true), ..Cost::default() });
        }
        let missed = Cost { hit: Some(false), ..Cost::default() };
        let fresh = Block { number, age: self.tick, dirty: 0, valid: 0 };
        if self.blocks.len() < buffer.blocks {
            self.blocks.push(fresh);
            return (self.blocks.len() - 1, missed);
        }
        let oldest = (0..self.blocks.len()).min_by_key(|i| self.blocks[*i].age).expect("a buffer has blocks");
        let old = std::mem::replace(&mut self.blocks[oldest], fresh);
        (oldest, self.write_out(old, missed))
    }

    fn write_out(&self, old: Block, mut cost: Cost) -> Cost {
        if old.dirty == 0 {
            return cost;
        }
        cost.bytes_written += 64 * BLOCK_LINES;
        cost.busy += self.spec.write_service * BLOCK_LINES;
        if old.valid != 0xF {
            cost.bytes_read += 64 * BLOCK_LINES;
            cost.busy += self.spec.read_service * BLOCK_LINES;
        }
        cost
    }
}
