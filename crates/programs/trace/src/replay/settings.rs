//! What a replay can be told.

use params::Kind::{Count, Nanoseconds};
use params::Settings;
use params::{Plain, Words};
use protocol::Param;
use units::Dur;

const NS: params::Kind = Nanoseconds { min_ps: 0, max_ps: 1_000_000_000_000 };

const fn p(
    key: &'static str,
    kind: params::Kind,
    default: &'static str,
    source: &'static str,
    meaning: &'static str,
) -> Param {
    Param { key, kind, default, source, meaning, acts: "" }
}

/// Parameters of a recorded program.
pub const PARAMS: &[Param] = &[
    p(
        "workload.pm",
        Persistent::KIND,
        "auto",
        "open auto: what is asked of the program",
        "what of the program is in the machine's memory: the files that it mapped and the ranges that it named, or every address; auto: every address where a power failure leaves nothing of that memory, the ranges elsewhere",
    ),
    p(
        "workload.schedule",
        Schedule::KIND,
        "auto",
        "open auto: what is asked of the program",
        "who gets a lock: whoever is first in simulated time, or whoever was in the recording; auto: the first, and the second where the power fails",
    ),
    p(
        "workload.patience_ns",
        Nanoseconds { min_ps: 1_000_000, max_ps: 1_000_000_000_000 },
        "100000",
        "open 100000: longer than what happens between two atomic operations",
        "how long a thread waits for its recorded turn where locks go round in another order (a thousand times as long for a lock)",
    ),
    p(
        "workload.pointer_reach",
        Count { min: 0, max: 1 << 20 },
        "4096",
        "open 1024..16384: the largest node of a linked structure",
        "an access at less than so many bytes after an address that was loaded lately waits for that load; 0: none waits",
    ),
    p(
        "workload.sync",
        FileSync::KIND,
        "dax",
        "open dax: what is asked of the program",
        "what msync, fsync and the like do: flush changed lines to persistent memory, or write changed pages to a device",
    ),
    p(
        "workload.syscall_ns",
        NS,
        "500",
        "open 250..1000: entry and exit, and the way through the file system, half to twice",
        "time of a call of the kernel, besides its stores and flushes",
    ),
    p(
        "workload.page_write_back_ns",
        NS,
        "20000",
        "open 10000..40000: a 4 KiB write of an NVMe device, half to twice",
        "time to write a changed page back, with workload.sync = page-cache",
    ),
];

/// What of the program is in the machine's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
enum Persistent {
    /// Whoever knows the machine's memory says which of the two.
    Auto,
    Ranges,
    All,
}

/// Who gets a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
enum Schedule {
    Auto,
    Simulated,
    Recorded,
}

/// How files become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum FileSync {
    /// Mapped files are persistent memory itself: a write is non-temporal stores, a sync flushes lines and waits.
    Dax,
    /// Mapped files are pages of memory before a device: a sync writes those that were changed.
    PageCache,
}

/// The same, read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Every address is in the machine's memory.
    pub all_pm: bool,
    /// Somebody looks at what persistent memory holds.
    pub keeps_bytes: bool,
    /// Locks are granted in simulated order.
    pub simulated: bool,
    /// Cores take stores back that nobody was told of: who passes a turn on tells of it, by a release.
    pub releases_turns: bool,
    /// How long to wait for a recorded turn.
    pub patience: Dur,
    /// How far after a loaded address an access depends on it.
    pub pointer_reach: u64,
    /// How files become durable.
    pub sync: FileSync,
    /// Time of a system call.
    pub syscall: Dur,
    /// Time to write a page back.
    pub page_write_back: Dur,
    /// Clock in MHz times thousandths of instructions a cycle.
    rate: u64,
}

impl Options {
    /// From the workload's and the machine's parameters, whether the power will fail, and whether somebody looks at what
    /// persistent memory holds.
    pub fn new(workload: &Settings, machine: &Settings, power_fails: bool, keeps_bytes: bool) -> Options {
        Options {
            keeps_bytes,
            all_pm: workload.read::<Persistent>("workload.pm") == Persistent::All,
            simulated: match workload.read("workload.schedule") {
                Schedule::Simulated => true,
                Schedule::Auto => !power_fails,
                Schedule::Recorded => false,
            },
            releases_turns: false,
            patience: workload.dur("workload.patience_ns"),
            pointer_reach: workload.number("workload.pointer_reach"),
            sync: workload.read("workload.sync"),
            syscall: workload.dur("workload.syscall_ns"),
            page_write_back: workload.dur("workload.page_write_back_ns"),
            rate: machine.number("cpu.clock_mhz") * machine.number("cpu.ipc"),
        }
    }

    /// What so many instructions take.
    pub fn time_of(&self, instructions: u64) -> Dur {
        Dur::ps((u128::from(instructions) * 1_000_000_000 / u128::from(self.rate)) as u64)
    }
}

#[cfg(test)]
impl Options {
    /// Locks are fought for, and nothing takes time.
    pub(super) fn plain() -> Options {
        Options {
            all_pm: true,
            keeps_bytes: false,
            simulated: true,
            releases_turns: false,
            patience: Dur::ZERO,
            pointer_reach: 0,
            sync: FileSync::Dax,
            syscall: Dur::ZERO,
            page_write_back: Dur::ZERO,
            rate: 1,
        }
    }
}
