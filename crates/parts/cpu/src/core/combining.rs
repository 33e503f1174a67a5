//! A line of non-temporal stores that has not left the core yet.

use protocol::{Line, LineWrite, Mask};

/// A write-combining buffer of non-temporal stores.
pub(super) struct Combining {
    pub(super) write: LineWrite,
    /// Bytes that were stored again since the line was whole.
    again: Mask,
}

impl Combining {
    pub(super) fn new(write: LineWrite) -> Combining {
        Combining { write, again: 0 }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.write.mask == Mask::MAX
    }

    /// One more store of its line; whether the line was whole.
    pub(super) fn join(&mut self, write: &LineWrite) -> bool {
        let was_whole = self.is_whole();
        self.again |= if was_whole { write.mask } else { 0 };
        self.write.merge(write);
        was_whole
    }

    /// Whether it is whole and waits for no store behind it, of which `next` is the line: for one line's stores at most.
    pub(super) fn leaves(&self, next: Option<Line>) -> bool {
        self.is_whole() && (next != Some(self.write.line) || self.again == Mask::MAX)
    }
}
