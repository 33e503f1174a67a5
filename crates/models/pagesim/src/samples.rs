//! What is seen of a machine over time, and at its end.

use crate::region::Passed;
use params::Tally;
use units::{Dur, Time};

/// One look at the machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// When.
    pub at: Time,
    /// Free pages.
    pub free: u64,
    /// Low and high marks, summed over zones.
    pub low: u64,
    /// High.
    pub high: u64,
    /// Bytes of persistent memory online.
    pub pm_online: u64,
    /// Bytes of page descriptors.
    pub descriptors: u64,
    /// Bytes on the swap device.
    pub swap: u64,
    /// Minor faults so far.
    pub minor: u64,
    /// Major faults so far.
    pub major: u64,
    /// Time of programs so far, summed over cores.
    pub user: Dur,
    /// Time of the kernel so far.
    pub system: Dur,
    /// Energy of memory so far, in joules.
    pub joules: f64,
}

/// Numbers of a whole run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// From start to the last program's end.
    pub time: Dur,
    /// Pages visited.
    pub visits: u64,
    /// Time slices.
    pub slices: u64,
    /// Time of programs, summed over cores.
    pub user: Dur,
    /// Time of the kernel.
    pub system: Dur,
    /// What of it threads had that take no core.
    pub threads: Dur,
    /// Operations by kind: how many, and from when to when.
    pub operations: Vec<(u64, Time, Time)>,
    /// Programs that ended by themselves.
    pub ended: u64,
    /// Programs that the kernel killed for want of memory.
    pub out_of_memory: u64,
    /// Programs that ended with SIGSEGV or SIGBUS.
    pub signals: u64,
    /// Mappings that failed.
    pub failed_maps: u64,
    /// The policy's own numbers.
    pub policy: Tally,
    /// What counts of all this: of a recording with a region, its parts.
    pub passed: Passed,
}
