//! The recorder's block file: a header, then blocks that can each be read alone, so that what a killed program
//! left is readable up to its last whole block.
//!
//! Header: `COREPLNT`, version (u32, 3), zero (u32). Block: `CBLK`, kind (u32), thread (u32), records (u32),
//! length when unpacked (u32), length in the file (u32), checksum of all before it and of the bytes in the file (u32,
//! FNV-1a), bytes. Version 2, which is read too, has no block's head in its checksum.
//! Kinds: 1 records, 2 records packed with zstd, 3 text (key, newline, value), 4 the end, 5 records as the recorder
//! packs them, 6 the same, going on from the thread's block before. All little-endian. The end has no contents, or eight bytes: where
//! the text before it begins, which is the summary ([`crate::summary`]).

use crate::about::About;
use crate::block::{Decoder, encode_block};
use crate::error::TraceError;
use crate::foretold::Unpacker;
use crate::record::{Record, Trace};
use crate::source::ReadAt;
use std::io::Write;

/// Keys and values.
pub(crate) type Texts = Vec<(String, String)>;

pub(crate) const MAGIC: &[u8; 8] = b"COREPLNT";
/// The key of the summary.
pub(crate) const SUMMARY: &str = "summary";
const BLOCK: &[u8; 4] = b"CBLK";
const VERSION: u32 = 3;
/// The one before, whose checksums are of a block's contents alone.
const VERSION_OF_CONTENTS: u32 = 2;
const HEADER: usize = 16;
const BLOCK_HEADER: usize = 28;
/// Where a block's head has its checksum.
const SUM: usize = 24;
/// No block is larger when unpacked: a damaged length cannot ask for all memory.
const LARGEST: u32 = 4 << 20;
const LARGEST_TEXT: u32 = 64 << 20;
/// Small enough that thousands of threads can be read at once.
pub(crate) const RECORDS_PER_BLOCK: usize = 1 << 14;

const RAW: u32 = 1;
const ZSTD: u32 = 2;
const TEXT: u32 = 3;
const END: u32 = 4;
const FIRST: u32 = 5;
const NEXT: u32 = 6;
/// Records that a byte of the recorder's can stand for: words of a run.
const MOST_PER_BYTE: u32 = 8;

/// Whether the bytes begin as a block file does.
pub fn is_block_file(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// A block of records in the file.
struct Block {
    /// Where its contents begin.
    at: u64,
    length: u32,
    unpacked: u32,
    count: u32,
    kind: u32,
}

/// A block file, its blocks found but not unpacked.
pub(crate) struct Blocks {
    source: Box<dyn ReadAt>,
    threads: Vec<Vec<Block>>,
    /// The texts.
    pub(crate) texts: Vec<(String, String)>,
    /// Whether the recorder finished the file.
    pub(crate) finished: bool,
    /// Bytes after the last whole block.
    pub(crate) left_over: u64,
    /// What is wrong with the block that they begin with, where the file was not just cut short.
    damage: Option<String>,
}

/// What is at a place where a block may begin.
enum Next {
    /// A whole block, undamaged: its head.
    Block([u8; BLOCK_HEADER]),
    /// The file ends before a block does.
    Cut,
    /// Something else, in words.
    Damaged(String),
}

impl Blocks {
    /// Finds the blocks of a whole file.
    ///
    /// # Errors
    /// When the header or a block is damaged, or the file ends early.
    pub(crate) fn whole(source: Box<dyn ReadAt>) -> Result<Blocks, TraceError> {
        let file = Blocks::prefix(source)?;
        let at = (file.source.size() - file.left_over) as usize;
        if let Some(damage) = file.damage() {
            let text = format!("{damage} (coreplane trace convert --salvage keeps what is before it)");
            return Err(TraceError::unfit(text));
        }
        if !file.finished {
            let text = "the file ends without an end block: its program was cut short, or the file was (coreplane trace convert --salvage keeps what is whole)";
            return Err(TraceError::damaged(at, text));
        }
        if file.left_over > 0 {
            let text = "bytes after the end block (coreplane trace convert --salvage leaves them out)";
            return Err(TraceError::damaged(at, text));
        }
        Ok(file)
    }

    /// Finds the whole blocks at the beginning of a file, whatever follows.
    ///
    /// # Errors
    /// When the header is damaged or of another version.
    pub(crate) fn prefix(source: Box<dyn ReadAt>) -> Result<Blocks, TraceError> {
        let blocks = Framing::of(&*source)?;
        let (size, version) = (blocks.size, blocks.version);
        let mut file = Blocks {
            source,
            threads: Vec::new(),
            texts: Vec::new(),
            finished: false,
            left_over: 0,
            damage: None,
        };
        let (mut at, mut contents) = (HEADER as u64, Vec::new());
        while !file.finished {
            let blocks = Framing { source: &*file.source, size, version };
            let damage = match blocks.next(at, &mut contents)? {
                Next::Block(head) => file.add(&head, at, &contents).err(),
                Next::Cut => break,
                Next::Damaged(why) => Some(why),
            };
            if damage.is_some() {
                file.damage = damage;
                break;
            }
            units::watch::pass(at, size);
            at += (BLOCK_HEADER + contents.len()) as u64;
        }
        file.left_over = size - at;
        Ok(file)
    }

    /// Takes a whole block; or what is wrong with it, which only a file of the version before can have, or of another program.
    fn add(&mut self, head: &[u8], at: u64, contents: &[u8]) -> Result<(), String> {
        let (kind, thread, count) = (u32_at(head, 4), u32_at(head, 8), u32_at(head, 12));
        match kind {
            RAW | ZSTD | FIRST | NEXT => {
                let thread = u16::try_from(thread).map_err(|_| format!("thread {thread}"))?;
                let unpacked = if kind == ZSTD { u32_at(head, 16) } else { contents.len() as u32 };
                let most = if kind < FIRST { unpacked } else { unpacked.saturating_mul(MOST_PER_BYTE) };
                if unpacked > LARGEST || count > most {
                    return Err(format!("{count} records in {unpacked} bytes"));
                }
                let thread = thread as usize;
                if thread >= self.threads.len() {
                    self.threads.resize_with(thread + 1, Vec::new);
                }
                let at = at + BLOCK_HEADER as u64;
                let blocks = &mut self.threads[thread];
                if kind == NEXT && blocks.last().is_none_or(|b| b.kind < FIRST) {
                    return Err("a block that goes on from none".into());
                }
                blocks.push(Block { at, length: contents.len() as u32, unpacked, count, kind });
            }
            TEXT => {
                let text = crate::names::text_of(contents);
                let (key, value) = text.split_once('\n').unwrap_or((&text, ""));
                self.texts.push((key.into(), value.into()));
            }
            END => self.finished = true,
            kind => return Err(format!("unknown block kind {kind}")),
        }
        Ok(())
    }

    /// What is wrong behind the last whole block, where the file was not just cut short.
    pub(crate) fn damage(&self) -> Option<TraceError> {
        let at = (self.source.size() - self.left_over) as usize;
        self.damage.as_ref().map(|why| TraceError::damaged(at, why))
    }

    /// How many threads there are: one more than the highest number.
    pub(crate) fn threads(&self) -> usize {
        self.threads.len()
    }

    /// How many records there are.
    pub(crate) fn records(&self) -> u64 {
        self.threads.iter().flatten().map(|block| u64::from(block.count)).sum()
    }
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// A file's bytes, and how blocks lie in them.
struct Framing<'a> {
    source: &'a dyn ReadAt,
    size: u64,
    version: u32,
}

/// Bytes of an end that says where the summary begins.
const TAIL: u64 = (BLOCK_HEADER + 8) as u64;

impl<'a> Framing<'a> {
    /// What the header says.
    ///
    /// # Errors
    /// When it is damaged, of a version that is not read, or not of a block file.
    fn of(source: &'a dyn ReadAt) -> Result<Framing<'a>, TraceError> {
        let (size, mut head) = (source.size(), [0; HEADER]);
        if size < HEADER as u64 {
            return Err(TraceError::damaged(size as usize, "the header ends early"));
        }
        source.read_at(0, &mut head)?;
        if !is_block_file(&head) {
            return Err(TraceError::foreign("a block file begins with COREPLNT"));
        }
        let version = u32_at(&head, 8);
        if ![VERSION, VERSION_OF_CONTENTS].contains(&version) {
            let text = format!("version {version}; this program reads versions 2 and 3");
            return Err(TraceError::damaged(8, text));
        }
        if version == VERSION && u32_at(&head, 12) != 0 {
            return Err(TraceError::damaged(12, "the header's last four bytes are not zero"));
        }
        Ok(Framing { source, size, version })
    }

    /// What is at `at`; the contents of a whole block go into `contents`.
    fn next(&self, at: u64, contents: &mut Vec<u8>) -> Result<Next, TraceError> {
        let mut head = [0; BLOCK_HEADER];
        if self.size - at < BLOCK_HEADER as u64 {
            return Ok(Next::Cut);
        }
        self.source.read_at(at, &mut head)?;
        let length = u32_at(&head, 20);
        let left = self.size - at - BLOCK_HEADER as u64;
        if &head[..4] != BLOCK {
            return Ok(Next::Damaged("no block begins here".into()));
        }
        let ends_within = u64::from(length) <= left;
        if length > LARGEST_TEXT || (!ends_within && self.has_end()?) {
            return Ok(Next::Damaged("the block's length is wrong".into()));
        }
        if !ends_within {
            return Ok(Next::Cut);
        }
        contents.resize(length as usize, 0);
        self.source.read_at(at + BLOCK_HEADER as u64, contents)?;
        if checksum_of_block(self.version, &head, contents) == u32_at(&head, SUM) {
            Ok(Next::Block(head))
        } else {
            Ok(Next::Damaged("the block's checksum is wrong".into()))
        }
    }

    /// Whether the file's last bytes are an end.
    fn has_end(&self) -> Result<bool, TraceError> {
        let mut tail = [0; BLOCK_HEADER];
        self.source.read_at(self.size - BLOCK_HEADER as u64, &mut tail)?;
        let is_bare = &tail[..4] == BLOCK && u32_at(&tail, 4) == END && u32_at(&tail, 20) == 0;
        Ok(is_bare || self.end_at_tail()?.is_some())
    }

    /// Where the summary begins, if the file's last bytes are an end that says so.
    fn end_at_tail(&self) -> Result<Option<u64>, TraceError> {
        let mut tail = [0; TAIL as usize];
        if self.size < HEADER as u64 + TAIL {
            return Ok(None);
        }
        self.source.read_at(self.size - TAIL, &mut tail)?;
        let (head, contents) = tail.split_at(BLOCK_HEADER);
        let is_end = &head[..4] == BLOCK
            && u32_at(head, 4) == END
            && u32_at(head, SUM) == checksum_of_block(self.version, head, contents);
        Ok(<[u8; 8]>::try_from(contents).ok().filter(|_| is_end).map(u64::from_le_bytes))
    }

    /// The text at `at`, which moves behind it; none where something else is there.
    fn text_at(&self, at: &mut u64) -> Result<Option<(String, String)>, TraceError> {
        let mut contents = Vec::new();
        let head = match self.next(*at, &mut contents)? {
            Next::Block(head) => Some(head).filter(|head| u32_at(head, 4) == TEXT),
            Next::Cut => None,
            // Records are not what is asked for.
            Next::Damaged(_) if self.is_other_block(*at, &contents)? => None,
            Next::Damaged(why) => return Err(TraceError::damaged(*at as usize, why)),
        };
        let text = head.and_then(|_| String::from_utf8(contents).ok());
        *at += text.as_ref().map_or(0, |text| (BLOCK_HEADER + text.len()) as u64);
        Ok(text.map(|text| {
            let (key, value) = text.split_once('\n').unwrap_or((&text, ""));
            (key.into(), value.into())
        }))
    }

    /// Whether a damaged block at `at` is none of a text: it is not said to be one, nor does its sum fit when it is.
    fn is_other_block(&self, at: u64, contents: &[u8]) -> Result<bool, TraceError> {
        let mut head = [0; BLOCK_HEADER];
        self.source.read_at(at, &mut head)?;
        let mut text = head;
        text[4..8].copy_from_slice(&TEXT.to_le_bytes());
        let is_text = u32_at(&head, SUM) == checksum_of_block(self.version, &text, contents);
        Ok(&head[..4] == BLOCK && u32_at(&head, 4) != TEXT && !is_text)
    }
}

/// The texts of a finished file that begins with them, and ends with a summary which is the last of them; none where it is another.
///
/// # Errors
/// When the file cannot be read, or a block of these is damaged.
pub(crate) fn texts_alone(source: &dyn ReadAt) -> Result<Option<Texts>, TraceError> {
    let Ok(blocks) = Framing::of(source) else { return Ok(None) };
    let tail = blocks.size.saturating_sub(TAIL);
    let Some(at) = blocks.end_at_tail()?.filter(|at| *at < tail) else { return Ok(None) };
    let mut texts = Vec::new();
    let mut next = HEADER as u64;
    while let Some(text) = blocks.text_at(&mut next)? {
        texts.push(text);
    }
    next = at;
    let Some(last) = blocks.text_at(&mut next)?.filter(|_| next == tail) else {
        return Ok(None);
    };
    texts.push(last);
    Ok(Some(texts))
}

/// Reads the records of one thread, a block in memory at a time.
#[derive(Default)]
pub(crate) struct BlockCursor {
    thread: u16,
    next: usize,
    bytes: Vec<u8>,
    decoder: Decoder,
    /// In place of the decoder, while a block of the recorder's is read.
    unpacker: Unpacker,
    unpacks: bool,
}

impl BlockCursor {
    pub(crate) fn new(thread: u16) -> BlockCursor {
        BlockCursor { thread, ..BlockCursor::default() }
    }

    #[inline]
    pub(crate) fn next(&mut self, file: &Blocks) -> Result<Option<Record>, TraceError> {
        loop {
            let next =
                if self.unpacks { self.unpacker.next(&self.bytes) } else { self.decoder.next(&self.bytes) };
            if let Some(record) = next? {
                return Ok(Some(record));
            }
            let Some(block) = file.threads.get(self.thread as usize).and_then(|t| t.get(self.next)) else {
                *self = BlockCursor { next: usize::MAX, ..BlockCursor::new(self.thread) };
                return Ok(None);
            };
            self.next += 1;
            self.load(&*file.source, block)?;
        }
    }

    fn load(&mut self, source: &dyn ReadAt, block: &Block) -> Result<(), TraceError> {
        self.bytes.resize(block.length as usize, 0);
        source.read_at(block.at, &mut self.bytes)?;
        if block.kind == ZSTD {
            self.bytes = zstd::bulk::decompress(&self.bytes, block.unpacked as usize)
                .map_err(|e| TraceError::damaged(block.at as usize, format!("zstd: {e}")))?;
        }
        self.unpacks = block.kind >= FIRST;
        if self.unpacks {
            self.unpacker.begin(self.thread, block.count, block.kind == FIRST);
        } else {
            self.decoder = Decoder::new(self.thread, block.count);
        }
        Ok(())
    }
}

const PRIME: u64 = 0x0000_0100_0000_01B3;

/// FNV-1a over 8-byte words, then the rest byte by byte; folded to 32 bits. Cheap enough for the recorder.
fn checksum(bytes: &[u8]) -> u32 {
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

/// The recorder's over its records: four such sums, of every fourth word each, and that of the rest.
fn checksum_of_records(bytes: &[u8]) -> u32 {
    let (groups, rest) = bytes.as_chunks::<32>();
    let mut lanes = [1u64, 2, 3, 4];
    for group in groups {
        for (lane, word) in lanes.iter_mut().zip(group.as_chunks::<8>().0) {
            *lane = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME);
        }
    }
    lanes.iter().fold(checksum(rest), |sum, h| sum.rotate_left(7) ^ (h ^ h >> 32) as u32)
}

/// Of a block whose head this is, up to the sum.
fn checksum_of_block(version: u32, head: &[u8], contents: &[u8]) -> u32 {
    let of_recorder = matches!(u32_at(head, 4), FIRST | NEXT);
    let sum = if of_recorder { checksum_of_records(contents) } else { checksum(contents) };
    if version == VERSION_OF_CONTENTS { sum } else { sum.rotate_left(7) ^ checksum(&head[..SUM]) }
}

/// Writes a block file, its records packed with zstd, a block in memory at a time.
pub(crate) struct BlockWriter<W> {
    out: W,
    /// Bytes that were written.
    at: u64,
}

impl<W: Write> BlockWriter<W> {
    /// Begins a file.
    pub(crate) fn new(mut out: W, about: &About) -> Result<BlockWriter<W>, TraceError> {
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&0u32.to_le_bytes())?;
        let mut writer = BlockWriter { out, at: HEADER as u64 };
        for (key, value) in about.texts() {
            let text = format!("{key}\n{value}");
            writer.block(TEXT, 0, 0, text.len(), text.as_bytes())?;
        }
        Ok(writer)
    }

    /// All records of the next thread.
    pub(crate) fn thread(
        &mut self,
        thread: u16,
        mut records: impl Iterator<Item = Record>,
    ) -> Result<(), TraceError> {
        let mut chunk = Vec::new();
        loop {
            units::watch::check();
            chunk.clear();
            chunk.extend(records.by_ref().take(RECORDS_PER_BLOCK));
            if chunk.is_empty() {
                return Ok(());
            }
            self.records(thread, &chunk)?;
        }
    }

    /// The next records of a thread: one block.
    pub(crate) fn records(&mut self, thread: u16, records: &[Record]) -> Result<(), TraceError> {
        if records.is_empty() {
            return Ok(());
        }
        let raw = encode_block(records);
        let packed = zstd::bulk::compress(&raw, 1)?;
        self.block(ZSTD, thread.into(), records.len() as u32, raw.len(), &packed)
    }

    /// Ends the file with what its records are, counted.
    pub(crate) fn finish_with(mut self, summary: &str) -> Result<W, TraceError> {
        let at = self.at;
        let text = format!("{SUMMARY}\n{summary}");
        self.block(TEXT, 0, 0, text.len(), text.as_bytes())?;
        self.end(&at.to_le_bytes())
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<W, TraceError> {
        self.end(&[])
    }

    fn end(mut self, contents: &[u8]) -> Result<W, TraceError> {
        self.block(END, 0, 0, contents.len(), contents)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn block(
        &mut self,
        kind: u32,
        thread: u32,
        count: u32,
        unpacked: usize,
        bytes: &[u8],
    ) -> Result<(), TraceError> {
        let mut head = [0; BLOCK_HEADER];
        head[..4].copy_from_slice(BLOCK);
        let fields = [kind, thread, count, unpacked as u32, bytes.len() as u32];
        for (place, field) in head[4..SUM].chunks_exact_mut(4).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        let sum = checksum_of_block(VERSION, &head, bytes);
        head[SUM..].copy_from_slice(&sum.to_le_bytes());
        self.out.write_all(&head)?;
        self.at += (BLOCK_HEADER + bytes.len()) as u64;
        Ok(self.out.write_all(bytes)?)
    }
}

/// A finished block file of a trace.
///
/// # Errors
/// When zstd fails, which it does for want of memory only.
pub fn write_block_file(trace: &Trace) -> Result<Vec<u8>, TraceError> {
    let mut writer = BlockWriter::new(Vec::new(), &trace.about)?;
    for (thread, records) in trace.threads.iter().enumerate() {
        writer.thread(thread as u16, records.iter().copied())?;
    }
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::any_record;
    use crate::{Kind, Recording};
    use proptest::prelude::*;

    fn trace(records: Vec<Record>) -> Trace {
        let mut t = Trace { about: crate::about::tests::sample(), ..Trace::default() };
        records.into_iter().for_each(|r| t.push(r));
        t
    }

    proptest! {
        #[test]
        fn a_block_file_comes_back_as_it_was(records in prop::collection::vec(any_record(1), 1..100)) {
            let t = trace(records);
            prop_assert_eq!(crate::read(write_block_file(&t).unwrap()).unwrap(), t);
        }

        #[test]
        fn a_cut_file_is_refused_and_its_whole_blocks_are_kept(
            records in prop::collection::vec(any_record(0), 1..50), cut in 0.0f64..1.0
        ) {
            let t = trace(records);
            let bytes = write_block_file(&t).unwrap();
            let cut = (bytes.len() as f64 * cut) as usize;
            prop_assert!(crate::read(bytes[..cut].to_vec()).is_err());
            if cut >= HEADER {
                let kept = Recording::prefix(Box::new(bytes[..cut].to_vec())).unwrap();
                prop_assert!(!kept.is_finished());
                let kept = kept.to_trace();
                prop_assert!(kept.is_empty() || kept == t);
            }
        }

        #[test]
        fn a_changed_byte_is_noticed(records in prop::collection::vec(any_record(0), 5..50), place in 0.0f64..1.0, bit in 0u8..8) {
            let t = trace(records);
            let mut bytes = write_block_file(&t).unwrap();
            let at = (bytes.len() as f64 * place) as usize;
            bytes[at] ^= 1 << bit;
            prop_assert!(crate::read(bytes).is_err());
        }
    }

    /// What is said of a file with one bit of byte `at` changed, whole and by its texts alone; and what is kept of it.
    fn changed(bytes: &[u8], at: usize) -> (String, Option<String>, Recording) {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1;
        let whole = crate::read(bytes.clone()).unwrap_err().to_string();
        let texts = texts_alone(&bytes).err().map(|e| e.to_string());
        (whole, texts, Recording::prefix(Box::new(bytes)).unwrap())
    }

    #[test]
    fn a_damaged_block_is_said_to_be_damaged_and_not_cut_short() {
        let record = |n: usize| Record {
            address: 64 * n as u64,
            value: 0,
            stamp: 0,
            location: 0,
            instructions: 1,
            thread: 0,
            kind: Kind::Load,
            size: 8,
        };
        let bytes = write_block_file(&trace((0..3 * RECORDS_PER_BLOCK).map(record).collect())).unwrap();
        let is_records = |at: &usize| &bytes[*at..*at + 4] == BLOCK && u32_at(&bytes, at + 4) == ZSTD;
        let blocks: Vec<usize> = (HEADER..bytes.len() - BLOCK_HEADER).filter(is_records).collect();
        let second = blocks[1];
        for (place, what) in [
            (4, "checksum is wrong"),
            (8, "checksum is wrong"),
            (12, "checksum is wrong"),
            (16, "checksum is wrong"),
            (28, "checksum is wrong"),
            (24, "checksum is wrong"),
            (23, "length is wrong"),
            (0, "no block begins"),
        ] {
            let (whole, _, kept) = changed(&bytes, second + place);
            assert!(
                whole.starts_with(&format!("damaged at byte {second}: ")) && whole.contains(what),
                "{whole}"
            );
            assert_eq!(kept.len(), RECORDS_PER_BLOCK as u64);
            assert!(kept.damage().is_some_and(|damage| damage.contains(what)) && !kept.is_finished());
        }
        let writer = BlockWriter::new(Vec::new(), &crate::about::tests::sample()).unwrap();
        let finished = writer.finish_with("").unwrap();
        for place in [4, BLOCK_HEADER] {
            let (_, texts, _) = changed(&finished, HEADER + place);
            assert_eq!(texts.unwrap(), format!("damaged at byte {HEADER}: the block's checksum is wrong"));
        }
        let cut = Recording::prefix(Box::new(bytes[..blocks[2] + 40].to_vec())).unwrap();
        assert_eq!((cut.damage(), cut.len()), (None, 2 * RECORDS_PER_BLOCK as u64));
    }

    /// The file as the version before wrote it.
    fn of_version_2(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes[8] = 2;
        let mut at = HEADER;
        while at < bytes.len() {
            let (head, contents) = bytes[at..].split_at_mut(BLOCK_HEADER);
            let contents = &contents[..u32_at(head, 20) as usize];
            let sum = checksum_of_block(VERSION_OF_CONTENTS, head, contents);
            head[SUM..].copy_from_slice(&sum.to_le_bytes());
            at += BLOCK_HEADER + contents.len();
        }
        bytes
    }

    #[test]
    fn the_version_before_is_read_and_kept_as_far_as_its_heads_make_sense() {
        let record = |thread| Record {
            address: 64,
            value: 0,
            stamp: 0,
            location: 0,
            instructions: 1,
            thread,
            kind: Kind::Load,
            size: 8,
        };
        let t = trace(vec![record(0), record(1)]);
        let bytes = of_version_2(write_block_file(&t).unwrap());
        assert_eq!(crate::read(bytes.clone()).unwrap(), t);
        let is_records = |at: &usize| &bytes[*at..*at + 4] == BLOCK && u32_at(&bytes, at + 4) == ZSTD;
        let second = (HEADER..bytes.len() - BLOCK_HEADER).filter(is_records).nth(1).unwrap();
        for (place, what) in [(5, "unknown block kind 258"), (10, "thread 65537"), (15, "16777217 records")] {
            let (whole, _, kept) = changed(&bytes, second + place);
            assert!(
                whole.starts_with(&format!("damaged at byte {second}: ")) && whole.contains(what),
                "{whole}"
            );
            assert!(kept.len() == 1 && kept.damage().is_some_and(|damage| damage.contains(what)));
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
