//! jemalloc's size classes, as objects lie in them: slab after slab, in the order in which they are asked for, the last freed
//! first.

use crate::context::Arena;
use protocol::PAGE_BYTES;

/// Objects of one size class.
pub(super) struct Class {
    size: u64,
    slab: u64,
    free: Vec<u64>,
    next: u64,
    end: u64,
}

impl Class {
    /// The class of objects of so many bytes, in jemalloc's own slabs: as many pages as it fills without a rest.
    pub(super) fn of(bytes: u64) -> Class {
        let size = size_of(bytes);
        let slab = (1..).map(|pages| pages * PAGE_BYTES).find(|slab| slab.is_multiple_of(size));
        Class::in_slabs(bytes, slab.unwrap_or(PAGE_BYTES))
    }

    /// The same in slabs of so many bytes.
    pub(super) fn in_slabs(bytes: u64, slab: u64) -> Class {
        Class { size: size_of(bytes), slab, free: Vec::new(), next: 0, end: 0 }
    }

    pub(super) fn take(&mut self, arena: &Arena) -> u64 {
        if let Some(address) = self.free.pop() {
            return address;
        }
        if self.next + self.size > self.end {
            self.next = arena.alloc(self.slab, PAGE_BYTES);
            self.end = self.next + self.slab;
        }
        self.next += self.size;
        self.next - self.size
    }

    pub(super) fn free(&mut self, address: u64) {
        self.free.push(address);
    }
}

/// Four classes to each doubling; eight bytes and multiples of sixteen at the beginning.
fn size_of(bytes: u64) -> u64 {
    if bytes <= 8 {
        return 8;
    }
    bytes.next_multiple_of((bytes.next_power_of_two() / 8).max(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_jemallocs() {
        let sizes =
            [(6, 8), (9, 16), (24, 32), (52, 64), (88, 96), (103, 112), (128, 128), (306, 320), (1030, 1280)];
        assert!(sizes.iter().all(|(bytes, size)| size_of(*bytes) == *size));
        assert_eq!([Class::of(24).slab, Class::of(103).slab, Class::of(88).slab], [4096, 28672, 12288]);
    }

    #[test]
    fn what_was_freed_last_is_taken_first() {
        let arena = Arena::new(4096, 1 << 20);
        let mut class = Class::of(103);
        let taken = [(); 3].map(|()| class.take(&arena));
        assert_eq!(taken, [4096, 4096 + 112, 4096 + 224]);
        class.free(taken[0]);
        class.free(taken[1]);
        assert_eq!([(); 3].map(|()| class.take(&arena)), [taken[1], taken[0], 4096 + 336]);
    }
}
