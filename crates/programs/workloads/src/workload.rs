//! What a workload says of itself: its name, what it does, its parameters, its program. Each stands in its own file.

use crate::Program;
use crate::context::{Context, PmCache};
use crate::pages::PageStream;
use crate::recovery::Recover;
pub(crate) use params::Kind::{
    Bytes, Choice, Count, Flag, Multiple, MultipleOrZero, Nanoseconds, PowerOfTwo, Text,
};
pub(crate) use protocol::Param;
use protocol::{NearInterface, Settings};

/// A program that comes with the project.
pub struct Workload {
    /// Name, as in `coreplane run MACHINE NAME`.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its parameters, all under `workload.`.
    pub params: &'static [Param],
    /// Whether it can do what its parameters ask for together; none where each goes with each.
    pub check: Option<Check>,
    /// The program of one thread.
    pub program: fn(Context) -> Program,
    /// Recovery on what a power failure left, and its invariants; none where nothing is kept.
    pub recover: Option<Recover>,
}

/// Looks at parameters that have to fit each other.
pub type Check = fn(&Asked<'_>) -> Result<(), String>;

/// What a workload is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its parameters.
    pub settings: &'a Settings,
    /// Bytes of its memory, where that ends.
    pub memory_bytes: Option<u64>,
    /// What of that is in a DRAM cache in front of it; none where there is no such cache.
    pub cache: Option<PmCache>,
    /// The recorded pages that it runs on, where some are given.
    pub pages: Option<&'a PageStream>,
    /// Devices that take crash consistency over; none where programs do it themselves.
    pub near: Option<NearInterface>,
}

impl std::fmt::Debug for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Memory of each thread, where programs are as large as their originals.
pub(crate) const THREAD_MIB: params::Kind = PowerOfTwo { min: 64, max: 1024 };

/// The parameters of a workload, under `workload.`: with four threads, with others, or of a workload on the persistent-memory
/// library, whose rows are the same for all but the computation around an operation. A row may end with the values of others
/// with which it acts.
macro_rules! params {
    ($($key:literal $kind:expr, $default:literal, $source:expr, $meaning:literal $(, $acts:literal)?;)*) => {
        params! { threads "4", "artifact"; $($key $kind, $default, $source, $meaning $(, $acts)?;)* }
    };
    (library $think:literal; $($key:literal $kind:expr, $default:literal, $source:literal, $meaning:literal;)*) => {
        params! {
            threads "1", "paper: NearPM §8.2";
            $($key $kind, $default, $source, $meaning;)*
            "value_size" $crate::workload::Count { min: 8, max: 4096 }, "64", "paper: NearPM Table 4", "bytes of a value";
            "mechanism" $crate::workload::MECHANISM, "logging", "paper: NearPM §8.1", "how transactions are made crash consistent";
            "think_cycles" $crate::workload::Count { min: 0, max: 1_000_000 }, $think, "fitted to nearpm.overhead-share", "cycles of computation around each operation";
            "library_ns" $crate::workload::Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "250", "measured: libpmemobj 1.12, 220 to 280 ns for a range of 64 bytes", "instructions of the library for a logged range, where the core logs";
            "epoch_faults" $crate::workload::Count { min: 1, max: 28 }, "5", "artifact: a checkpoint ends with five page faults", "pages of an epoch, with checkpoints";
            "pages" $crate::words::COPIED_PAGES, "all", "open all|first: the paper says each page that changes; its artifact's programs copy one page a transaction", "pages of a transaction that are copied, with checkpoints and shadow paging: all that it changes, or the first alone, which survives no crash; fixed: the first, by shadow paging to one place, and nothing switches";
            "fault_ns" $crate::workload::Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "2900", "open 1000..8600: the artifact has about 1 us of it inside its timed regions and 6 to 8.6 us in all; 7 us, with the protection of the page, were measured on a host", "time of a write to a protected page";
            "untimed_fault_ns" $crate::workload::Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "0", "open 0: NearPM's figure 1 divides all of the time and names no fault beside its regions; the artifact leaves 5 to 7.6 us out of them, which is its own setting (NAME@artifact)", "time of a write to a protected page that no region counts, besides fault_ns";
            "durable" $crate::workload::Flag, "true", "datasheet: PMDK, a transaction that has ended is durable", "each transaction ends with a dfence";
            "bug" $crate::workload::Choice(crate::pm::BUGS), "none", "open none: what is asked of the program", "a mistake seeded in the library; see docs/models/nearpm.md";
        }
    };
    (threads $threads:literal, $from:literal; $($key:literal $kind:expr, $default:literal, $source:expr, $meaning:literal $(, $acts:literal)?;)*) => {
        &[
            $crate::workload::Param {
                key: "workload.threads",
                kind: $crate::workload::Count { min: 1, max: 64 },
                default: $threads,
                source: $from,
                meaning: "threads, one a core",
                acts: "",
            },
            $($crate::workload::Param {
                key: concat!("workload.", $key),
                kind: $kind,
                default: $default,
                source: $source,
                meaning: $meaning,
                acts: concat!("" $(, $acts)?),
            }),*
        ]
    };
}

pub(crate) const N: params::Kind = Count { min: 1, max: 10_000_000 };
pub(crate) const PERCENT: params::Kind = Count { min: 0, max: 100 };

pub(crate) const MECHANISM: params::Kind = <crate::pm::Mechanism as params::Plain>::KIND;

pub(crate) use params;
