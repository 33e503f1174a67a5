//! Parameters of a controller.

use protocol::Turns;
use units::Dur;

/// Parameters of a controller; descriptions, units and sources stand in `machine`'s description.
#[derive(Clone, Copy, Debug)]
pub struct ControllerSpec {
    /// First address of the memory behind it.
    pub base: u64,
    /// Its part of that memory, where others have the rest and nobody asks it for whole pages.
    pub turns: Option<Turns>,
    /// Time from a write's acceptance to its acknowledgement.
    pub acknowledge: Dur,
    /// Time from a commit's arrival to its acknowledgement.
    pub commit: Dur,
    /// Entries of the write pending queue.
    pub write_pending_queue: usize,
    /// Whether a write joins the one of its line that waits there.
    pub coalesces: bool,
    /// Filling of the write pending queue from which writes go before reads, or in turn with them.
    pub drain_threshold: usize,
    /// What they do from there on.
    pub drain: Drain,
    /// Which of the requests that wait outside its queues comes in next.
    pub admission: Admission,
}

/// What writes do once the write pending queue is filled to its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// They go before reads.
    First,
    /// They take turns with reads.
    InTurns,
}

/// Which of the requests that wait outside a controller's queues comes in next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The one that came first.
    InTurn,
    /// Any of them, by chance: they are turned away and try again. Two writes of one line keep their order. So many reads
    /// are in, and go in turn but for those of a block that is read for another, which go next. Controllers with other
    /// streams have other luck.
    ByChance { window: usize, stream: u64 },
}

impl Admission {
    /// Which of many streams of luck.
    pub(super) fn stream(self) -> u64 {
        match self {
            Admission::InTurn => 0,
            Admission::ByChance { stream, .. } => stream,
        }
    }
}

/// Media of one server that takes constant times.
#[derive(Clone, Copy, Debug)]
pub struct FixedSpec {
    /// Time from the start of a read's service to its data.
    pub read: Dur,
    /// Time that the media is busy with 64 bytes read.
    pub read_service: Dur,
    /// Time that the media is busy with 64 bytes written.
    pub write_service: Dur,
    /// The media's internal buffer, if it has one.
    pub buffer: Option<BufferSpec>,
}

/// A buffer of whole media blocks inside the module, as in Optane (XPBuffer).
#[derive(Clone, Copy, Debug)]
pub struct BufferSpec {
    /// Blocks of 256 bytes.
    pub blocks: usize,
    /// Time of a read that hits.
    pub read: Dur,
    /// Time that the module is busy with 64 bytes that hit.
    pub hit_service: Dur,
}
