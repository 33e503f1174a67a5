//! Traces of other tools. What they lack is said in [`About::lacks`](crate::About::lacks).

use crate::about::About;
use crate::error::TraceError;
use crate::file::{BlockWriter, RECORDS_PER_BLOCK};
use crate::pmemcheck;
use crate::record::{Kind, Record, Trace};
use flate2::read::GzDecoder;
use std::io::{BufRead, Read, Write};
use units::watch;

/// A format that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Valgrind's lackey tool with `--trace-mem=yes`.
    Lackey,
    /// ChampSim: 64-byte binary records, possibly gzipped.
    ChampSim,
    /// Ramulator: `0xADDRESS R|W`, or `LD|ST ADDRESS`.
    Ramulator,
    /// pmemcheck's store log.
    Pmemcheck,
}

impl Format {
    /// The formats by name.
    pub const ALL: [(&'static str, Format); 4] = [
        ("lackey", Format::Lackey),
        ("champsim", Format::ChampSim),
        ("ramulator", Format::Ramulator),
        ("pmemcheck", Format::Pmemcheck),
    ];
}

const NO_VALUES: &str = "store values, threads, flushes, fences, source places and persistent ranges";

/// Takes the records of a trace, one after the other.
pub(crate) type Sink<'s> = dyn FnMut(Record) -> Result<(), TraceError> + 's;

/// Reads a trace of another tool into memory.
///
/// # Errors
/// When a line or record is not of that format; the message says which.
pub fn import(format: Format, bytes: &[u8], name: &str) -> Result<Trace, TraceError> {
    let mut trace = Trace { about: about(format, name), ..Trace::default() };
    read(format, &mut &*bytes, &mut |record| {
        trace.push(record);
        Ok(())
    })?;
    Ok(trace)
}

/// Reads a trace of another tool and writes it as a block file, a piece in memory at a time.
///
/// # Errors
/// As [`import`], or when nothing can be read or written.
pub fn import_blocks(
    format: Format,
    input: &mut dyn BufRead,
    name: &str,
    out: impl Write,
) -> Result<(), TraceError> {
    let mut writer = BlockWriter::new(out, &about(format, name))?;
    let mut chunk = Vec::new();
    read(format, input, &mut |record| {
        chunk.push(record);
        if chunk.len() < RECORDS_PER_BLOCK {
            return Ok(());
        }
        let done = writer.records(0, &chunk);
        chunk.clear();
        done
    })?;
    writer.records(0, &chunk)?;
    writer.finish()?;
    Ok(())
}

fn about(format: Format, name: &str) -> About {
    let lacks = if format == Format::Pmemcheck { pmemcheck::LACKS } else { NO_VALUES };
    About { source: format!("{format:?} {name}"), lacks: lacks.into(), ..About::default() }
}

fn read(format: Format, input: &mut dyn BufRead, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let mut any = false;
    let mut counted = |record| {
        any = true;
        sink(record)
    };
    match format {
        Format::Lackey => lines(input, &mut |n, line| lackey(n, line, &mut counted)),
        Format::ChampSim => champsim(input, &mut counted),
        Format::Ramulator => lines(input, &mut |n, line| ramulator(n, line, &mut counted)),
        Format::Pmemcheck => pmemcheck::read(input, &mut counted),
    }?;
    if any { Ok(()) } else { Err(TraceError::foreign("it has no memory access")) }
}

/// The most bytes of a line, or of an entry of a line.
const LONGEST: u64 = 1 << 16;

/// The next piece of a text up to one of `ends`, which is its last byte unless the text ends; none at its end. `at` is
/// where it begins.
pub(crate) fn piece(
    input: &mut dyn BufRead,
    ends: &[u8],
    at: &mut usize,
) -> Result<Option<String>, TraceError> {
    let mut bytes = Vec::new();
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|b| ends.contains(b)).map(|end| end + 1);
        let taken = end.unwrap_or(buffer.len());
        bytes.extend_from_slice(&buffer[..taken]);
        input.consume(taken);
        if bytes.len() as u64 > LONGEST {
            return Err(TraceError::damaged(*at, format!("a line of more than {LONGEST} bytes")));
        }
        if end.is_some() || taken == 0 {
            break;
        }
    }
    let text = String::from_utf8(bytes)
        .map_err(|e| TraceError::damaged(*at + e.utf8_error().valid_up_to(), "not text"))?;
    *at += text.len();
    Ok((!text.is_empty()).then_some(text))
}

/// Gives every line and its number.
fn lines(
    input: &mut dyn BufRead,
    each: &mut dyn FnMut(usize, &str) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let (mut at, mut number) = (0, 0usize);
    while let Some(line) = piece(input, b"\n", &mut at)? {
        number += 1;
        if number.is_multiple_of(1 << 14) {
            watch::check();
        }
        let line = line.strip_suffix('\n').unwrap_or(&line);
        each(number, line.strip_suffix('\r').unwrap_or(line))?;
    }
    Ok(())
}

/// Gives an access, cut where it crosses multiples of eight bytes.
fn access(sink: &mut Sink<'_>, kind: Kind, address: u64, size: u64) -> Result<(), TraceError> {
    let (mut at, end) = (address, address.saturating_add(size));
    while at < end {
        let left = (end - at).min(8 - at % 8);
        let size = 1 << (63 - left.leading_zeros() as u64);
        sink(Record {
            address: at,
            value: 0,
            stamp: 0,
            location: 0,
            instructions: 0,
            thread: 0,
            kind,
            size: size as u8,
        })?;
        at += size;
    }
    Ok(())
}

/// Lines such as ` L 1ffeffe7e8,8`; instruction fetches are left out, a modification is a load and a store.
fn lackey(number: usize, line: &str, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let bad = || TraceError::line(number, format!("\"{}\" is not ` L address,size`", short(line)));
    let kind = match line.trim_start().as_bytes().first() {
        Some(b'L' | b'S' | b'M') if line.starts_with(' ') => line.as_bytes()[1],
        Some(b'I' | b'=') | None => return Ok(()),
        _ => return Err(bad()),
    };
    let (address, size) = line.get(2..).and_then(|l| l.trim().split_once(',')).ok_or_else(bad)?;
    let address = u64::from_str_radix(address, 16).map_err(|_| bad())?;
    let size: u64 = size.parse().ok().filter(|s| (1..=4096).contains(s)).ok_or_else(bad)?;
    if kind != b'S' {
        access(sink, Kind::Load, address, size)?;
    }
    if kind != b'L' {
        access(sink, Kind::Store, address, size)?;
    }
    Ok(())
}

/// Records of 64 bytes: instruction pointer (8), branch flags (2), registers (6), two destinations and four
/// sources in memory (8 each). Accesses are taken as eight bytes.
fn champsim(input: &mut dyn BufRead, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let head = input.fill_buf()?;
    if head.starts_with(&[0x1F, 0x8B]) {
        return champsim_records(&mut GzDecoder::new(input), sink);
    }
    if head.starts_with(&[0xFD, b'7', b'z', b'X', b'Z']) {
        return Err(TraceError::foreign("xz-packed; unpack it first (xz -d)"));
    }
    champsim_records(input, sink)
}

fn champsim_records(input: &mut dyn Read, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    const RECORD: usize = 64;
    let mut bytes = Vec::with_capacity(RECORD << 10);
    let mut index = 0;
    loop {
        watch::check();
        bytes.clear();
        (&mut *input).take((RECORD << 10) as u64).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Ok(());
        }
        if !bytes.len().is_multiple_of(RECORD) {
            let all = index * RECORD + bytes.len();
            let text = format!("{all} bytes are no whole number of 64-byte ChampSim records");
            return Err(TraceError::damaged(all / RECORD * RECORD, text));
        }
        for record in bytes.chunks_exact(RECORD) {
            if record[8] > 1 || record[9] > 1 {
                return Err(TraceError::damaged(index * RECORD + 8, "a branch flag that is neither 0 nor 1"));
            }
            let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
            let sources = (32..64).step_by(8).map(|at| (Kind::Load, word(at)));
            let destinations = (16..32).step_by(8).map(|at| (Kind::Store, word(at)));
            for (kind, address) in sources.chain(destinations).filter(|(_, a)| *a != 0) {
                access(sink, kind, address & !7, 8)?;
            }
            index += 1;
        }
    }
}

/// Lines such as `0x12345680 R` (memory traces) or `LD 0x1234` (load-store traces); whole lines of 64 bytes.
fn ramulator(number: usize, line: &str, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let bad = || {
        let text = format!("\"{}\" is neither `0xADDRESS R|W` nor `LD|ST ADDRESS`", short(line));
        TraceError::line(number, text)
    };
    let (kind, address) = match words[..] {
        [] => return Ok(()),
        [c, ..] if c.starts_with('#') => return Ok(()),
        [address, "R"] | ["LD", address, ..] => (Kind::Load, address),
        [address, "W"] | ["ST", address, ..] => (Kind::Store, address),
        _ => return Err(bad()),
    };
    let address = match address.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => address.parse(),
    };
    access(sink, kind, address.map_err(|_| bad())? & !63, 8)
}

fn short(line: &str) -> String {
    line.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds(t: &Trace) -> Vec<(Kind, u64, u8)> {
        t.records().map(|r| (r.kind, r.address, r.size)).collect()
    }

    #[test]
    fn lackey_lines_become_loads_and_stores() {
        let text = b"==12== Lackey\nI  04000,3\n L 1000,8\n S 1006,4\n M 2000,1\n";
        let t = import(Format::Lackey, text, "x").unwrap();
        let expected = [
            (Kind::Load, 0x1000, 8),
            (Kind::Store, 0x1006, 2),
            (Kind::Store, 0x1008, 2),
            (Kind::Load, 0x2000, 1),
            (Kind::Store, 0x2000, 1),
        ];
        assert_eq!(kinds(&t), expected);
        assert!(t.about.lacks.contains("values"));
    }

    #[test]
    fn ramulator_lines_of_both_kinds_are_read() {
        let t = import(Format::Ramulator, b"0x80 R\nST 0x100\nLD 192 1\n", "x").unwrap();
        assert_eq!(kinds(&t), [(Kind::Load, 128, 8), (Kind::Store, 256, 8), (Kind::Load, 192, 8)]);
        let e = import(Format::Ramulator, b"0x80 R\n0x80 Q\n", "x").unwrap_err();
        assert!(e.to_string().contains("line 2"), "{e}");
    }

    #[test]
    fn champsim_records_give_their_memory_operands() {
        let mut record = [0u8; 64];
        record[16..24].copy_from_slice(&0x5000u64.to_le_bytes());
        record[32..40].copy_from_slice(&0x6004u64.to_le_bytes());
        let t = import(Format::ChampSim, &record, "x").unwrap();
        assert_eq!(kinds(&t), [(Kind::Load, 0x6000, 8), (Kind::Store, 0x5000, 8)]);
        assert!(import(Format::ChampSim, &record[..63], "x").unwrap_err().to_string().contains("64-byte"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            for (_, format) in Format::ALL {
                _ = import(format, &bytes, "x");
            }
        }
    }

    #[test]
    fn a_block_file_made_piece_by_piece_is_the_trace() {
        let mut text = String::new();
        for n in 0..40_000u64 {
            text += &format!("0x{:x} {}\n", n * 64, if n % 3 == 0 { "W" } else { "R" });
        }
        let mut bytes = Vec::new();
        import_blocks(Format::Ramulator, &mut text.as_bytes(), "x", &mut bytes).unwrap();
        let whole = import(Format::Ramulator, text.as_bytes(), "x").unwrap();
        assert_eq!(whole.len(), 40_000);
        assert_eq!(crate::read(bytes).unwrap(), whole);
    }

    #[test]
    fn a_line_without_an_end_is_refused_before_it_fills_memory() {
        let text = "x".repeat(1 << 20);
        for format in [Format::Lackey, Format::Ramulator, Format::Pmemcheck] {
            let e = import(format, text.as_bytes(), "x").unwrap_err().to_string();
            assert!(e.contains("more than 65536 bytes"), "{e}");
        }
    }
}
