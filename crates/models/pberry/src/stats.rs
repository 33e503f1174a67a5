//! What the agent, the daemon and those who track changes count.

use crate::DirtySet;
use params::{Dur, Occupancy, StatisticInfo, Statistics};

/// What a machine with remote memory reports whatever it uses tracking for.
pub(crate) const HOST_STATISTICS: &[&[StatisticInfo]] = &[
    DaemonStats::TABLE,
    AgentStats::TABLE,
    StoredStats::TABLE,
    ChangedStats::TABLE,
    WrittenStats::TABLE,
    WindowStats::TABLE,
];

/// What one reports that uses it for something.
pub(crate) const USE_STATISTICS: &[StatisticInfo] = UseStats::TABLE;

/// All of it.
pub(crate) const STATISTICS: &[&[StatisticInfo]] = &[
    DaemonStats::TABLE,
    AgentStats::TABLE,
    StoredStats::TABLE,
    ChangedStats::TABLE,
    WrittenStats::TABLE,
    WindowStats::TABLE,
    USE_STATISTICS,
];

/// The daemon, and the operating system around it.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "os")]
pub(crate) struct DaemonStats {
    /// page faults in which software fetched the page
    #[stat(column = "major faults", explains = "time.kernel")]
    pub(crate) major_faults: u64,
    /// faults at the first write to a protected page
    #[stat(explains = "time.kernel")]
    pub(crate) write_faults: u64,
    /// times that other cores had to drop translations
    #[stat(explains = "time.kernel")]
    pub(crate) shootdowns: u64,
    /// accesses without a translation
    pub(crate) page_walks: u64,
    /// times that all local pages were protected against writes again
    pub(crate) protections: Option<u64>,
    /// pages that were, summed over these times
    pub(crate) protected_pages: Option<u64>,
    /// time that this took, the program waiting
    pub(crate) protect_time: Option<Dur>,
    /// pages that went back to the remote host
    #[stat(name = ".remote.pages_reclaimed")]
    pub(crate) reclaimed: u64,
    /// pages moved to memory attached to the processor
    #[stat(name = ".remote.pages_placed")]
    pub(crate) placed: Option<u64>,
    /// pages that went back from there changed
    #[stat(name = ".remote.pages_returned")]
    pub(crate) returned: Option<u64>,
    /// pages mapped or fetched before a program wanted them
    #[stat(name = ".remote.pages_prefetched")]
    pub(crate) prefetched: Option<u64>,
}

/// The agent and its network.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "remote")]
pub(crate) struct AgentStats {
    /// bytes sent to the remote host, headers included
    #[stat(name = "bytes_sent", unit = "B", column = "sent")]
    pub(crate) sent: u64,
    /// bytes received from the remote host, headers included
    #[stat(name = "bytes_received", unit = "B", column = "received")]
    pub(crate) received: u64,
    /// packets, both ways
    pub(crate) packets: u64,
    /// packets that the network lost
    #[stat(name = "packets_lost")]
    pub(crate) lost: u64,
    /// requests for lines
    #[stat(explains = "time.kernel time.memory")]
    pub(crate) fetches: u64,
    /// reads that found their line missing, and had it fetched before its page
    #[stat(name = "critical_lines")]
    pub(crate) critical: Option<u64>,
    /// lines fetched from the remote host
    #[stat(column = "lines fetched")]
    pub(crate) lines_fetched: u64,
    /// lines written back to the remote host
    pub(crate) lines_sent: u64,
    /// lines among them that were not changed
    pub(crate) clean_lines_sent: u64,
    /// requests sent again for want of an answer
    pub(crate) retries: u64,
    /// page walks that waited for a page
    pub(crate) walks_held: Option<u64>,
    /// entries marked not present because their page could not be fetched
    pub(crate) walks_failed: Option<u64>,
    /// lines taken out of caches so that their page could go
    pub(crate) recalls: u64,
    /// number of reads that wait in the agent
    #[stat(name = "held_reads", most = "most reads that waited in the agent")]
    pub(crate) held: Option<Occupancy>,
    /// lines reported to the daemon
    #[stat(name = "reports.lines")]
    pub(crate) reported_lines: Option<u64>,
    /// pages reported whole
    #[stat(name = "reports.pages")]
    pub(crate) reported_pages: Option<u64>,
    /// pages among them that a filter took for busy ones
    #[stat(name = "reports.false_pages")]
    pub(crate) false_pages: Option<u64>,
    /// lines that a filter took for reported ones
    #[stat(name = "reports.false_lines")]
    pub(crate) false_lines: Option<u64>,
    /// pages among them because the report buffer was full
    #[stat(name = "reports.overflows")]
    pub(crate) overflows: Option<u64>,
}

/// Bytes that programs stored to.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "tracking")]
pub(crate) struct StoredStats {
    /// bytes that programs stored to, summed over windows
    #[stat(unit = "B")]
    pub(crate) bytes: u64,
    /// lines of 64 B with a byte that programs stored to, summed over windows
    pub(crate) lines: u64,
    /// pages of 4 KiB with a byte that programs stored to, summed over windows
    pub(crate) pages: u64,
    /// stretches of 2 MiB with a byte that programs stored to, summed over windows
    pub(crate) huge_pages: u64,
}

/// Bytes whose values differed.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "tracking.changed")]
pub(crate) struct ChangedStats {
    /// bytes whose value differed at a window's end, summed over windows
    #[stat(unit = "B")]
    pub(crate) bytes: u64,
    /// lines of 64 B with a byte whose value differed at a window's end, summed over windows
    pub(crate) lines: u64,
    /// pages of 4 KiB with a byte whose value differed at a window's end, summed over windows
    pub(crate) pages: u64,
    /// stretches of 2 MiB with a byte whose value differed at a window's end, summed over windows
    pub(crate) huge_pages: u64,
}

/// Bytes that the agent saw written back.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "tracking.written_back")]
pub(crate) struct WrittenStats {
    /// bytes that the agent saw written back, summed over windows
    #[stat(unit = "B")]
    pub(crate) bytes: u64,
    /// lines of 64 B with a byte that the agent saw written back, summed over windows
    pub(crate) lines: u64,
    /// pages of 4 KiB with a byte that the agent saw written back, summed over windows
    pub(crate) pages: u64,
    /// stretches of 2 MiB with a byte that the agent saw written back, summed over windows
    pub(crate) huge_pages: u64,
}

/// Windows.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "tracking")]
pub(crate) struct WindowStats {
    /// windows of dirty tracking, with a store or without
    pub(crate) windows: u64,
}

/// What tracking is used for.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "use")]
pub(crate) struct UseStats {
    /// reports or faults that the use case took (remote.use)
    pub(crate) events: u64,
    /// bytes that the use case copied, locally and to the other host
    #[stat(unit = "B")]
    pub(crate) bytes_moved: u64,
    /// time that the use case made programs wait
    pub(crate) wait: Dur,
    /// bytes that it would still have to move, were the program stopped at the end
    #[stat(unit = "B")]
    pub(crate) bytes_left: u64,
}

macro_rules! from_sums {
    ($($stats:ident),*) => {$(
        impl From<&DirtySet> for $stats {
            fn from(sums: &DirtySet) -> $stats {
                $stats { bytes: sums.bytes, lines: sums.lines, pages: sums.pages, huge_pages: sums.huge_pages }
            }
        }
    )*};
}

from_sums!(StoredStats, ChangedStats, WrittenStats);
