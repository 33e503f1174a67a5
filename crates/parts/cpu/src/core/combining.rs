//! A line of non-temporal stores that has not left the core yet.

use super::caches::put;
use super::store_buffer::Entry;
use protocol::{Line, LineWrite, Mask, mask_of, offset_of};

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
    pub(super) fn join(&mut self, store: &Entry) -> bool {
        debug_assert_eq!(store.line(), self.write.line);
        let was_whole = self.is_whole();
        let at = offset_of(store.address);
        let mask = mask_of(at, store.size.into());
        self.again |= if was_whole { mask } else { 0 };
        self.write.mask |= mask;
        put(&mut self.write.data, at, store.size, store.value);
        was_whole
    }

    /// Whether it is whole and waits for no store behind it, of which `next` is the line: for one line's stores at most.
    pub(super) fn leaves(&self, next: Option<Line>) -> bool {
        self.is_whole() && (next != Some(self.write.line) || self.again == Mask::MAX)
    }
}
