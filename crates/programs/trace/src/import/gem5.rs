//! gem5's packet trace: `gem5`, then messages of protocol buffers, each with its length before it. The first is a header
//! (object, tick frequency), the others are packets (tick, command, address, size, flags).

use super::{Sink, pieces, plain};
use crate::error::TraceError;
use crate::record::{Kind, Record};
use crate::recording::Recording;
use std::io::{BufRead, Write};

const MAGIC: &[u8; 4] = b"gem5";
/// The most bytes of a message.
const LONGEST: u64 = 1 << 20;
/// The most bytes of a packet.
const LARGEST: u64 = 1 << 16;
/// The flag of a request that fetches an instruction.
const FETCH: u64 = 0x100;

const READ: u64 = 1;
const WRITE: u64 = 4;

/// What a command does, by the numbers that gem5 has given since 22.1; answers and commands without data do nothing.
fn kinds(command: u64) -> Option<&'static [Kind]> {
    Some(match command {
        // ReadReq, ReadExReq, ReadCleanReq, ReadSharedReq, LoadLockedReq, LockedRMWReadReq.
        READ | 22 | 24..=26 | 30 => &[Kind::Load],
        // WriteReq, WritebackDirty, WriteClean, WriteLineReq, StoreCondReq, LockedRMWWriteReq.
        WRITE | 7 | 9 | 16 | 27 | 32 => &[Kind::Store],
        // SwapReq.
        34 => &[Kind::Load, Kind::Store],
        0..=63 => &[],
        _ => return None,
    })
}

/// Bytes with their place.
struct Bytes<'i> {
    input: &'i mut dyn BufRead,
    at: usize,
}

impl Bytes<'_> {
    fn exact(&mut self, into: &mut [u8]) -> Result<(), TraceError> {
        let ends = |_| TraceError::damaged(self.at, "a message ends early");
        self.input.read_exact(into).map_err(ends)?;
        self.at += into.len();
        Ok(())
    }

    /// The next message, into `message`; false at the end.
    fn message(&mut self, message: &mut Vec<u8>) -> Result<bool, TraceError> {
        if self.input.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let (from, mut length) = (self.at, 0u64);
        for shift in (0..35).step_by(7) {
            let mut byte = [0];
            self.exact(&mut byte)?;
            length |= u64::from(byte[0] & 0x7F) << shift;
            if byte[0] < 0x80 {
                break;
            }
        }
        if length > LONGEST {
            return Err(TraceError::damaged(from, format!("a message of {length} bytes")));
        }
        message.resize(length as usize, 0);
        self.exact(message)?;
        Ok(true)
    }
}

/// The next number of a message.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7F) << shift;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// The fields of a message: number, and value, which is the length where it is no number.
fn fields(mut rest: &[u8], mut each: impl FnMut(u64, u64)) -> Option<()> {
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        let skipped = match tag & 7 {
            0 => {
                each(tag >> 3, varint(&mut rest)?);
                0
            }
            1 => 8,
            2 => varint(&mut rest)?,
            5 => 4,
            _ => return None,
        };
        if tag & 7 == 2 {
            each(tag >> 3, skipped);
        }
        rest = rest.get(usize::try_from(skipped).ok()?..)?;
    }
    Some(())
}

pub(super) fn read(input: &mut dyn BufRead, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let mut bytes = Bytes { input, at: 0 };
    let (mut magic, mut message) = ([0; 4], Vec::new());
    let foreign = |_| TraceError::foreign("a gem5 trace begins with gem5");
    bytes.exact(&mut magic).map_err(foreign)?;
    if &magic != MAGIC {
        return Err(foreign(TraceError::unfit("")));
    }
    let mut seen = 0u64;
    bytes.message(&mut message)?;
    let known = fields(&message, |number, _| seen |= 1 << number.min(63));
    if known.is_none() || seen & 0b1010 != 0b1010 {
        return Err(TraceError::damaged(
            4,
            "the header of a packet trace names its object and its tick frequency",
        ));
    }
    loop {
        let at = bytes.at;
        if !bytes.message(&mut message)? {
            return Ok(());
        }
        packet(&message, at, sink)?;
    }
}

fn packet(message: &[u8], at: usize, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let (mut command, mut address, mut size, mut flags) = (None, None, None, 0);
    let known = fields(message, |number, value| match number {
        2 => command = Some(value),
        3 => address = Some(value),
        4 => size = Some(value),
        5 => flags = value,
        _ => {}
    });
    let (Some(()), Some(command), Some(address), Some(size)) = (known, command, address, size) else {
        return Err(TraceError::damaged(at, "no packet: it has a command, an address and a size"));
    };
    let kinds =
        kinds(command).ok_or_else(|| TraceError::damaged(at, format!("a packet with command {command}")))?;
    if size > LARGEST {
        return Err(TraceError::damaged(at, format!("a packet of {size} bytes")));
    }
    if flags & FETCH == 0 {
        kinds.iter().try_for_each(|kind| pieces(sink, plain(*kind, address), size))?;
    }
    Ok(())
}

/// Ticks a second: gem5's own, a picosecond each.
const FREQUENCY: u64 = 1_000_000_000_000;
/// An instruction a cycle at 2 GHz.
const TICKS_PER_INSTRUCTION: u64 = 500;
/// A load or store where instructions were not counted: four of them.
const TICKS_PER_ACCESS: u64 = 2000;

/// Loads and stores as packets, the threads in the order of their synchronisation and one after the other in time.
pub(crate) fn write(recording: &Recording, out: &mut dyn Write) -> Result<u64, TraceError> {
    let counted = recording.counts().instructions > 0;
    let (mut tick, mut message, mut written) = (0u64, Vec::new(), 0);
    out.write_all(MAGIC)?;
    text(&mut message, 1, b"coreplane");
    number(&mut message, 3, FREQUENCY);
    send(out, &mut message)?;
    for r in recording.in_order() {
        if counted {
            tick += TICKS_PER_INSTRUCTION * u64::from(r.instructions);
        }
        let Some(command) = command(&r) else { continue };
        let pairs = [(1, tick), (2, command), (3, r.address), (4, r.size.into()), (6, r.thread.into())];
        pairs.iter().for_each(|(field, value)| number(&mut message, *field, *value));
        send(out, &mut message)?;
        written += 1;
        if !counted {
            tick += TICKS_PER_ACCESS;
        }
    }
    Ok(written)
}

fn command(r: &Record) -> Option<u64> {
    r.kind.is_load().then_some(READ).or_else(|| r.kind.changes_memory().then_some(WRITE))
}

fn put(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

fn number(message: &mut Vec<u8>, field: u64, value: u64) {
    put(message, field << 3);
    put(message, value);
}

fn text(message: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put(message, field << 3 | 2);
    put(message, bytes.len() as u64);
    message.extend_from_slice(bytes);
}

fn send(out: &mut dyn Write, message: &mut Vec<u8>) -> Result<(), TraceError> {
    let mut length = Vec::with_capacity(2);
    put(&mut length, message.len() as u64);
    out.write_all(&length)?;
    out.write_all(message)?;
    message.clear();
    Ok(())
}
