//! Traces of other tools. What they lack is said in [`About::lacks`](crate::About::lacks).

use crate::error::TraceError;
use crate::pmemcheck;
use crate::record::{Kind, Record, Trace};
use flate2::read::GzDecoder;
use std::io::Read;

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

/// Reads a trace of another tool.
///
/// # Errors
/// When a line or record is not of that format; the message says which.
pub fn import(format: Format, bytes: &[u8], name: &str) -> Result<Trace, TraceError> {
    let mut trace = match format {
        Format::Lackey => lackey(&text(bytes)?),
        Format::ChampSim => champsim(bytes),
        Format::Ramulator => ramulator(&text(bytes)?),
        Format::Pmemcheck => pmemcheck::read(&text(bytes)?),
    }?;
    trace.about.source = format!("{format:?} {name}");
    trace.about.lacks = if format == Format::Pmemcheck { pmemcheck::LACKS } else { NO_VALUES }.into();
    if trace.is_empty() {
        return Err(TraceError::foreign("it has no memory access"));
    }
    Ok(trace)
}

fn text(bytes: &[u8]) -> Result<String, TraceError> {
    String::from_utf8(bytes.to_vec())
        .map_err(|e| TraceError::damaged(e.utf8_error().valid_up_to(), "not text"))
}

/// Adds an access, cut where it crosses multiples of eight bytes.
fn access(trace: &mut Trace, kind: Kind, address: u64, size: u64) {
    let (mut at, end) = (address, address.saturating_add(size));
    while at < end {
        let left = (end - at).min(8 - at % 8);
        let size = 1 << (63 - left.leading_zeros() as u64);
        trace.push(Record {
            address: at,
            value: 0,
            stamp: 0,
            location: 0,
            instructions: 0,
            thread: 0,
            kind,
            size: size as u8,
        });
        at += size;
    }
}

/// Lines such as ` L 1ffeffe7e8,8`; instruction fetches are left out, a modification is a load and a store.
fn lackey(text: &str) -> Result<Trace, TraceError> {
    let mut trace = Trace::default();
    for (index, line) in text.lines().enumerate() {
        let bad = || TraceError::line(index + 1, format!("\"{}\" is not ` L address,size`", short(line)));
        let kind = match line.trim_start().as_bytes().first() {
            Some(b'L' | b'S' | b'M') if line.starts_with(' ') => line.as_bytes()[1],
            Some(b'I' | b'=') | None => continue,
            _ => return Err(bad()),
        };
        let (address, size) = line[2..].trim().split_once(',').ok_or_else(bad)?;
        let address = u64::from_str_radix(address, 16).map_err(|_| bad())?;
        let size: u64 = size.parse().ok().filter(|s| (1..=4096).contains(s)).ok_or_else(bad)?;
        if kind != b'S' {
            access(&mut trace, Kind::Load, address, size);
        }
        if kind != b'L' {
            access(&mut trace, Kind::Store, address, size);
        }
    }
    Ok(trace)
}

/// Records of 64 bytes: instruction pointer (8), branch flags (2), registers (6), two destinations and four
/// sources in memory (8 each). Accesses are taken as eight bytes.
fn champsim(bytes: &[u8]) -> Result<Trace, TraceError> {
    const RECORD: usize = 64;
    let mut unpacked = Vec::new();
    let bytes = if bytes.starts_with(&[0x1F, 0x8B]) {
        GzDecoder::new(bytes).take(1 << 34).read_to_end(&mut unpacked)?;
        &unpacked
    } else if bytes.starts_with(&[0xFD, b'7', b'z', b'X', b'Z']) {
        return Err(TraceError::foreign("xz-packed; unpack it first (xz -d)"));
    } else {
        bytes
    };
    if !bytes.len().is_multiple_of(RECORD) {
        let text = format!("{} bytes are no whole number of 64-byte ChampSim records", bytes.len());
        return Err(TraceError::damaged(bytes.len() / RECORD * RECORD, text));
    }
    let mut trace = Trace::default();
    for (index, record) in bytes.chunks_exact(RECORD).enumerate() {
        if record[8] > 1 || record[9] > 1 {
            return Err(TraceError::damaged(index * RECORD + 8, "a branch flag that is neither 0 nor 1"));
        }
        let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
        let sources = (32..64).step_by(8).map(|at| (Kind::Load, word(at)));
        let destinations = (16..32).step_by(8).map(|at| (Kind::Store, word(at)));
        for (kind, address) in sources.chain(destinations).filter(|(_, a)| *a != 0) {
            access(&mut trace, kind, address & !7, 8);
        }
    }
    Ok(trace)
}

/// Lines such as `0x12345680 R` (memory traces) or `LD 0x1234` (load-store traces); whole lines of 64 bytes.
fn ramulator(text: &str) -> Result<Trace, TraceError> {
    let mut trace = Trace::default();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let bad = || {
            TraceError::line(
                index + 1,
                format!("\"{}\" is neither `0xADDRESS R|W` nor `LD|ST ADDRESS`", short(line)),
            )
        };
        let (kind, address) = match words[..] {
            [] => continue,
            [c, ..] if c.starts_with('#') => continue,
            [address, "R"] | ["LD", address, ..] => (Kind::Load, address),
            [address, "W"] | ["ST", address, ..] => (Kind::Store, address),
            _ => return Err(bad()),
        };
        let address = match address.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => address.parse(),
        };
        access(&mut trace, kind, address.map_err(|_| bad())? & !63, 8);
    }
    Ok(trace)
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
}
