//! The records of one thread, packed: a head byte, differences as variable-length numbers.
//!
//! Head: kind in bits 0 to 4, logarithm of the size in bits 5 and 6; bit 7 where instructions are counted. Then the
//! zigzag difference of the address and of the location from the record before, the value and the stamp where the
//! kind has them, and the instructions. A block starts from zeros, so that each can be read alone.

use crate::error::TraceError;
use crate::record::{Kind, Record};

/// Packs the records of one thread.
pub fn encode_block(records: &[Record]) -> Vec<u8> {
    let mut out = Vec::with_capacity(records.len() * 6);
    let (mut address, mut location) = (0u64, 0u32);
    for r in records {
        let counted = u8::from(r.instructions > 0) << 7;
        out.push(r.kind as u8 | (r.size.max(1).trailing_zeros() as u8) << 5 | counted);
        put(&mut out, zigzag(r.address.wrapping_sub(address) as i64));
        put(&mut out, zigzag(i64::from(r.location.wrapping_sub(location) as i32)));
        if r.kind.has_value() {
            put(&mut out, r.value);
        }
        if r.kind.has_stamp() {
            put(&mut out, u64::from(r.stamp));
        }
        if r.instructions > 0 {
            put(&mut out, u64::from(r.instructions));
        }
        (address, location) = (r.address, r.location);
    }
    out
}

/// Unpacks `count` records of `thread` and hands each to `each`.
///
/// # Errors
/// When the bytes end early, go on after the last record, or name an unknown kind.
pub fn decode_block(
    bytes: &[u8],
    thread: u16,
    count: u32,
    mut each: impl FnMut(Record),
) -> Result<(), TraceError> {
    let mut decoder = Decoder::new(thread, count);
    while let Some(record) = decoder.next(bytes)? {
        each(record);
    }
    Ok(())
}

/// Where the unpacking of a block stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Decoder {
    at: usize,
    address: u64,
    location: u32,
    left: u32,
    thread: u16,
}

impl Decoder {
    pub(crate) fn new(thread: u16, count: u32) -> Decoder {
        Decoder { thread, left: count, ..Decoder::default() }
    }

    /// The next record of the block whose bytes these are.
    #[inline]
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Result<Option<Record>, TraceError> {
        if self.left == 0 {
            if self.at != bytes.len() {
                return Err(TraceError::damaged(self.at, "a block goes on after its last record"));
            }
            return Ok(None);
        }
        let mut cursor = Cursor { bytes, at: self.at };
        let head = cursor.byte()?;
        let kind = Kind::from_number(head & 31)
            .ok_or_else(|| TraceError::damaged(cursor.at - 1, format!("unknown kind {}", head & 31)))?;
        self.address = self.address.wrapping_add(unzigzag(cursor.number()?) as u64);
        self.location = self.location.wrapping_add(unzigzag(cursor.number()?) as u32);
        let value = if kind.has_value() { cursor.number()? } else { 0 };
        let stamp = if kind.has_stamp() { cursor.number()? as u32 } else { 0 };
        let instructions = if head & 0x80 == 0 { 0 } else { cursor.number()? as u32 };
        self.at = cursor.at;
        self.left -= 1;
        Ok(Some(Record {
            address: self.address,
            value,
            stamp,
            location: self.location,
            instructions,
            thread: self.thread,
            kind,
            size: 1 << (head >> 5 & 3),
        }))
    }
}

fn zigzag(v: i64) -> u64 {
    (v << 1 ^ v >> 63) as u64
}

pub(crate) fn unzigzag(v: u64) -> i64 {
    (v >> 1) as i64 ^ -((v & 1) as i64)
}

fn put(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// The lower seven bits of each byte, side by side.
#[inline]
fn sevens(bytes: u64) -> u64 {
    let pairs = bytes & 0x007F_007F_007F_007F | (bytes & 0x7F00_7F00_7F00_7F00) >> 1;
    let fours = pairs & 0x0000_3FFF_0000_3FFF | (pairs & 0x3FFF_0000_3FFF_0000) >> 2;
    fours & 0x0FFF_FFFF | (fours & 0x0FFF_FFFF_0000_0000) >> 4
}

pub(crate) struct Cursor<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl Cursor<'_> {
    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, TraceError> {
        let byte = self
            .bytes
            .get(self.at)
            .ok_or_else(|| TraceError::damaged(self.at, "a block ends within a record"))?;
        self.at += 1;
        Ok(*byte)
    }

    /// The eight bytes from here on, where there are so many.
    #[inline]
    fn eight_bytes(&self) -> Option<u64> {
        self.bytes.get(self.at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// A number of `n` bytes, at most eight of which count.
    #[inline]
    pub(crate) fn whole(&mut self, n: u8) -> Result<u64, TraceError> {
        if let Some(word) = self.eight_bytes().filter(|_| n <= 8) {
            self.at += usize::from(n);
            return Ok(word & u64::MAX.checked_shr(64 - 8 * u32::from(n)).unwrap_or(0));
        }
        self.whole_by_bytes(n)
    }

    #[cold]
    fn whole_by_bytes(&mut self, n: u8) -> Result<u64, TraceError> {
        let end = self.at + usize::from(n);
        let bytes = self
            .bytes
            .get(self.at..end)
            .ok_or_else(|| TraceError::damaged(self.at, "a block ends within a record"))?;
        self.at = end;
        Ok(bytes.iter().rev().fold(0, |v, byte| v << 8 | u64::from(*byte)))
    }

    /// A number of seven bits a byte, of which the last alone is less than 128. How many bytes it has is found without a jump.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64, TraceError> {
        let Some(word) = self.eight_bytes() else { return self.number_by_bytes(0, 0) };
        let lasts = !word & 0x8080_8080_8080_8080;
        if lasts == 0 {
            self.at += 8;
            return self.number_by_bytes(sevens(word), 56);
        }
        let bits = lasts.trailing_zeros() + 1;
        self.at += bits as usize / 8;
        Ok(sevens(word & u64::MAX >> (64 - bits)))
    }

    /// What is left of a number whose lowest `bits` bits are known.
    #[inline(never)]
    fn number_by_bytes(&mut self, known: u64, bits: usize) -> Result<u64, TraceError> {
        let mut v = known;
        for shift in (bits..70).step_by(7) {
            let byte = self.byte()?;
            v |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(v);
            }
        }
        Err(TraceError::damaged(self.at, "a number of more than 64 bits"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::record::{FILE_SPACE, KINDS};
    use proptest::prelude::*;

    /// A record that makes sense, and does not cross a line.
    pub(crate) fn any_record(thread: u16) -> impl Strategy<Value = Record> {
        (0..KINDS.len(), any::<u64>(), any::<u64>(), any::<u32>(), any::<u32>(), any::<u32>(), 0u8..4)
            .prop_map(move |(kind, address, value, stamp, location, instructions, size)| {
                let kind = KINDS[kind];
                let in_file = FILE_SPACE | address & (FILE_SPACE - 8);
                let (address, value) = if kind == Kind::Operand {
                    (address, FILE_SPACE | value & (FILE_SPACE - 1))
                } else if matches!(kind, Kind::Map | Kind::Unmap) {
                    (address >> 17, value >> 17)
                } else if matches!(kind, Kind::Create | Kind::Join) {
                    // Of threads that are not there.
                    (address, value | 1 << 20)
                } else if kind == Kind::Call {
                    (in_file, (value & !0xFF) | (1 + (value & 7)))
                } else if matches!(kind, Kind::Written | Kind::Contents) {
                    (in_file, value)
                } else {
                    (address & !7, value)
                };
                let value = if kind.has_value() { value } else { 0 };
                let stamp = if kind.has_stamp() { stamp } else { 0 };
                Record { address, value, stamp, location, instructions, thread, kind, size: 1 << size }
            })
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_out_again(records in prop::collection::vec(any_record(3), 0..200)) {
            let bytes = encode_block(&records);
            let mut back = Vec::new();
            decode_block(&bytes, 3, records.len() as u32, |r| back.push(r)).unwrap();
            prop_assert_eq!(back, records);
        }

        /// Against the reading byte by byte: the same numbers, and the same errors at the same places.
        #[test]
        fn numbers_are_the_same_however_they_are_read(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x80..=0xFF_u8], 0..40),
        ) {
            let cursor = |at| Cursor { bytes: &bytes, at };
            let (mut one, mut other) = (cursor(0), cursor(0));
            loop {
                let (read, expected) = (one.number(), other.number_by_bytes(0, 0));
                prop_assert_eq!(&read, &expected);
                prop_assert_eq!(one.at, other.at);
                if read.is_err() {
                    break;
                }
            }
            for (at, n) in (0..=bytes.len()).flat_map(|at| (0..12).map(move |n| (at, n))) {
                let (mut one, mut other) = (cursor(at), cursor(at));
                prop_assert_eq!(one.whole(n), other.whole_by_bytes(n));
                prop_assert_eq!(one.at, other.at);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), count in 0u32..100) {
            _ = decode_block(&bytes, 0, count, |_| {});
        }
    }
}
