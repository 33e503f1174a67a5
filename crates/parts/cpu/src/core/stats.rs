//! What a core counts.

use super::account::Cause;
use params::{Distribution, Dur, Statistics};

/// What programs do.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "cpu")]
pub(super) struct Stats {
    /// loads, touches that wait for nothing (as a recording's loads do), stores, flushes and locked operations of the programs
    #[stat(explains = "time.compute")]
    pub(super) references: u64,
    /// times that a reference found its line in the first-level cache, a load also once the line is there that it waited for
    #[stat(name = "l1.hits")]
    pub(super) l1_hits: u64,
    /// times that a reference found its line in the second-level cache
    #[stat(name = "l2.hits")]
    pub(super) l2_hits: u64,
    /// lines asked of the directory; references to a line that is under way ask for none
    #[stat(explains = "time.memory")]
    pub(super) misses: u64,
    /// loads served by the store buffer
    #[stat(name = "store_buffer.forwarded")]
    pub(super) forwarded: u64,
    /// stores that became visible, those past the caches among them; locked operations are counted by themselves
    pub(super) stores: u64,
    /// stores and locked operations that wrote to persistent memory through the caches; stores past the caches are not among them
    pub(super) pm_stores: u64,
    /// locked read-modify-writes
    #[stat(explains = "time.locks")]
    pub(super) locked: u64,
    /// flush instructions that left a core
    #[stat(explains = "time.fences")]
    pub(super) flushes: u64,
    /// fences
    #[stat(explains = "time.fences")]
    pub(super) fences: u64,
    /// operations of the workload that ended
    pub(super) operations: u64,
    /// operations among them that failed, where the program goes on after I/O errors
    #[stat(unless_zero)]
    pub(super) failed_operations: u64,
    /// time of an operation: as the program tells it, or from the end of an operation to that of the core's next
    #[stat(name = ".operation.time", unless_zero)]
    pub(super) operation_time: Distribution,
    /// bytes of its data that the program read or wrote, where it counts them
    #[stat(name = "bytes_moved", unit = "B")]
    pub(super) moved: u64,
    /// times that a recorded thread did not wait any longer for its recorded turn
    /// (workload.patience_ns)
    #[stat(name = ".replay.turns_given_up", unless_zero)]
    pub(super) given_up: u64,
    /// loads and stores of devices' registers
    #[stat(unless_zero, explains = "time.devices")]
    pub(super) registers: u64,
    /// time that programs waited at fences and locked operations, or for flushes that held up stores, also while a lock is taken
    /// and in the kernel, which the cores' time counts under locks and kernel; summed over cores
    #[stat(name = ".ordering.fence_stall")]
    pub(super) fence_stall: Dur,
    /// time that programs waited for lines, also while a lock is taken and in the kernel, which the cores' time counts under locks
    /// and kernel; summed over cores
    pub(super) memory_stall: Dur,
    /// time that programs spent on their crash-consistency mechanism, summed over cores
    #[stat(unless_zero, unreported)]
    pub(super) consistency: Dur,
    /// the part of it in which programs moved data
    #[stat(unless_zero, unreported)]
    pub(super) movement: Dur,
    #[stat(skip)]
    pub(super) path: PathStats,
}

impl Stats {
    /// A wait has ended that lasted so long, whatever the program is about meanwhile.
    pub(super) fn waited(&mut self, cause: Cause, lasted: Dur) {
        let sum = match cause {
            Cause::Memory => &mut self.memory_stall,
            Cause::Fences => &mut self.fence_stall,
            Cause::BufferFull => &mut self.path.buffer_stall,
            Cause::Devices | Cause::Compute | Cause::Locks | Cause::Kernel => return,
        };
        *sum += lasted;
    }
}

/// What a core with a persist path counts besides.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(super) struct PathStats {
    /// arrivals that waited for room in a write-back buffer
    #[stat(name = "write_back_buffer.waits")]
    pub(super) write_back_waits: u64,
    /// time that programs waited because the ordering model took no more stores, summed over cores
    pub(super) buffer_stall: Dur,
}
