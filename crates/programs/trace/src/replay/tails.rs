//! What lies behind the ends of files that became shorter: it is zero once they have grown over it again. That costs nothing before:
//! until then nobody sees it.

use super::pending::Pending;
use crate::about::About;
use crate::record::{Call, Record, Resizes};
use crate::space::{Layout, Placed, Sizes, file_of};

/// What has to become zero.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Zeros {
    /// The first byte.
    pub(super) from: u64,
    /// The lines, the first of which it may be in.
    pub(super) lines: Box<[u64]>,
}

/// See the module. Addresses are those of the layout.
pub(super) struct Tails {
    sizes: Sizes,
    /// Lines of files that hold something: they held it at first, or were stored to.
    held: Pending,
    /// Lines that held something and that an end is before, or in.
    behind: Pending,
}

impl Tails {
    pub(super) fn new(about: &About) -> Tails {
        Tails { sizes: Sizes::new(about), held: Pending::default(), behind: Pending::default() }
    }

    /// A file holds something at `place`, from its beginning on.
    pub(super) fn holds(&mut self, place: u64) {
        self.held.stored(place);
    }

    /// The program is about to store to `place`, of a file whose end may be before.
    pub(super) fn stores(&mut self, layout: &Layout, place: u64) -> Zeros {
        self.held.stored(place);
        if self.behind.is_empty() {
            return Zeros::default();
        }
        let end = layout.file_at(place).map_or(0, |file| end_of(file, self.sizes.of(file.number)));
        Zeros { from: end, lines: self.behind.take(place, place + 1) }
    }

    /// A call is about to change the size of its file, perhaps.
    pub(super) fn call(&mut self, layout: &Layout, record: &Record) -> Zeros {
        let Some((number, _)) = file_of(record.address) else { return Zeros::default() };
        let before = self.sizes.of(number);
        self.sizes.follow(record);
        let Some(file) = layout.file(number) else { return Zeros::default() };
        let (from, end) = (end_of(file, before), end_of(file, self.sizes.of(number)));
        let lines = if from < end { self.behind.take(from, end) } else { Box::default() };
        let resizes = Call::from_number(record.value as u8).map(Call::resizes);
        if resizes == Some(Resizes::To) {
            self.cut_off(end, file.base + file.bytes);
        }
        Zeros { from, lines }
    }

    fn cut_off(&mut self, from: u64, to: u64) {
        for line in self.held.take(from, to) {
            self.behind.stored(line);
            if line < from {
                // What is before the end stays.
                self.held.stored(line);
            }
        }
    }
}

/// Where a file of so many bytes ends.
fn end_of(file: &Placed, bytes: u64) -> u64 {
    file.base + bytes.min(file.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Kind;
    use crate::space::{Extents, file_address};
    use crate::{File, Trace};

    fn call(call: Call, offset: u64, bytes: u64) -> Record {
        let (address, value) = (file_address(0, offset), bytes << 8 | call as u64);
        Record {
            address,
            value,
            stamp: 0,
            location: 0,
            instructions: 0,
            thread: 0,
            kind: Kind::Call,
            size: 0,
        }
    }

    fn zeros(from: u64, lines: &[u64]) -> Zeros {
        Zeros { from, lines: lines.into() }
    }

    fn file() -> (Layout, Tails) {
        let mut trace = Trace::default();
        trace.about.files.insert(0, File { identity: "8:0".into(), path: "/f".into(), bytes: 8192 });
        let layout = Layout::new(&trace.about, &Extents::of(&trace), 0);
        (layout, Tails::new(&trace.about))
    }

    #[test]
    fn what_was_behind_an_end_is_zero_when_the_file_has_grown_over_it() {
        let (layout, mut tails) = file();
        [0, 64, 4096].into_iter().for_each(|place| tails.holds(place));
        assert_eq!(tails.stores(&layout, 130), zeros(0, &[]));
        for end in [300, 74, 70] {
            assert!(tails.call(&layout, &call(Call::Resize, 0, end)).lines.is_empty(), "nobody sees it");
        }
        // The last end counts, and the line that it is in keeps what is before.
        assert_eq!(tails.call(&layout, &call(Call::Write, 100, 8)), zeros(70, &[64]));
        assert!(tails.call(&layout, &call(Call::Write, 100, 8)).lines.is_empty());
        assert_eq!(tails.call(&layout, &call(Call::Resize, 0, 8192)), zeros(108, &[128, 4096]));
        assert!(tails.call(&layout, &call(Call::Resize, 0, 0)).lines.is_empty());
        assert_eq!(tails.call(&layout, &call(Call::Allocate, 0, 8192)), zeros(0, &[0, 64]));
    }

    #[test]
    fn what_is_stored_behind_an_end_is_stored_over_zeros() {
        let (layout, mut tails) = file();
        tails.holds(64);
        assert!(tails.call(&layout, &call(Call::Resize, 0, 72)).lines.is_empty());
        assert_eq!(tails.stores(&layout, 96), zeros(72, &[64]));
        assert!(tails.stores(&layout, 96).lines.is_empty());
        assert!(tails.call(&layout, &call(Call::Resize, 0, 8192)).lines.is_empty());
    }
}
