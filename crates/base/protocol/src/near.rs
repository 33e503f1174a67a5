//! What a program can ask of a near-data device (NearPM, Table 2).

use crate::{Line, PM_BASE};
use std::fmt;
use std::ops::Range;

/// What a program is told of near-data devices when it opens them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearInterface {
    /// Devices, over which persistent memory is interleaved.
    pub devices: u64,
    /// Consecutive bytes on one device.
    pub interleave: u64,
    /// Uncached stores that make a command.
    pub words: usize,
    /// The program itself waits for all devices before it commits.
    pub polls: bool,
    /// Bytes from the beginning of persistent memory that are theirs.
    pub bytes: u64,
    /// Pools that a device knows at once, each counted for every thread that has it open.
    pub pools: usize,
    /// The parameter that says how many.
    pub pools_key: &'static str,
}

impl NearInterface {
    /// Whether they take over what is in `size` bytes at `address`.
    pub fn owns(&self, address: u64, size: u64) -> bool {
        address - PM_BASE + size <= self.bytes
    }
}

/// A primitive. The numbers are the operation codes of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NearKind {
    /// Fills the address mapping table: a pool, for one thread.
    MapPool = 1,
    /// Generates metadata and copies old data to the thread's undo log.
    UndoLogCreate = 2,
    /// Copies a redo log entry's data to the original location.
    ApplyLog = 3,
    /// Deletes the thread's logs: the transaction is committed.
    CommitLog = 4,
    /// Generates metadata and copies a page to the thread's checkpoint.
    CheckpointCreate = 5,
    /// Copies a page to its shadow.
    ShadowCopy = 6,
    /// Copies data, for what the library builds itself.
    Copy = 7,
}

impl NearKind {
    /// Every primitive.
    pub const ALL: [NearKind; 7] = [
        NearKind::MapPool,
        NearKind::UndoLogCreate,
        NearKind::ApplyLog,
        NearKind::CommitLog,
        NearKind::CheckpointCreate,
        NearKind::ShadowCopy,
        NearKind::Copy,
    ];

    /// The primitive of an operation code.
    pub fn of_code(code: u64) -> Option<NearKind> {
        NearKind::ALL.into_iter().find(|k| *k as u64 == code)
    }

    /// The name in Table 2.
    pub fn name(self) -> &'static str {
        match self {
            NearKind::MapPool => "pool_map",
            NearKind::UndoLogCreate => "undolog_create",
            NearKind::ApplyLog => "applylog",
            NearKind::CommitLog => "commit_log",
            NearKind::CheckpointCreate => "ckpoint_create",
            NearKind::ShadowCopy => "shadowcpy",
            NearKind::Copy => "copy",
        }
    }

    /// Whether the device chooses where the data goes: its own log of the thread.
    pub fn logs(self) -> bool {
        matches!(self, NearKind::UndoLogCreate | NearKind::CheckpointCreate)
    }

    /// Whether it copies data to an address that the command names.
    pub fn copies(self) -> bool {
        matches!(self, NearKind::ApplyLog | NearKind::ShadowCopy | NearKind::Copy)
    }
}

/// A command as a device gets it. Addresses are virtual until the device has looked its pool up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NearRequest {
    /// In the order in which commands passed the port, from 1 on.
    pub number: u64,
    /// Who asked.
    pub core: u8,
    /// The primitive.
    pub kind: NearKind,
    /// The pool.
    pub pool: u8,
    /// The thread whose logs are meant.
    pub thread: u8,
    /// Which devices have a part in it, bit by bit.
    pub devices: u16,
    /// First byte of the data.
    pub source: u64,
    /// Where a copy goes; for `MapPool` the physical address that `source` stands for.
    pub destination: u64,
    /// Bytes.
    pub size: u32,
}

impl NearRequest {
    /// The lines of `size` bytes at `address`.
    pub fn lines(address: u64, size: u32) -> Range<u64> {
        address / 64..(address + u64::from(size)).div_ceil(64)
    }

    /// The lines that are read.
    pub fn reads(&self) -> Range<u64> {
        if self.kind.logs() || self.kind.copies() { Self::lines(self.source, self.size) } else { 0..0 }
    }

    /// The lines that are written and that programs write or read too; for a deletion the log's first, once a device has
    /// looked it up.
    pub fn writes(&self) -> Range<u64> {
        let writes = self.kind.copies() || self.kind == NearKind::CommitLog;
        if writes { Self::lines(self.destination, self.size) } else { 0..0 }
    }

    /// Whether a host access of a line must not pass this request: it writes what is read or written here, or it
    /// reads what is written here.
    pub fn conflicts(&self, line: Line, write: bool) -> bool {
        self.writes().contains(&line.0) || write && self.reads().contains(&line.0)
    }
}

impl fmt::Display for NearRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "request {} ({} of thread {}, pool {}",
            self.number,
            self.kind.name(),
            self.thread,
            self.pool
        )?;
        if self.kind.logs() || self.kind.copies() {
            write!(f, ", {} bytes at {:#x}", self.size, self.source)?;
        }
        if self.kind.copies() {
            write!(f, " to {:#x}", self.destination)?;
        }
        f.write_str(")")
    }
}

/// Why a device refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NearRefusal {
    /// The address mapping table has no such pool for the thread.
    UnknownPool,
    /// Some of its bytes are outside the pool.
    OutsidePool,
    /// The address mapping table has no room.
    TableFull,
    /// No bytes, more than a command may carry, or an operation code that there is not.
    NoCommand,
    /// The thread's log area is full.
    LogFull,
    /// A copy whose two ends are not on the same device, or not at the same place of a line.
    AcrossDevices,
    /// A copy onto itself: a replay after a power failure could not begin again.
    Overlaps,
}

impl fmt::Display for NearRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NearRefusal::UnknownPool => "the pool is not in its address mapping table for this thread",
            NearRefusal::OutsidePool => "the range is not inside the pool",
            NearRefusal::TableFull => "its address mapping table is full",
            NearRefusal::NoCommand => "this is no command",
            NearRefusal::LogFull => "the thread's log area is full",
            NearRefusal::AcrossDevices => {
                "source and destination are not on the same device, or not at the same place of a line"
            }
            NearRefusal::Overlaps => "source and destination overlap",
        })
    }
}
