//! One direction of a link: flits, one after the other, and the slots in them.

use units::{Dur, Time};

/// Slots of a flit that hold data, or further headers.
const GENERIC: u64 = 3;

/// One direction. Its last flit takes more for as long as it has not begun.
#[derive(Clone, Debug)]
pub(super) struct Flits {
    flit: Dur,
    /// When the last flit begins.
    begins: Time,
    has_header: bool,
    generic: u64,
    count: u64,
}

impl Flits {
    /// Nothing on its way; a flit takes `flit`.
    pub(super) fn new(flit: Dur) -> Flits {
        Flits { flit, begins: Time::ZERO, has_header: true, generic: GENERIC, count: 0 }
    }

    /// Flits sent.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Sends a header, and then so many slots of data; gives when the last of them has left.
    pub(super) fn send(&mut self, now: Time, data: u64) -> Time {
        let is_open = self.count > 0 && self.begins >= now;
        if !is_open || self.has_header && self.generic == GENERIC {
            self.begin(now);
        }
        if self.has_header {
            self.generic += 1;
        } else {
            self.has_header = true;
        }
        for _ in 0..data {
            if self.generic == GENERIC {
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
        (self.has_header, self.generic) = (false, 0);
        self.count += 1;
    }
}
