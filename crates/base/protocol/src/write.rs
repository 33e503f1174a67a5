//! A write on its way to persistence.

use crate::{Block, Line, Mask};

/// The number of an epoch on its core, from 1 on; 0 is before the first.
pub type EpochId = u32;

/// An epoch of a certain core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EpochTag {
    /// The core.
    pub core: u8,
    /// Its epoch.
    pub epoch: EpochId,
}

/// Bytes of one line that a store changed.
#[derive(Clone, Copy, Debug, Hash)]
pub struct LineWrite {
    /// The line.
    pub line: Line,
    /// Which bytes.
    pub mask: Mask,
    /// Their values.
    pub data: Block,
}

impl LineWrite {
    /// Lays a younger write of the same line over this one.
    pub fn merge(&mut self, younger: &LineWrite) {
        debug_assert_eq!(self.line, younger.line);
        self.mask |= younger.mask;
        self.overlay(&younger.data, younger.mask);
    }

    /// Replaces the masked bytes, without claiming to write them.
    pub fn overlay(&mut self, data: &Block, mask: Mask) {
        crate::image::merge(&mut self.data, data, mask);
    }
}

/// What a persist buffer sends to a controller.
#[derive(Clone, Copy, Debug, Hash)]
pub struct FlushRequest {
    /// The sender.
    pub core: u8,
    /// The place in the sender's persist buffer, returned with the answer.
    pub slot: u16,
    /// The epoch that wrote.
    pub epoch: EpochId,
    /// Whether an earlier epoch is still uncommitted.
    pub early: bool,
    /// Whether this flush was refused before, or is of a store that a core repeats.
    pub retry: bool,
    /// The core whose epoch it comes after, where that is still to be compared: [`FlushRequest::after`].
    pub after_core: u8,
    /// That epoch; 0 where it comes after none. Apart from its core, since every message is as large as the largest.
    pub after_epoch: EpochId,
    /// The write.
    pub write: LineWrite,
}

impl FlushRequest {
    /// The epoch of another core that it comes after, where that is still to be compared.
    pub fn after(&self) -> Option<EpochTag> {
        (self.after_epoch > 0).then_some(EpochTag { core: self.after_core, epoch: self.after_epoch })
    }

    /// The same flush, after that epoch.
    #[must_use]
    pub fn behind(self, after: Option<EpochTag>) -> FlushRequest {
        let EpochTag { core, epoch } = after.unwrap_or(EpochTag { core: 0, epoch: 0 });
        FlushRequest { after_core: core, after_epoch: epoch, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_message_is_as_large_as() {
        assert_eq!(size_of::<FlushRequest>(), 96);
    }
}
