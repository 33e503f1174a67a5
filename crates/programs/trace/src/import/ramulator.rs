//! Ramulator's traces: of addresses, of a core's instructions, and (2.1) of loads and stores with sizes and what is stored.

use super::{Sink, pieces, plain, short};
use crate::error::TraceError;
use crate::record::{Kind, Record};
use crate::recording::Recording;
use std::io::Write;

/// In hexadecimal after 0x, else decimal.
pub(super) fn number_of(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Lines such as `0x12345680 R` (memory traces), `LD 0x1234` (load-store traces), or `3 20734016 20734016` (a core's: instructions
/// without an access, what the next one loads, and the line that a cache wrote back, if it did); whole lines of 64 bytes.
pub(super) fn line(number: usize, line: &str, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let bad = || {
        let text = format!(
            "\"{}\" is neither `0xADDRESS R|W`, `LD|ST ADDRESS` nor `INSTRUCTIONS READ [WRITTEN_BACK]`",
            short(line)
        );
        TraceError::line(number, text)
    };
    let mut whole = |kind, address: &str, instructions| {
        let address = number_of(address).ok_or_else(bad)? & !63;
        pieces(sink, Record { instructions, ..plain(kind, address) }, 8)
    };
    match words[..] {
        [] => Ok(()),
        [c, ..] if c.starts_with('#') => Ok(()),
        [address, "R"] | ["LD", address, ..] => whole(Kind::Load, address, 0),
        [address, "W"] | ["ST", address, ..] => whole(Kind::Store, address, 0),
        [instructions, read, ref written_back @ ..] if written_back.len() <= 1 => {
            // The access is an instruction too.
            let instructions: u32 = instructions.parse().map_err(|_| bad())?;
            whole(Kind::Load, read, instructions.saturating_add(1))?;
            written_back.iter().try_for_each(|address| whole(Kind::Store, address, 0))
        }
        _ => Err(bad()),
    }
}

/// The most bytes of a load or store.
const MOST_BYTES: u64 = 255;

/// Lines such as `LD 0x1234 8` and `ST 0x1234 2 255 0`: address, bytes, and each byte that is stored, in decimal.
pub(super) fn data_line(number: usize, line: &str, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let bad = |why: &str| {
        let text = format!(
            "\"{}\" is neither `LD ADDRESS BYTES` nor `ST ADDRESS BYTES VALUE...`: {why}",
            short(line)
        );
        TraceError::line(number, text)
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let (kind, address, bytes, values) = match words[..] {
        [] => return Ok(()),
        ["LD", address, bytes] => (Kind::Load, address, bytes, &[][..]),
        ["ST", address, bytes, ..] => (Kind::Store, address, bytes, &words[3..]),
        _ => return Err(bad("other words")),
    };
    let address = number_of(address).ok_or_else(|| bad("the address is no number"))?;
    let bytes: u64 =
        bytes.parse().ok().filter(|n| (1..=MOST_BYTES).contains(n)).ok_or_else(|| bad("1 to 255 bytes"))?;
    if kind == Kind::Load {
        return pieces(sink, plain(kind, address), bytes);
    }
    let values: Option<Vec<u8>> = values.iter().map(|v| v.parse().ok()).collect();
    let values = values.ok_or_else(|| bad("a value is 0 to 255"))?;
    if values.len() as u64 != bytes {
        return Err(bad("as many values as bytes"));
    }
    let mut with_values = |r: Record| {
        let at = (r.address - address) as usize;
        let mut word = [0; 8];
        word[..r.size.into()].copy_from_slice(&values[at..at + usize::from(r.size)]);
        sink(Record { value: u64::from_le_bytes(word), ..r })
    };
    pieces(&mut with_values, plain(kind, address), bytes)
}

/// Loads and stores by address, a thread after the other.
pub(crate) fn write(recording: &Recording, out: &mut dyn Write) -> Result<u64, TraceError> {
    let mut written = 0;
    for r in recording.records() {
        if let Some(word) = word(r.kind) {
            writeln!(out, "{word} {:#x}", r.address)?;
            written += 1;
        }
    }
    Ok(written)
}

/// Loads and stores with sizes and what is stored, the threads in the order of their synchronisation.
pub(crate) fn write_data(recording: &Recording, out: &mut dyn Write) -> Result<u64, TraceError> {
    let mut written = 0;
    for r in recording.in_order() {
        let Some(word) = word(r.kind) else { continue };
        write!(out, "{word} {:#x} {}", r.address, r.size)?;
        let stored = if r.kind.changes_memory() { usize::from(r.size) } else { 0 };
        for byte in r.value.to_le_bytes().iter().take(stored) {
            write!(out, " {byte}")?;
        }
        writeln!(out)?;
        written += 1;
    }
    Ok(written)
}

fn word(kind: Kind) -> Option<&'static str> {
    kind.is_load().then_some("LD").or_else(|| kind.changes_memory().then_some("ST"))
}
