//! The recorder's block file: a header, then blocks that can each be read alone, so that what a killed program
//! left is readable up to its last whole block.
//!
//! Header: `COREPLNT`, version (u32, 2), zero (u32). Block: `CBLK`, kind (u32), thread (u32), records (u32),
//! length when unpacked (u32), length in the file (u32), checksum of the bytes in the file (u32, FNV-1a), bytes.
//! Kinds: 1 records, 2 records packed with zstd, 3 text (key, newline, value), 4 the end. All little-endian.

use crate::block::{decode_block, encode_block};
use crate::error::TraceError;
use crate::record::Trace;

const MAGIC: &[u8; 8] = b"COREPLNT";
const BLOCK: &[u8; 4] = b"CBLK";
const VERSION: u32 = 2;
const HEADER: usize = 16;
const BLOCK_HEADER: usize = 28;
/// No block is larger when unpacked: a damaged length cannot ask for all memory.
const LARGEST: usize = 64 << 20;
const RECORDS_PER_BLOCK: usize = 1 << 16;

const RAW: u32 = 1;
const ZSTD: u32 = 2;
const TEXT: u32 = 3;
const END: u32 = 4;

/// Whether the bytes begin as a block file does.
pub fn is_block_file(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

struct Block<'a> {
    kind: u32,
    thread: u32,
    count: u32,
    unpacked: usize,
    bytes: &'a [u8],
    at: usize,
}

/// A block file, its blocks found but not unpacked.
pub struct BlockFile<'a> {
    blocks: Vec<Block<'a>>,
    /// Whether the recorder finished the file.
    pub finished: bool,
    /// Bytes after the last whole block.
    pub left_over: usize,
}

impl<'a> BlockFile<'a> {
    /// Finds the blocks of a whole file.
    ///
    /// # Errors
    /// When the header or a block is damaged, or the file ends early.
    pub fn parse(bytes: &'a [u8]) -> Result<BlockFile<'a>, TraceError> {
        let file = BlockFile::prefix(bytes)?;
        if !file.finished {
            let at = bytes.len() - file.left_over;
            let text = "the file ends without an end block: its program was cut short, or the file was (coreplane trace convert --salvage keeps what is whole)";
            return Err(TraceError::damaged(at, text));
        }
        if file.left_over > 0 {
            return Err(TraceError::damaged(bytes.len() - file.left_over, "bytes after the end block"));
        }
        Ok(file)
    }

    /// Finds the whole blocks at the beginning of a file, whatever follows.
    ///
    /// # Errors
    /// When the header is damaged or of another version.
    pub fn prefix(bytes: &'a [u8]) -> Result<BlockFile<'a>, TraceError> {
        let head =
            bytes.get(..HEADER).ok_or_else(|| TraceError::damaged(bytes.len(), "the header ends early"))?;
        if !is_block_file(head) {
            return Err(TraceError::foreign("a block file begins with COREPLNT"));
        }
        let version = u32_at(head, 8);
        if version != VERSION {
            return Err(TraceError::damaged(
                8,
                format!("version {version}; this program reads version {VERSION}"),
            ));
        }
        let mut file = BlockFile { blocks: Vec::new(), finished: false, left_over: 0 };
        let mut at = HEADER;
        while let Some(block) = next_block(bytes, at) {
            at += BLOCK_HEADER + block.bytes.len();
            if block.kind == END {
                file.finished = true;
                break;
            }
            file.blocks.push(block);
        }
        file.left_over = bytes.len() - at;
        Ok(file)
    }

    /// Unpacks everything.
    ///
    /// # Errors
    /// When a block's contents are damaged.
    pub fn to_trace(&self) -> Result<Trace, TraceError> {
        let mut trace = Trace::default();
        let mut buffer = Vec::new();
        for block in &self.blocks {
            match block.kind {
                RAW | ZSTD => {
                    let thread = block_thread(block)?;
                    let bytes = unpack(block, &mut buffer)?;
                    if thread as usize >= trace.threads.len() {
                        trace.threads.resize(thread as usize + 1, Vec::new());
                    }
                    let records = &mut trace.threads[thread as usize];
                    decode_block(bytes, thread, block.count, |r| records.push(r))?;
                }
                TEXT => read_text(block, &mut trace)?,
                kind => return Err(TraceError::damaged(block.at, format!("unknown block kind {kind}"))),
            }
        }
        Ok(trace)
    }

    /// The texts of the file: key and value.
    pub fn texts(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let texts = self.blocks.iter().filter(|b| b.kind == TEXT);
        texts.filter_map(|b| std::str::from_utf8(b.bytes).ok()).map(|t| t.split_once('\n').unwrap_or((t, "")))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The whole, undamaged block at `at`, if there is one.
fn next_block(bytes: &[u8], at: usize) -> Option<Block<'_>> {
    let head = bytes.get(at..at + BLOCK_HEADER)?;
    if &head[..4] != BLOCK {
        return None;
    }
    let (unpacked, length) = (u32_at(head, 16) as usize, u32_at(head, 20) as usize);
    let contents = bytes.get(at + BLOCK_HEADER..)?.get(..length)?;
    if unpacked > LARGEST || checksum(contents) != u32_at(head, 24) {
        return None;
    }
    let (kind, thread, count) = (u32_at(head, 4), u32_at(head, 8), u32_at(head, 12));
    Some(Block { kind, thread, count, unpacked, bytes: contents, at })
}

fn block_thread(block: &Block<'_>) -> Result<u16, TraceError> {
    // As many threads as harts can be simulated, with room for those that did little.
    u16::try_from(block.thread)
        .ok()
        .filter(|t| *t < 4096)
        .ok_or_else(|| TraceError::damaged(block.at, format!("thread {}", block.thread)))
}

fn unpack<'b>(block: &Block<'b>, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], TraceError> {
    if block.kind == RAW {
        return Ok(block.bytes);
    }
    buffer.clear();
    *buffer = zstd::bulk::decompress(block.bytes, block.unpacked)
        .map_err(|e| TraceError::damaged(block.at, format!("zstd: {e}")))?;
    Ok(buffer)
}

fn read_text(block: &Block<'_>, trace: &mut Trace) -> Result<(), TraceError> {
    let text = std::str::from_utf8(block.bytes)
        .map_err(|_| TraceError::damaged(block.at, "text that is not UTF-8"))?;
    let (key, value) = text.split_once('\n').unwrap_or((text, ""));
    trace.about.read(key, value)
}

/// FNV-1a over 8-byte words, then the rest byte by byte; folded to 32 bits. Cheap enough for the recorder.
fn checksum(bytes: &[u8]) -> u32 {
    const PRIME: u64 = 0x0000_0100_0000_01B3;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut h = 0xCBF2_9CE4_8422_2325u64;
    for word in words {
        h = (h ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME);
    }
    for byte in rest {
        h = (h ^ u64::from(*byte)).wrapping_mul(PRIME);
    }
    (h ^ h >> 32) as u32
}

fn append(out: &mut Vec<u8>, kind: u32, thread: u32, count: u32, unpacked: usize, bytes: &[u8]) {
    out.extend_from_slice(BLOCK);
    for field in [kind, thread, count, unpacked as u32, bytes.len() as u32, checksum(bytes)] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    out.extend_from_slice(bytes);
}

/// A finished block file of a trace, its records packed with zstd.
///
/// # Errors
/// When zstd fails, which it does for want of memory only.
pub fn write_block_file(trace: &Trace) -> Result<Vec<u8>, TraceError> {
    let mut out = Vec::new();
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&0u32.to_le_bytes());
    for (key, value) in trace.about.texts() {
        let text = format!("{key}\n{value}");
        append(&mut out, TEXT, 0, 0, text.len(), text.as_bytes());
    }
    for (thread, records) in trace.threads.iter().enumerate() {
        for chunk in records.chunks(RECORDS_PER_BLOCK) {
            let raw = encode_block(chunk);
            let packed = zstd::bulk::compress(&raw, 1)?;
            append(&mut out, ZSTD, thread as u32, chunk.len() as u32, raw.len(), &packed);
        }
    }
    append(&mut out, END, 0, 0, 0, &[]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::any_record;
    use proptest::prelude::*;

    fn trace(records: Vec<crate::Record>) -> Trace {
        let mut t = Trace { about: crate::about::tests::sample(), ..Trace::default() };
        records.into_iter().for_each(|r| t.push(r));
        t
    }

    proptest! {
        #[test]
        fn a_block_file_comes_back_as_it_was(records in prop::collection::vec(any_record(1), 1..100)) {
            let t = trace(records);
            let bytes = write_block_file(&t).unwrap();
            prop_assert_eq!(crate::read(bytes).unwrap(), t);
        }

        #[test]
        fn a_cut_file_is_refused_and_its_whole_blocks_are_kept(records in prop::collection::vec(any_record(0), 1..50), cut in 0.0f64..1.0) {
            let bytes = write_block_file(&trace(records)).unwrap();
            let cut = (bytes.len() as f64 * cut) as usize;
            prop_assert!(crate::read(bytes[..cut].to_vec()).is_err());
            if cut >= HEADER {
                BlockFile::prefix(&bytes[..cut]).unwrap().to_trace().unwrap();
            }
        }

        #[test]
        fn a_changed_byte_is_noticed(records in prop::collection::vec(any_record(0), 5..50), place in 0.0f64..1.0, bit in 0u8..8) {
            let t = trace(records);
            let mut bytes = write_block_file(&t).unwrap();
            let at = (bytes.len() as f64 * place) as usize;
            bytes[at] ^= 1 << bit;
            // The header's spare word, and a block's count, thread and kind, are not under the checksum.
            if let Ok(read) = crate::read(bytes) {
                prop_assert!(read.len() <= t.len() * 2);
            }
        }
    }

    #[test]
    fn other_versions_and_foreign_files_are_named() {
        let mut bytes = write_block_file(&Trace::default()).unwrap();
        bytes[8] = 9;
        assert!(crate::read(bytes).unwrap_err().to_string().contains("version 9"));
        assert!(crate::read(b"#!/bin/sh\n".to_vec()).unwrap_err().to_string().contains("not a trace"));
        assert!(crate::read(Vec::new()).is_err());
    }
}
