//! The records of one thread, as the recorder packs them in the program that it records: quickly first, small second.
//!
//! Places of code (sites) foretell. A site remembers the address of its last record, and what followed it: location,
//! kind, size and instructions. A record that is foretold is a head byte with bit 7, and the address's difference from
//! the one that its site had, and the value: of them as many bytes as are not zero, `d + 9 v` in the head's low bits.
//!
//! Other records: kind in bits 0 to 4 and logarithm of the size in bits 5 and 6; a byte with the number of bytes of the
//! address's difference (bits 0 to 3), whether it is from the last record's address (bit 4), whether instructions are
//! counted (bit 5), whether the location's difference has four bytes instead of two (bit 6), and whether it is a run
//! (bit 7). Then both differences, and value, stamp and instructions in variable length. A run has no value there but
//! the number of its words, and for each eight a byte that tells which are not zero, and those: each is a record,
//! without instructions but the first.
//!
//! What is remembered goes on from block to block of a thread, unless a block says that it begins anew.

use crate::block::{Cursor, unzigzag};
use crate::error::TraceError;
use crate::record::{Kind, Record};

const SITES: usize = 1 << 13;
const PAGE: usize = 32;
const FORETOLD: u8 = 0x80;
const FROM_LAST: u8 = 0x10;
const COUNTED: u8 = 0x20;
const FAR: u8 = 0x40;
const RUN: u8 = 0x80;

/// What a site remembers.
#[derive(Clone, Copy, Debug, Default)]
struct Site {
    address: u64,
    /// Location, then kind and size as in a head, then instructions.
    next: u64,
}

/// The sites of a thread, as far as it has been there: small threads are many.
#[derive(Debug, Default)]
struct Sites(Vec<Option<Box<[Site; PAGE]>>>);

impl Sites {
    #[inline]
    fn at(&mut self, index: usize) -> &mut Site {
        if self.0.is_empty() {
            self.0.resize_with(SITES / PAGE, || None);
        }
        &mut self.0[index / PAGE].get_or_insert_with(Box::default)[index % PAGE]
    }
}

fn index_of(location: u32) -> usize {
    (location >> 3) as usize % SITES
}

/// Where the unpacking of a thread's blocks stands.
#[derive(Debug, Default)]
pub(crate) struct Unpacker {
    sites: Sites,
    /// The site of the last record, and its location.
    last: usize,
    location: u32,
    thread: u16,
    at: usize,
    left: u32,
    /// What the words of a run are, how many are still to come, and which of the next are not zero, a bit above them.
    run: u64,
    words: u32,
    bits: u32,
}

impl Unpacker {
    /// Goes on with a block of `count` records.
    pub(crate) fn begin(&mut self, thread: u16, count: u32, anew: bool) {
        if anew {
            *self = Unpacker::default();
        }
        (self.thread, self.at, self.left, self.words, self.bits) = (thread, 0, count, 0, 0);
    }

    /// The next record of the block whose bytes these are.
    #[inline]
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Result<Option<Record>, TraceError> {
        if self.left == 0 {
            if self.at != bytes.len() || self.words > 0 {
                return Err(TraceError::damaged(self.at, "a block goes on after its last record"));
            }
            return Ok(None);
        }
        let mut cursor = Cursor { bytes, at: self.at };
        let record = if self.words > 0 {
            self.word(&mut cursor)?
        } else {
            let head = cursor.byte()?;
            if head & FORETOLD == 0 {
                self.told(head, &mut cursor)?
            } else {
                self.foretold(head, &mut cursor)?
            }
        };
        self.at = cursor.at;
        self.left -= 1;
        Ok(Some(record))
    }

    #[inline]
    fn foretold(&mut self, head: u8, cursor: &mut Cursor<'_>) -> Result<Record, TraceError> {
        let (d, v) = ((head - FORETOLD) % 9, (head - FORETOLD) / 9);
        let what = self.sites.at(self.last).next;
        let (step, value) = (cursor.whole(d)?, cursor.whole(v)?);
        let mut record = self.record(what, cursor.at)?;
        if v > 8 || record.kind.has_stamp() || record.kind.has_value() != (v > 0) {
            return Err(TraceError::damaged(cursor.at, "a record that cannot be foretold"));
        }
        (record.value, record.instructions) = (value, (what >> 40) as u32);
        // It goes there at once: one look at the site.
        (self.last, self.location) = (index_of(record.location), record.location);
        let site = self.sites.at(self.last);
        site.address = site.address.wrapping_add(unzigzag(step) as u64);
        record.address = site.address;
        Ok(record)
    }

    fn told(&mut self, head: u8, cursor: &mut Cursor<'_>) -> Result<Record, TraceError> {
        let how = cursor.byte()?;
        if how & 15 > 8 {
            return Err(TraceError::damaged(cursor.at - 1, "a difference of more than 64 bits"));
        }
        let step = unzigzag(cursor.whole(how & 15)?) as u64;
        let place = unzigzag(cursor.whole(if how & FAR == 0 { 2 } else { 4 })?) as u32;
        let what = u64::from(self.location.wrapping_add(place)) | u64::from(head) << 32;
        let mut record = self.record(what, cursor.at)?;
        let run = how & RUN != 0;
        if run && (!record.kind.has_value() || record.kind.has_stamp() || record.size != 8) {
            return Err(TraceError::damaged(cursor.at, "a run of records that have no runs"));
        }
        if record.kind.has_value() && !run {
            record.value = cursor.number()?;
        }
        if record.kind.has_stamp() {
            record.stamp = cursor.number()? as u32;
        }
        if how & COUNTED != 0 {
            record.instructions = cursor.number()? as u32;
        }
        let from = if how & FROM_LAST == 0 { index_of(record.location) } else { self.last };
        record.address = self.sites.at(from).address.wrapping_add(step);
        self.sites.at(self.last).next = what | u64::from(record.instructions) << 40;
        if !run {
            self.go_to(&record);
            return Ok(record);
        }
        self.words = u32::from(cursor.byte()?);
        if self.words == 0 {
            return Err(TraceError::damaged(cursor.at - 1, "a run of no words"));
        }
        (self.run, self.bits) = (what, 0);
        record.address = record.address.wrapping_sub(8);
        self.go_to(&record);
        let first = self.word(cursor)?;
        Ok(Record { instructions: record.instructions, ..first })
    }

    /// The next word of a run.
    fn word(&mut self, cursor: &mut Cursor<'_>) -> Result<Record, TraceError> {
        let mut record = self.record(self.run, cursor.at)?;
        if self.bits <= 1 {
            self.bits = u32::from(cursor.byte()?) | 1 << 8;
        }
        record.value = cursor.whole(if self.bits & 1 == 1 { 8 } else { 0 })?;
        record.address = self.sites.at(self.last).address.wrapping_add(8);
        self.bits >>= 1;
        self.words -= 1;
        self.go_to(&record);
        Ok(record)
    }

    fn record(&self, what: u64, at: usize) -> Result<Record, TraceError> {
        let head = (what >> 32) as u8;
        let unknown = || TraceError::damaged(at, format!("unknown kind {}", head & 31));
        Ok(Record {
            address: 0,
            value: 0,
            stamp: 0,
            location: what as u32,
            instructions: 0,
            thread: self.thread,
            kind: Kind::from_number(head & 31).ok_or_else(unknown)?,
            size: 1 << (head >> 5 & 3),
        })
    }

    fn go_to(&mut self, record: &Record) {
        (self.last, self.location) = (index_of(record.location), record.location);
        self.sites.at(self.last).address = record.address;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::any_record;
    use proptest::prelude::*;

    fn put(out: &mut Vec<u8>, mut v: u64) {
        while v >= 0x80 {
            out.push(v as u8 | 0x80);
            v >>= 7;
        }
        out.push(v as u8);
    }

    fn least(out: &mut Vec<u8>, v: u64, least: u32) -> u8 {
        let n = (u64::BITS - v.leading_zeros()).div_ceil(8).max(least);
        out.extend(&v.to_le_bytes()[..n as usize]);
        n as u8
    }

    fn zigzag(v: u64) -> u64 {
        v << 1 ^ (v as i64 >> 63) as u64
    }

    /// As the recorder packs, each record by itself.
    fn pack(sites: &mut [Site], last: &mut (usize, u32), records: &[Record]) -> Vec<u8> {
        let mut out = Vec::new();
        for r in records {
            let head = r.kind as u8 | (r.size.trailing_zeros() as u8) << 5;
            let what = u64::from(r.location) | u64::from(head) << 32;
            let next = what | u64::from(r.instructions) << 40;
            let here = index_of(r.location);
            let step = zigzag(r.address.wrapping_sub(sites[here].address));
            let near = zigzag(r.address.wrapping_sub(sites[last.0].address));
            let mut bytes = Vec::new();
            if sites[last.0].next == next
                && r.instructions < 1 << 24
                && !r.kind.has_stamp()
                && step >> 63 == 0
            {
                let d = least(&mut bytes, step, 0);
                let v = if r.kind.has_value() { least(&mut bytes, r.value, 1) } else { 0 };
                out.push(FORETOLD + d + 9 * v);
                out.extend(bytes);
            } else {
                let place = zigzag(i64::from(r.location.wrapping_sub(last.1) as i32) as u64) as u32;
                let n = least(&mut bytes, step.min(near), 0);
                let far = place > 0xFFFF;
                let flags = [(near < step, FROM_LAST), (r.instructions > 0, COUNTED), (far, FAR)];
                out.push(head);
                out.push(flags.iter().fold(n, |how, (set, flag)| how | if *set { *flag } else { 0 }));
                out.extend(bytes);
                out.extend(&place.to_le_bytes()[..if far { 4 } else { 2 }]);
                let numbers = [(r.kind.has_value(), r.value), (r.kind.has_stamp(), r.stamp.into())];
                let work = (r.instructions > 0, r.instructions.into());
                numbers.iter().chain([&work]).filter(|n| n.0).for_each(|n| put(&mut out, n.1));
                sites[last.0].next = next;
            }
            sites[here].address = r.address;
            *last = (here, r.location);
        }
        out
    }

    fn unpack(
        unpacker: &mut Unpacker,
        bytes: &[u8],
        count: usize,
        anew: bool,
    ) -> Result<Vec<Record>, TraceError> {
        unpacker.begin(3, count as u32, anew);
        std::iter::from_fn(|| unpacker.next(bytes).transpose()).collect()
    }

    proptest! {
        #[test]
        fn what_the_recorder_packs_comes_out_again(
            few in prop::collection::vec(any_record(3), 1..12),
            order in prop::collection::vec((any::<prop::sample::Index>(), 0u64..64), 0..300),
            cut in any::<prop::sample::Index>(),
        ) {
            // Code comes again, at other addresses.
            let again = |(i, step): &(prop::sample::Index, u64)| {
                let r = few[i.index(few.len())];
                Record { address: r.address.wrapping_add(8 * step), ..r }
            };
            let records: Vec<Record> = order.iter().map(again).collect();
            let (one, two) = records.split_at(cut.index(records.len() + 1));
            let (mut sites, mut last) = (vec![Site::default(); SITES], (0, 0));
            let mut unpacker = Unpacker::default();
            for (anew, part) in [(true, one), (false, two)] {
                let bytes = pack(&mut sites, &mut last, part);
                prop_assert_eq!(unpack(&mut unpacker, &bytes, part.len(), anew).unwrap(), part);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), count in 0usize..100) {
            _ = unpack(&mut Unpacker::default(), &bytes, count, true);
        }
    }

    #[test]
    fn a_run_is_a_record_for_each_word() {
        let store = Kind::Store as u8 | 3 << 5;
        let mut bytes = vec![store, 2 | COUNTED | RUN, 0x00, 0x10, 0x20, 0, 5, 10, 0b0000_0010];
        bytes.extend(7u64.to_le_bytes());
        bytes.push(0b10);
        bytes.extend(9u64.to_le_bytes());
        let records = unpack(&mut Unpacker::default(), &bytes, 10, true).unwrap();
        let seen: Vec<_> = records.iter().map(|r| (r.address, r.value, r.instructions)).collect();
        let word =
            |i: u64| (0x800 + 8 * i, [0, 7, 0, 0, 0, 0, 0, 0, 0, 9][i as usize], if i == 0 { 5 } else { 0 });
        assert_eq!(seen, (0..10).map(word).collect::<Vec<_>>());
        assert!(records.iter().all(|r| (r.kind, r.size, r.location) == (Kind::Store, 8, 0x10)));
        assert!(unpack(&mut Unpacker::default(), &bytes, 9, true).is_err());
        assert!(unpack(&mut Unpacker::default(), &bytes[..bytes.len() - 1], 10, true).is_err());
    }
}
