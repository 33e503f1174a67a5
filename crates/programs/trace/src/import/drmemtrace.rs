//! DynamoRIO's drmemtrace, as its analysis tools read it: entries of a type (2 bytes), a size (2) and an address (8).

use super::turns::Turns;
use super::{Sink, fixed, flush, pieces, plain};
use crate::error::TraceError;
use crate::record::{Kind, Record};
use std::io::BufRead;

/// A cache flush of more is damage.
const MOST_FLUSHED: u64 = 1 << 30;

/// Types of entries.
mod entry {
    pub(super) const READ: u16 = 0;
    pub(super) const WRITE: u16 = 1;
    pub(super) const BUNDLE: u16 = 17;
    pub(super) const FLUSH: u16 = 20;
    pub(super) const FLUSH_END: u16 = 21;
    pub(super) const THREAD: u16 = 22;
    pub(super) const HEADER: u16 = 25;
    pub(super) const INVALID: u16 = 50;

    /// Whether it is an instruction: branches of all kinds, system calls.
    pub(super) fn is_instruction(kind: u16) -> bool {
        matches!(kind, 10..=16 | 31 | 48 | 49)
    }
}

#[derive(Default)]
struct State {
    turns: Turns,
    /// The thread whose entries come.
    current: Option<u16>,
    /// Instructions of each thread since its last access.
    instructions: Vec<u32>,
    /// Where a flush began whose end is in an entry of its own.
    flush: Option<u64>,
}

pub(super) fn read(input: &mut dyn BufRead, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let mut state = State::default();
    fixed::<12>(input, "drmemtrace", &mut |at, bytes| {
        let kind = u16::from_le_bytes([bytes[0], bytes[1]]);
        let size = u16::from_le_bytes([bytes[2], bytes[3]]);
        let address = u64::from_le_bytes([
            bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9], bytes[10], bytes[11],
        ]);
        if at == 0 && kind != entry::HEADER {
            let text = "a drmemtrace trace of a 64-bit program begins with a header entry; raw files (.raw) become traces by drraw2trace";
            return Err(TraceError::foreign(text));
        }
        state.entry(at, kind, size, address, sink)
    })
}

impl State {
    fn entry(
        &mut self,
        at: usize,
        kind: u16,
        size: u16,
        address: u64,
        sink: &mut Sink<'_>,
    ) -> Result<(), TraceError> {
        match kind {
            entry::THREAD => self.thread(address),
            entry::READ => self.access(at, Kind::Load, address, size, sink),
            entry::WRITE => self.access(at, Kind::Store, address, size, sink),
            entry::BUNDLE => self.executed(at, size.into()),
            kind if entry::is_instruction(kind) => self.executed(at, 1),
            entry::FLUSH if size == 0 => {
                self.flush = Some(address);
                Ok(())
            }
            entry::FLUSH => self.flushed(at, address, size.into(), sink),
            entry::FLUSH_END => {
                match self.flush.take().and_then(|from| Some((from, address.checked_sub(from)?))) {
                    Some((from, bytes)) if bytes <= MOST_FLUSHED => self.flushed(at, from, bytes, sink),
                    _ => Err(TraceError::damaged(
                        at,
                        "a flush ends that did not begin, or is of more than 1 GiB",
                    )),
                }
            }
            kind if kind < entry::INVALID => Ok(()),
            kind => Err(TraceError::damaged(at, format!("an entry of type {kind}; the last known is 49"))),
        }
    }

    fn thread(&mut self, who: u64) -> Result<(), TraceError> {
        let number = self.turns.number(who)?;
        let threads = self.instructions.len().max(usize::from(number) + 1);
        self.instructions.resize(threads, 0);
        self.current = Some(number);
        Ok(())
    }

    fn of_thread(&mut self, at: usize) -> Result<u16, TraceError> {
        self.current.ok_or_else(|| TraceError::damaged(at, "no entry says yet whose thread it is"))
    }

    fn executed(&mut self, at: usize, instructions: u32) -> Result<(), TraceError> {
        let thread = self.of_thread(at)?;
        let count = &mut self.instructions[usize::from(thread)];
        *count = count.saturating_add(instructions);
        Ok(())
    }

    /// A record of the current thread, which takes its instructions.
    fn record(&mut self, at: usize, kind: Kind, address: u64) -> Result<Record, TraceError> {
        let thread = self.of_thread(at)?;
        let instructions = std::mem::take(&mut self.instructions[usize::from(thread)]);
        Ok(Record { thread, instructions, ..plain(kind, address) })
    }

    fn access(
        &mut self,
        at: usize,
        kind: Kind,
        address: u64,
        size: u16,
        sink: &mut Sink<'_>,
    ) -> Result<(), TraceError> {
        if size == 0 {
            // Such as an xsave that had nothing to save.
            return self.of_thread(at).map(|_| ());
        }
        let record = self.record(at, kind, address)?;
        pieces(sink, self.turns.placed(record), size.into())
    }

    fn flushed(
        &mut self,
        at: usize,
        address: u64,
        bytes: u64,
        sink: &mut Sink<'_>,
    ) -> Result<(), TraceError> {
        let record = self.record(at, Kind::Clflushopt, address)?;
        flush(sink, record, bytes)
    }
}
