//! Parameters of a controller.

use protocol::Turns;
use units::Dur;

/// Parameters of a controller and its media; descriptions, units and sources stand in `machine`'s description.
#[derive(Clone, Copy, Debug)]
pub struct ControllerSpec {
    /// First address of the memory behind it.
    pub base: u64,
    /// Its part of that memory, where others have the rest and nobody asks it for whole pages.
    pub turns: Option<Turns>,
    /// Time from the start of a read's service to its data.
    pub read: Dur,
    /// Time from a write's acceptance to its acknowledgement.
    pub acknowledge: Dur,
    /// Time from a commit's arrival to its acknowledgement.
    pub commit: Dur,
    /// Time that the media is busy with 64 bytes read.
    pub read_service: Dur,
    /// Time that the media is busy with 64 bytes written.
    pub write_service: Dur,
    /// Entries of the write pending queue.
    pub write_pending_queue: usize,
    /// Filling of the write pending queue from which writes go before reads.
    pub drain_threshold: usize,
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
