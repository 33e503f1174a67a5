//! What the other socket keeps in memory, beside each line: whether this socket may have it.
//!
//! A line that is given away for the first time, or again after it was written back, changes what is kept; and since that is a part of
//! the line in memory, the line is written. Who reads a line again that nobody has written meanwhile changes nothing.

use protocol::{Line, Mask, Msg};
use std::collections::HashSet;

/// Lines that this socket may have. At the beginning it has none.
#[derive(Default)]
pub(super) struct Directory {
    taken: HashSet<Line>,
}

impl Directory {
    /// The line is given away. Gives the write by which memory hears of it, if it is news.
    pub(super) fn give(&mut self, line: Line) -> Option<Msg> {
        // None of the line's own bytes change.
        let write = Msg::Write { line, data: [0; 64], mask: 0, ack: None, is_owned: true };
        self.taken.insert(line).then_some(write)
    }

    /// The line comes back: the write that brings its bytes brings word of it, too.
    pub(super) fn take_back(&mut self, line: Line, bytes: Mask) {
        if bytes != 0 {
            self.taken.remove(&line);
        }
    }
}
