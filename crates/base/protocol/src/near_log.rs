//! Where a near-data device keeps a thread's logs inside a pool, and what an entry looks like: what the device writes
//! and recovery reads.
//!
//! A pool begins with [`POOL_HEADER`] bytes of the library's own; a log area for each thread follows. A device uses
//! the blocks of the area that it owns, one after the other, as if they were contiguous. An entry is a header line and
//! whole lines of data.

use crate::Block;

/// Bytes at the beginning of a pool that are no log.
pub const POOL_HEADER: u64 = 64 << 10;
/// Bytes of a thread's log on each device.
pub const LOG_BYTES: u64 = 128 << 10;
/// First word of an entry's header.
pub const LOG_MAGIC: u64 = 0x474F_4C4D_5052_414E;

/// How a log area is spread over devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLayout {
    /// Devices.
    pub devices: u64,
    /// Consecutive bytes on one device.
    pub interleave: u64,
}

impl LogLayout {
    /// Bytes of one thread's log area.
    pub fn area_bytes(&self) -> u64 {
        LOG_BYTES * self.devices
    }

    /// First address of the log area of `thread` in the pool at `pool`.
    pub fn area(&self, pool: u64, thread: u64) -> u64 {
        pool + POOL_HEADER + thread * self.area_bytes()
    }

    /// The address of byte `offset` of a device's part of an area.
    pub fn address(&self, area: u64, device: u64, offset: u64) -> u64 {
        let (block, within) = (offset / self.interleave, offset % self.interleave);
        area + (block * self.devices + device) * self.interleave + within
    }
}

/// The header of a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogHeader {
    /// First byte of the data's home.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// The transaction or epoch of the thread.
    pub transaction: u64,
    /// Over the three above and the data.
    pub checksum: u64,
}

impl LogHeader {
    /// Bytes of the whole entry for `size` bytes at `address`.
    pub fn entry_bytes(address: u64, size: u64) -> u64 {
        64 + 64 * Self::data_lines(address, size)
    }

    /// Lines of data of an entry.
    pub fn data_lines(address: u64, size: u64) -> u64 {
        (address + size).div_ceil(64) - address / 64
    }

    /// The header as it stands in memory.
    pub fn encode(&self) -> Block {
        let mut block = [0; 64];
        let words = [LOG_MAGIC, self.address, self.size, self.transaction, self.checksum];
        for (place, word) in block.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        block
    }

    /// The header in five words of memory; none where there is none.
    pub fn decode(words: [u64; 5]) -> Option<LogHeader> {
        let [magic, address, size, transaction, checksum] = words;
        let fits = size > 0 && size <= LOG_BYTES && address.checked_add(size).is_some();
        (magic == LOG_MAGIC && fits).then_some(LogHeader { address, size, transaction, checksum })
    }
}

/// A running checksum of an entry: start with the header's words, then the data's in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LogChecksum(u64);

impl LogChecksum {
    /// The checksum of the words of a header.
    pub fn new(address: u64, size: u64, transaction: u64) -> LogChecksum {
        let mut sum = LogChecksum(LOG_MAGIC);
        [address, size, transaction].into_iter().for_each(|w| sum.word(w));
        sum
    }

    /// Goes on with one word.
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }

    /// Goes on with a line.
    pub fn block(&mut self, block: &Block) {
        block.as_chunks::<8>().0.iter().for_each(|w| self.word(u64::from_le_bytes(*w)));
    }

    /// The value, never zero.
    pub fn value(self) -> u64 {
        self.0 | 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_s_part_of_an_area_is_the_blocks_that_it_owns() {
        let two = LogLayout { devices: 2, interleave: 4096 };
        let area = two.area(0, 1);
        assert_eq!(area, POOL_HEADER + 2 * LOG_BYTES);
        assert_eq!([0, 4095, 4096].map(|o| two.address(area, 1, o) - area), [4096, 8191, 12288]);
    }

    #[test]
    fn a_header_that_was_written_is_read_and_nothing_else() {
        let header = LogHeader { address: 4096, size: 100, transaction: 7, checksum: 9 };
        let block = header.encode();
        let word = |i: usize| u64::from_le_bytes(block.as_chunks::<8>().0[i]);
        assert_eq!(LogHeader::decode([0, 1, 2, 3, 4].map(word)), Some(header));
        assert_eq!(LogHeader::decode([LOG_MAGIC, 4096, 0, 7, 9]), None);
        assert_eq!(LogHeader::decode([0; 5]), None);
        assert_eq!(LogHeader::entry_bytes(60, 8), 64 + 128);
    }
}
