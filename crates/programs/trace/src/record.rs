//! What a trace holds.

use crate::about::About;

/// What a thread did. The numbers are part of the file formats and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Loaded.
    Load = 0,
    /// Stored `value`.
    Store = 1,
    /// Stored `value` past the caches.
    StoreNonTemporal = 2,
    /// Loaded with acquire order or stronger.
    LoadAcquire = 3,
    /// Stored `value` with release order or stronger.
    StoreRelease = 4,
    /// Atomic read-modify-write that left `value`.
    Rmw = 5,
    /// Flushed a line.
    Clwb = 6,
    /// Flushed and invalidated a line.
    Clflushopt = 7,
    /// Flushed and invalidated a line, ordered.
    Clflush = 8,
    /// Store fence.
    Sfence = 9,
    /// Full fence.
    Mfence = 10,
    /// Took the lock at `address`.
    Lock = 11,
    /// Gave the lock at `address` back.
    Unlock = 12,
    /// Started thread `value`.
    Create = 13,
    /// Waited for the end of thread `value`.
    Join = 14,
    /// Mapped `value` bytes of persistent memory at `address`. An [`Kind::Operand`] before it says of which file and
    /// from where on ([`FILE_SPACE`]); without one the memory is no file's.
    Map = 15,
    /// Unmapped `value` bytes at `address`.
    Unmap = 16,
    /// The thread's first record.
    Start = 17,
    /// The thread's last record.
    End = 18,
    /// A mark of the program, `value` its number.
    Mark = 19,
    /// A further number, `value`, of the thread's next record.
    Operand = 20,
    /// A call that touches files: `value` is `bytes << 8 | call` (see [`Call`]), `address` where in the file's space
    /// it begins ([`FILE_SPACE`]; 0 for all files).
    Call = 21,
    /// The kernel stored `value` at `address` of the file space: a part of the write of the thread's last [`Kind::Call`].
    Written = 22,
    /// Memory that was compared holds `value` at `address`: code without hooks stored it at some time since the last
    /// comparison.
    Observed = 23,
    /// What a file held at `address` of the file space before the program changed it.
    Contents = 24,
    /// Something that touches persistent memory and is not modelled: `value` is the number of its text, `address`
    /// where, an [`Kind::Operand`] before it how many bytes.
    Unseen = 25,
    /// A fence that orders what persists before it and after it, and waits for nothing: the program said so.
    Order = 26,
    /// The thread's next record has this place in the order of all hosts, each a process of its own; `value` is what it
    /// found where it is a load. In one process, the place of what is around it among the turns at `address`: after all of
    /// those with a `value` that came before.
    Turn = 27,
    /// The region of interest, which is what a run counts, has the bound of this number here (`value`, from 1 on): it begins with the odd
    /// ones. Where they are not numbered it begins with 1 and ends with 0.
    Region = 28,
}

/// Addresses of files: the byte at `offset` of file `n` has the address `FILE_SPACE | n << FILE_SHIFT | offset`. No
/// program address is so high (x86-64 user space ends below 1 << 47).
pub const FILE_SPACE: u64 = 1 << 62;

/// See [`FILE_SPACE`]: a file has at most 16 TiB.
pub const FILE_SHIFT: u32 = 44;

/// Numbers of files from here on are memory without a file that the program declared persistent.
pub const MEMORY: u32 = 1 << 17;

/// Calls that touch files. The numbers are part of the file formats and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Call {
    /// write, pwrite, writev and the like: [`Kind::Written`] records follow.
    Write = 1,
    /// msync with `MS_SYNC`, and after each write to a file opened with `O_SYNC` or `O_DSYNC`, or with such a flag of its own: the
    /// range is durable.
    Msync = 2,
    /// msync with `MS_ASYNC`: nothing is promised.
    MsyncAsync = 3,
    /// fdatasync: the file's bytes and its size are durable.
    Fdatasync = 4,
    /// fsync: the same.
    Fsync = 5,
    /// sync: everything is durable. A syncfs is an fsync of each file of its file system.
    Sync = 6,
    /// ftruncate, truncate, `O_TRUNC`: the file has `bytes` bytes.
    Resize = 7,
    /// fallocate: space, and a larger file perhaps.
    Allocate = 8,
    /// fsync of a folder: names are durable.
    SyncFolder = 9,
    /// sync_file_range: nothing is promised.
    SyncFileRange = 10,
    /// The file is called by name number `bytes` from here on (open with `O_CREAT`, link).
    Link = 16,
    /// Name number `bytes` is no more.
    Unlink = 17,
    /// The name that the operand tells becomes name number `bytes`; of a folder's names, those of all files in it change.
    Rename = 18,
    /// The folder of name number `bytes` is made; the name ends in `/.`.
    MakeFolder = 19,
    /// The folder of name number `bytes` is no more.
    RemoveFolder = 20,
}

/// What a call makes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syncs {
    /// Nothing that anybody may rely on.
    Nothing,
    /// So many bytes from its address on.
    Range,
    /// The whole file.
    File,
    /// Every file.
    Everything,
}

/// What a call does to the size of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resizes {
    /// Nothing.
    Not,
    /// It has so many bytes.
    To,
    /// It reaches so many bytes beyond the address.
    AtLeast,
}

impl Call {
    /// What it makes durable.
    pub fn syncs(self) -> Syncs {
        match self {
            Call::Msync => Syncs::Range,
            Call::Fdatasync | Call::Fsync => Syncs::File,
            Call::Sync => Syncs::Everything,
            Call::Write
            | Call::MsyncAsync
            | Call::Resize
            | Call::Allocate
            | Call::SyncFolder
            | Call::SyncFileRange
            | Call::Link
            | Call::Unlink
            | Call::Rename
            | Call::MakeFolder
            | Call::RemoveFolder => Syncs::Nothing,
        }
    }

    /// What it does to the size of its file.
    pub fn resizes(self) -> Resizes {
        match self {
            Call::Resize => Resizes::To,
            Call::Write | Call::Allocate => Resizes::AtLeast,
            Call::Msync
            | Call::MsyncAsync
            | Call::Fdatasync
            | Call::Fsync
            | Call::Sync
            | Call::SyncFolder
            | Call::SyncFileRange
            | Call::Link
            | Call::Unlink
            | Call::Rename
            | Call::MakeFolder
            | Call::RemoveFolder => Resizes::Not,
        }
    }
}

/// All calls.
pub(crate) const CALLS: [Call; 15] = [
    Call::Write,
    Call::Msync,
    Call::MsyncAsync,
    Call::Fdatasync,
    Call::Fsync,
    Call::Sync,
    Call::Resize,
    Call::Allocate,
    Call::SyncFolder,
    Call::SyncFileRange,
    Call::Link,
    Call::Unlink,
    Call::Rename,
    Call::MakeFolder,
    Call::RemoveFolder,
];

impl Call {
    /// The call with this number.
    pub fn from_number(n: u8) -> Option<Call> {
        CALLS.into_iter().find(|c| *c as u8 == n)
    }

    /// The name shown to people.
    pub fn name(self) -> &'static str {
        match self {
            Call::Write => "write",
            Call::Msync => "msync",
            Call::MsyncAsync => "msync-async",
            Call::Fdatasync => "fdatasync",
            Call::Fsync => "fsync",
            Call::Sync => "sync",
            Call::Resize => "resize",
            Call::Allocate => "allocate",
            Call::SyncFolder => "sync-folder",
            Call::SyncFileRange => "sync-file-range",
            Call::Link => "link",
            Call::Unlink => "unlink",
            Call::Rename => "rename",
            Call::MakeFolder => "make-folder",
            Call::RemoveFolder => "remove-folder",
        }
    }
}

/// All kinds, by number.
pub(crate) const KINDS: [Kind; 29] = [
    Kind::Load,
    Kind::Store,
    Kind::StoreNonTemporal,
    Kind::LoadAcquire,
    Kind::StoreRelease,
    Kind::Rmw,
    Kind::Clwb,
    Kind::Clflushopt,
    Kind::Clflush,
    Kind::Sfence,
    Kind::Mfence,
    Kind::Lock,
    Kind::Unlock,
    Kind::Create,
    Kind::Join,
    Kind::Map,
    Kind::Unmap,
    Kind::Start,
    Kind::End,
    Kind::Mark,
    Kind::Operand,
    Kind::Call,
    Kind::Written,
    Kind::Observed,
    Kind::Contents,
    Kind::Unseen,
    Kind::Order,
    Kind::Turn,
    Kind::Region,
];

impl Kind {
    /// The kind with this number.
    pub fn from_number(n: u8) -> Option<Kind> {
        KINDS.get(n as usize).copied()
    }

    /// Whether `value` means something.
    pub fn has_value(self) -> bool {
        0x1BF9_E036 >> self as u32 & 1 == 1
    }

    /// Whether `stamp` orders the record among those of other threads.
    pub fn has_stamp(self) -> bool {
        0xA27_F838 >> self as u32 & 1 == 1
    }

    /// Whether `address` is a byte of memory or of a file that the record touches.
    pub fn has_place(self) -> bool {
        use Kind::{
            Clflush, Clflushopt, Clwb, Contents, Load, LoadAcquire, Observed, Rmw, Store, StoreNonTemporal,
            StoreRelease, Written,
        };
        matches!(self, Load | LoadAcquire | Store | StoreNonTemporal | StoreRelease | Rmw | Clwb | Clflushopt)
            || matches!(self, Clflush | Written | Observed | Contents)
    }

    /// Whether `size` bytes at `address` were read or written.
    pub(crate) fn is_access(self) -> bool {
        self.has_place() && !self.is_flush()
    }

    /// Whether the program read memory, and no more.
    pub fn is_load(self) -> bool {
        matches!(self, Kind::Load | Kind::LoadAcquire)
    }

    /// Whether the program stored.
    pub fn is_store(self) -> bool {
        matches!(self, Kind::Store | Kind::StoreNonTemporal | Kind::StoreRelease | Kind::Rmw)
    }

    /// Whether memory was stored to, be it by code without hooks, whose stores were found later.
    pub fn changes_memory(self) -> bool {
        self.is_store() || self == Kind::Observed
    }

    /// Whether the program flushed a line.
    pub fn is_flush(self) -> bool {
        matches!(self, Kind::Clwb | Kind::Clflushopt | Kind::Clflush)
    }

    /// The name shown to people and stored nowhere.
    pub fn name(self) -> &'static str {
        [
            "load",
            "store",
            "store-nt",
            "load-acquire",
            "store-release",
            "rmw",
            "clwb",
            "clflushopt",
            "clflush",
            "sfence",
            "mfence",
            "lock",
            "unlock",
            "create",
            "join",
            "map",
            "unmap",
            "start",
            "end",
            "mark",
            "operand",
            "call",
            "written",
            "observed",
            "contents",
            "unseen",
            "order",
            "turn",
            "region",
        ][self as usize]
    }
}

/// What [`Record::size`] may be, told to people.
pub(crate) const SIZES: &str = "an access has 1, 2, 4 or 8 bytes";

/// One thing that a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Address in the recorded program.
    pub address: u64,
    /// See [`Kind`]; 0 where the kind has none.
    pub value: u64,
    /// Place in the order of synchronisation over all threads; 0 where the kind has none.
    pub stamp: u32,
    /// Offset of the code that did it from the start of the program; 0 when unknown.
    pub location: u32,
    /// Instructions that the thread executed since its last record, this one's own included; 0 when not counted.
    pub instructions: u32,
    /// Thread, dense from 0.
    pub thread: u16,
    /// What was done.
    pub kind: Kind,
    /// Bytes that were read or written: 1, 2, 4 or 8. Other kinds have none.
    pub size: u8,
}

/// A recorded program: each thread's records in program order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Records by thread.
    pub threads: Vec<Vec<Record>>,
    /// What is said beside them.
    pub about: About,
}

impl Trace {
    /// Appends a record to its thread.
    pub fn push(&mut self, record: Record) {
        let thread = record.thread as usize;
        if thread >= self.threads.len() {
            self.threads.resize(thread + 1, Vec::new());
        }
        self.threads[thread].push(record);
    }

    /// All records in one order: a thread goes on until its next record has a place in the order of synchronisation,
    /// and these come in that order.
    pub fn in_order(&self) -> impl Iterator<Item = &Record> {
        let mut at = vec![0; self.threads.len()];
        std::iter::from_fn(move || {
            let place = |t: &usize| {
                let next = self.threads[*t].get(at[*t])?;
                Some((if next.kind.has_stamp() { u64::from(next.stamp) + 1 } else { 0 }, *t))
            };
            let (_, thread) = (0..at.len()).filter_map(|t| place(&t)).min()?;
            at[thread] += 1;
            self.threads[thread].get(at[thread] - 1)
        })
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.threads.iter().map(Vec::len).sum()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All records, thread after thread.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.threads.iter().flatten()
    }

    /// Ranges of persistent memory that were mapped: first address and length.
    pub fn pm_ranges(&self) -> Vec<(u64, u64)> {
        let maps = self.records().filter(|r| r.kind == Kind::Map && r.value > 0);
        let mut ranges: Vec<(u64, u64)> = maps.map(|r| (r.address, r.value)).collect();
        ranges.sort_unstable();
        ranges.dedup();
        ranges
    }
}
