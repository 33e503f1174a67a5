//! The media: one server for reads and writes, and the module's internal buffer where it has one.

use super::spec::{BufferSpec, ControllerSpec};
use super::stats::Stats;
use protocol::Line;
use units::Dur;

/// Lines of a media block: 256 bytes.
const BLOCK_LINES: u64 = 4;

/// What one access costs.
pub(super) struct Cost {
    /// How long the server is busy.
    pub(super) busy: Dur,
    /// For a read: time from the start of its service to its data.
    pub(super) latency: Dur,
}

#[derive(Clone, Copy)]
struct Block {
    number: u64,
    age: u64,
    /// Lines that the media does not have yet, and lines that the buffer has.
    dirty: u8,
    valid: u8,
}

pub(super) struct Media {
    spec: ControllerSpec,
    blocks: Vec<Block>,
    tick: u64,
}

impl Media {
    pub(super) fn new(spec: ControllerSpec) -> Media {
        let blocks = spec.buffer.map_or(0, |b| b.blocks);
        Media { spec, blocks: Vec::with_capacity(blocks), tick: 0 }
    }

    pub(super) fn read(&mut self, line: Line, stats: &mut Stats) -> Cost {
        let Some(buffer) = self.spec.buffer else {
            stats.bytes_read += 64;
            return Cost { busy: self.spec.read_service, latency: self.spec.read };
        };
        let bit = 1 << (line.0 % BLOCK_LINES);
        let (index, evicted) = self.find_or_insert(line, &buffer, stats);
        if self.blocks[index].valid & bit != 0 {
            return Cost { busy: buffer.hit_service, latency: buffer.read };
        }
        self.blocks[index].valid = 0xF;
        stats.bytes_read += 64 * BLOCK_LINES;
        Cost { busy: self.spec.read_service * BLOCK_LINES + evicted, latency: self.spec.read }
    }

    pub(super) fn write(&mut self, line: Line, stats: &mut Stats) -> Cost {
        let Some(buffer) = self.spec.buffer else {
            stats.bytes_written += 64;
            return Cost { busy: self.spec.write_service, latency: Dur::ZERO };
        };
        let bit = 1 << (line.0 % BLOCK_LINES);
        let (index, evicted) = self.find_or_insert(line, &buffer, stats);
        self.blocks[index].valid |= bit;
        self.blocks[index].dirty |= bit;
        Cost { busy: buffer.hit_service + evicted, latency: Dur::ZERO }
    }

    /// The line's block in the buffer, and what making room for it costs: a partly written block is read
    /// first, then the whole block is written.
    fn find_or_insert(&mut self, line: Line, buffer: &BufferSpec, stats: &mut Stats) -> (usize, Dur) {
        self.tick += 1;
        let number = line.0 / BLOCK_LINES;
        if let Some(index) = self.blocks.iter().position(|b| b.number == number) {
            self.blocks[index].age = self.tick;
            stats.buffer_hits += 1;
            return (index, Dur::ZERO);
        }
        stats.buffer_misses += 1;
        let fresh = Block { number, age: self.tick, dirty: 0, valid: 0 };
        if self.blocks.len() < buffer.blocks {
            self.blocks.push(fresh);
            return (self.blocks.len() - 1, Dur::ZERO);
        }
        let oldest = (0..self.blocks.len()).min_by_key(|i| self.blocks[*i].age).expect("a buffer has blocks");
        let old = std::mem::replace(&mut self.blocks[oldest], fresh);
        (oldest, self.write_out(old, stats))
    }

    fn write_out(&self, old: Block, stats: &mut Stats) -> Dur {
        if old.dirty == 0 {
            return Dur::ZERO;
        }
        stats.bytes_written += 64 * BLOCK_LINES;
        let write = self.spec.write_service * BLOCK_LINES;
        if old.valid == 0xF {
            return write;
        }
        stats.bytes_read += 64 * BLOCK_LINES;
        write + self.spec.read_service * BLOCK_LINES
    }
}
