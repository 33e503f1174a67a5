//! One direction of a link: flits, one after the other, and the slots in them.

use units::{Dur, Time};

/// What a flit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Whether it has a slot that holds a header alone.
    pub has_own_header: bool,
    /// Slots that hold data, or further headers.
    pub generic: u64,
    /// Slots of a line's data, and of a command with its words.
    pub line: u64,
}

impl Format {
    /// Slots of 16 bytes.
    pub const CXL: Format = Format { has_own_header: true, generic: 3, line: 4 };
    /// Slots of 8 bytes.
    pub const SOCKET: Format = Format { has_own_header: false, generic: 3, line: 8 };
}

/// One direction. Its last flit takes more for as long as it has not begun.
#[derive(Clone, Debug)]
pub(super) struct Flits {
    flit: Dur,
    format: Format,
    /// When the last flit begins.
    begins: Time,
    has_header: bool,
    generic: u64,
    count: u64,
}

impl Flits {
    /// Nothing on its way; a flit takes `flit`.
    pub(super) fn new(flit: Dur, format: Format) -> Flits {
        Flits { flit, format, begins: Time::ZERO, has_header: true, generic: format.generic, count: 0 }
    }

    /// Flits sent.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Time that its wires were busy.
    pub(super) fn busy(&self) -> Dur {
        self.flit * self.count
    }

    /// Sends a header, and then so many slots of data; gives when the last of them has left.
    pub(super) fn send(&mut self, now: Time, data: u64) -> Time {
        let is_open = self.count > 0 && self.begins >= now;
        if !is_open || self.has_header && self.generic == self.format.generic {
            self.begin(now);
        }
        if self.has_header {
            self.generic += 1;
        } else {
            self.has_header = true;
        }
        for _ in 0..data {
            if self.generic == self.format.generic {
                self.begin(now);
            }
            self.generic += 1;
        }
        self.begins + self.flit
    }

    /// The next flit, as soon as the one before has left.
    fn begin(&mut self, now: Time) {
        let free = if self.count > 0 { self.begins + self.flit } else { Time::ZERO };
        self.begins = free.max(now);
        (self.has_header, self.generic) = (!self.format.has_own_header, 0);
        self.count += 1;
    }
}
