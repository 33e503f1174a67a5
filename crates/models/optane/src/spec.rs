//! What a DIMM is made of.

use units::Dur;

/// A DIMM behind its controller.
#[derive(Clone, Copy, Debug)]
pub struct DimmSpec {
    /// Blocks of 256 bytes that its buffer holds.
    pub buffer_blocks: usize,
    /// Time of a line between the controller and the DIMM's buffer: how long the bus is busy.
    pub bus: Dur,
    /// Time that the buffer takes for a line that is written to it, and from one line of a block that is read to the next.
    pub line: Dur,
    /// Time from a request to the data of a line that the buffer holds.
    pub hit: Dur,
    /// Time from the start of a block's read to the block in the buffer.
    pub array: Dur,
    /// How long the media is busy with the read of a block.
    pub read_service: Dur,
    /// How long the media is busy with the write of a block.
    pub write_service: Dur,
    /// How long a block that is whole waits before it is written.
    pub linger: Dur,
    /// From then on, how long its place in the media is busy with it.
    pub settle: Dur,
    /// Work of the media that is taken ahead: a request that would wait longer is left with the controller.
    pub ahead: Dur,
    /// Work of writes that the DIMM takes ahead; reads go before it.
    pub writes_ahead: Dur,
    /// The address translation.
    pub translation: TranslationSpec,
    /// Wear levelling.
    pub wear: WearSpec,
}

/// The cache of the DIMM's address translation.
#[derive(Clone, Copy, Debug)]
pub struct TranslationSpec {
    /// Pages of 4 KiB that it holds.
    pub pages: usize,
    /// Further time of an access to another page.
    pub miss: Dur,
}

/// When a place is moved because it is written again and again.
#[derive(Clone, Copy, Debug)]
pub struct WearSpec {
    /// Lines written to one place, out of half as many more on the DIMM, from which it is moved.
    pub writes: u64,
    /// How long the DIMM stands still for that.
    pub stall: Dur,
}
