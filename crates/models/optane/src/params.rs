//! Parameters of DIMMs.

use crate::{DimmSpec, TranslationSpec, WearSpec};
use params::{Dur, Parameters, Settings, Words, ns};

/// How many DIMMs there are.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory")]
pub(crate) struct DimmsParameters {
    /// DIMMs, interleaved by memory.interleave_bytes; a socket has room for six
    #[param(default = "6", source = "datasheet: six channels of a socket, one DIMM each", min = 1, max = 6)]
    pub(crate) dimms: usize,
}

/// What programs have of a DIMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub(crate) enum Mode {
    /// The DIMM itself.
    AppDirect,
    /// A cache of DRAM in front of it.
    Memory,
}

/// How the DIMMs are used.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.optane")]
pub(crate) struct ModeParameters {
    /// app-direct: programs have the DIMMs themselves, which keep what they hold; memory: DRAM in front of each caches its lines,
    /// and a power failure leaves nothing
    #[param(default = "app-direct", source = "open app-direct: what is asked")]
    pub(crate) mode: Mode,
    /// bytes of DRAM in front of a DIMM, a direct-mapped cache of its lines
    #[param(
        acts = "memory.optane.mode=memory",
        default = "16 MiB",
        source = "open 4 MiB|16 MiB|64 MiB: 32 GiB before 256 GiB, scaled down as the caches are",
        min = 1 << 12,
        max = 1 << 32,
        bytes
    )]
    pub(crate) cache_bytes: u64,
}

/// An Optane DIMM.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.optane")]
pub(crate) struct DimmParameters {
    /// 256-byte blocks of the buffer
    #[param(default = "64", source = "paper: Yang et al. (FAST 2020) §5.3", min = 1, max = 4096)]
    pub(crate) buffer_blocks: usize,
    /// time that a line keeps the bus between controller and DIMM busy
    #[param(default = "3", source = "datasheet: DDR4-2666, a line in four cycles", range = ns::SERVICE)]
    pub(crate) bus_ns: Dur,
    /// time that the buffer takes for a line that is written to it, and from one line of a block that is read to the next
    #[param(default = "25", source = "fitted to hardware.optane.ntstore.fit: accesses that overlap the ones before", range = ns::SERVICE)]
    pub(crate) line_ns: Dur,
    /// time that a block all of whose lines have been written waits before it goes to the media
    #[param(default = "760", source = "fitted to hardware.optane.store+clwb.fit: accesses that overlap the ones before", range = ns::NS)]
    pub(crate) linger_ns: Dur,
    /// time from then on until the block is in the media. The buffer has its lines until then; once it is whole again it waits for what was there before, and who reads it waits too
    #[param(default = "3240", source = "measured: Yang et al. (FAST 2020), 2,048 bytes stored and flushed again and again take 3.24 us each time", range = ns::NS)]
    pub(crate) settle_ns: Dur,
    /// time from the controller's request to the data of a line that the buffer holds
    #[param(
        default = "73",
        source = "fitted to hardware.optane.idle.fit: reads one after the other",
        range = ns::NS
    )]
    pub(crate) hit_ns: Dur,
    /// time from the start of a block's read to the block in the buffer
    #[param(
        default = "120",
        source = "fitted to hardware.optane.idle.fit: reads at random",
        range = ns::NS
    )]
    pub(crate) array_ns: Dur,
    /// time that the media is busy with the read of a block
    #[param(default = "37.9", source = "fitted to hardware.optane.load.fit: all rows", range = ns::SERVICE)]
    pub(crate) read_service_ns: Dur,
    /// time that the media is busy with the write of a block
    #[param(default = "104", source = "fitted to hardware.optane.ntstore.fit", range = ns::SERVICE)]
    pub(crate) write_service_ns: Dur,
    /// work of the media that a DIMM takes ahead; a request that would wait longer stays with the controller
    #[param(default = "108", source = "open 54..216: not published, half to twice; stands near the write of a block", range = ns::NS)]
    pub(crate) ahead_ns: Dur,
    /// writes of blocks that a DIMM takes ahead, before which reads go; a line that would wait longer stays with the controller
    #[param(default = "1050", source = "fitted to hardware.optane.store+clwb.fit: one thread on six DIMMs; ten blocks", range = ns::NS)]
    pub(crate) writes_ahead_ns: Dur,
    /// bytes of media whose translation is at hand
    #[param(default = "16 MiB", source = "paper: Wang et al. (MICRO 2020), the second knee of reads", min = 1 << 14, max = 1 << 40, bytes)]
    pub(crate) translation_bytes: u64,
    /// further time of an access beyond these
    #[param(default = "47", source = "measured: LENS, reads of 64 MiB against 16 MiB, 421 and 374 ns", range = ns::NS)]
    pub(crate) translation_ns: Dur,
    /// lines written to 64 KiB, out of half as many more on the DIMM, after which they are moved
    #[param(default = "65536", source = "open 40000..400000: a tail at 99.999 % of writes of 256 B and none at 99.99 %; stands at 65536, a power of two", min = 64, max = 1 << 40)]
    pub(crate) wear_writes: u64,
    /// time that a DIMM stands still for that
    #[param(default = "52000", source = "measured: Yang et al. (FAST 2020), 99.999 % of writes to a hot spot take 48 to 53 us", range = ns::NS)]
    pub(crate) wear_stall_ns: Dur,
}

/// The controller of a DIMM.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.optane")]
pub(crate) struct ControllerParameters {
    /// time from a write's acceptance to its acknowledgement
    #[param(default = "36", source = "fitted to hardware.optane.idle.fit: non-temporal stores", range = ns::NS)]
    pub(crate) acknowledge_ns: Dur,
    /// writes that the write pending queue of a DIMM's controller holds
    #[param(
        default = "24",
        source = "fitted to hardware.optane.ntstore.fit: the curves of one DIMM",
        min = 1,
        max = 1024
    )]
    pub(crate) write_pending_queue: usize,
    /// reads that a DIMM's controller holds, which go in turn, but for those of a block that is read for another: these go next.
    /// In memory mode, reads and writes between its queues and their data
    #[param(
        default = "64",
        source = "open 32..64: not published; loads of hardware.optane.load.fit are as far off with 32, 40, 48 and 56; stands at 64, at which the other values were fitted",
        min = 1,
        max = 1024
    )]
    pub(crate) read_pending_queue: usize,
    /// filling of the write pending queue from which writes and reads take turns; in memory mode, changed lines that wait for the DIMM
    #[param(default = "12", source = "open 4..24: not published, half of the queue", min = 1, max = 1024)]
    pub(crate) drain_threshold: usize,
}

/// What a DIMM is made of.
pub(crate) fn dimm_spec(s: &Settings) -> DimmSpec {
    let own = DimmParameters::from_settings(s);
    DimmSpec {
        buffer_blocks: own.buffer_blocks,
        bus: own.bus_ns,
        line: own.line_ns,
        linger: own.linger_ns,
        settle: own.settle_ns,
        hit: own.hit_ns,
        array: own.array_ns,
        read_service: own.read_service_ns,
        write_service: own.write_service_ns,
        ahead: own.ahead_ns,
        writes_ahead: own.writes_ahead_ns,
        translation: TranslationSpec {
            pages: (own.translation_bytes / protocol::PAGE_BYTES) as usize,
            miss: own.translation_ns,
        },
        wear: WearSpec { writes: own.wear_writes, stall: own.wear_stall_ns },
    }
}
