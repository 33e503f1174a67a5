//! Which bytes, lines and pages a running program changes, window by window, without changing the program.
//!
//! ```text
//!   window:  target runs ............. | stop | which pages?  copy them | go | compare with the shadow copy
//!            kernel notes written pages (asynchronous write-protection)            lines of 64 B, bytes
//! ```
//!
//! A byte is dirty in a window when its value at the window's end differs from its value at the start: a store that
//! writes what was there, or is undone within the window, is not seen. Pages come from the kernel where it can tell
//! (`PAGEMAP_SCAN` with asynchronous write-protection of userfaultfd, Linux 6.7), otherwise everything is compared.
//!
//! Tracked: what may be written of the processes, and what they have written and made read-only since, their threads included, and where asked for of the children that there
//! are and that come. A page that several processes share is one page. Not tracked: memory that is given back within a
//! window; contents that the kernel drops (`madvise`) until they are written again; what a program writes in a window before
//! it replaces itself.
//!
//! Sources: PBerry (HotOS 2019) §4.3 (PBSim); Linux `Documentation/admin-guide/mm/pagemap.rst` and `userfaultfd.rst`.
#![expect(clippy::disallowed_methods, reason = "live tracking is measured by the host's clock")]

mod accessed;
mod cgroup;
mod compare;
mod ending;
mod inject;
mod kernel;
mod maps;
mod member;
mod moves;
mod processes;
mod protect;
mod save;
mod session;
mod shadow;
mod shared;
mod threads;
mod tracees;
mod wait;

pub use cgroup::{cgroup, members};
pub use compare::{LINE, PAGE, PageBytes, page_difference};
pub use processes::{named, names};
pub use save::{Format, save};
pub use session::{Report, track};

use nix::errno::Errno;
use std::path::PathBuf;

/// What to track, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Running processes, or a command with its arguments.
    pub target: TargetChoice,
    /// Whether the children are tracked too.
    pub follow: bool,
    /// The folder of a cgroup that is looked at for more processes at each window's end.
    pub cgroup: Option<PathBuf>,
    /// Length of a window, seconds.
    pub interval: f64,
    /// The most windows; none for until the target ends.
    pub windows: Option<u64>,
    /// What is found out.
    pub mode: Mode,
    /// How pages are found; the fastest that the kernel offers where none is named.
    pub mechanism: Option<Mechanism>,
    /// Whether [`Window::pages_dirty`] is kept.
    pub keep_pages: bool,
    /// Whether pages are counted that were accessed.
    pub accessed: bool,
}

/// What is tracked.
#[derive(Clone, Debug)]
pub enum TargetChoice {
    /// Running processes.
    Processes(Vec<i32>),
    /// A program, and its arguments.
    Command(Vec<String>),
}

impl std::fmt::Display for TargetChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TargetChoice::Processes(numbers) => {
                let words: Vec<String> = numbers.iter().map(i32::to_string).collect();
                write!(f, "process{} {}", if numbers.len() > 1 { "es" } else { "" }, words.join(", "))
            }
            TargetChoice::Command(words) => f.write_str(words.first().map_or("", |word| word)),
        }
    }
}

/// What is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Bytes, lines and pages.
    Lines,
    /// Pages alone, as a system does that protects pages and takes a fault at the first write of each.
    WriteProtect,
    /// Nothing: the target is only attached to. What the others cost is against this.
    Nothing,
}

/// How pages that may have changed are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// The kernel notes writes (asynchronous write-protection) and lists them (`PAGEMAP_SCAN`).
    Scan,
    /// Every page is read and compared.
    Read,
}

impl Mechanism {
    /// As it is named on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Scan => "scan",
            Mechanism::Read => "read",
        }
    }
}

/// A page that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyPage {
    /// The process that has it; of several that wrote a page that they share, the one with the lowest number.
    pub process: i32,
    /// Its number: the address divided by 4,096.
    pub page: u64,
    /// A bit for each of its 64 lines that changed; every bit where only pages are found out.
    pub lines: u64,
    /// How many of its bytes changed.
    pub bytes: u32,
}

/// Pages that are in memory, and those of them that were read or written in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accessed {
    /// Pages of 4 KiB in memory at the window's end, of every mapping, those that cannot be written included.
    pub resident: u64,
    /// Those of them that were read or written.
    pub accessed: u64,
}

/// The pages of the mappings of one name in a window.
#[derive(Clone, Debug, Default)]
pub struct MappingWindow {
    /// The file, `[heap]`, `[stack]`, or `anonymous`.
    pub name: String,
    /// Pages in memory and accessed.
    pub counts: Accessed,
    /// Pages that changed, as of [`Window`].
    pub pages: u64,
}

/// What one process changed in one window.
#[derive(Clone, Debug, Default)]
pub struct ProcessWindow {
    /// Its number.
    pub process: i32,
    /// What the kernel calls it.
    pub name: String,
    /// As of [`Window`].
    pub bytes: u64,
    /// As of [`Window`].
    pub lines: u64,
    /// As of [`Window`].
    pub pages: u64,
    /// As of [`Window`].
    pub huge_pages: u64,
    /// As of [`Window`].
    pub compared: u64,
    /// As of [`Window`].
    pub tracked_bytes: u64,
    /// As of [`Window`].
    pub accessed: Option<Accessed>,
}

/// What changed in one window: sums over the processes.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Start and end, seconds since tracking began; the end is when the target stopped.
    pub start_s: f64,
    /// See `start_s`.
    pub end_s: f64,
    /// Bytes whose value changed.
    pub bytes: u64,
    /// Lines of 64 bytes with such a byte.
    pub lines: u64,
    /// Pages of 4 KiB with such a byte; those that were written where only pages are found out.
    pub pages: u64,
    /// Aligned stretches of 2 MiB with such a page.
    pub huge_pages: u64,
    /// How long the processes stood still at the window's end, and those that ended in it at their end, milliseconds.
    pub pause_ms: f64,
    /// How long processes that came within the window stood still for their memory to be copied, milliseconds in all.
    pub begin_ms: f64,
    /// Of that, finding written pages and protecting them again, milliseconds.
    pub protect_ms: f64,
    /// Pages that had to be compared.
    pub compared: u64,
    /// Bytes of memory that may be written, or might at the window's start.
    pub tracked_bytes: u64,
    /// Pages that were accessed, where asked for and told by the kernel. A page that several processes have mapped is counted
    /// in each.
    pub accessed: Option<Accessed>,
    /// The same by mapping, the largest first.
    pub mappings: Vec<MappingWindow>,
    /// Each process that was there.
    pub processes: Vec<ProcessWindow>,
    /// Each page that changed, by process and address; empty unless asked for.
    pub pages_dirty: Vec<DirtyPage>,
}

/// Why a process cannot be tracked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub String);

impl Error {
    fn at(what: &str, error: Errno) -> Error {
        Error(format!("{what}: {}", error.desc()))
    }
}
