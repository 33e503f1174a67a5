//! Which load an access had to wait for: a pointer loaded is a pointer used.
//!
//! The recording has no values of loads, but it has those of stores, and so what a word holds that a load reads. A
//! thread keeps the last [`KEPT`] words it loaded that could be addresses; an access whose address lies less than
//! `reach` bytes after one of them waits for the loads that gave it. Where several fit, the nearest counts.

use rustc_hash::FxHashMap;

/// Loaded words that a thread remembers.
pub(super) const KEPT: usize = 16;

/// Addresses of programs: user space of x86-64, without its first pages.
const ADDRESSES: std::ops::Range<u64> = 1 << 16..1 << 47;

/// Every thread's last pointers, and where pointers lie in memory.
pub(super) struct Pointers {
    reach: u64,
    /// Words that hold what could be an address, by place.
    words: FxHashMap<u64, u64>,
    threads: Vec<Ring>,
}

#[derive(Clone, Default)]
struct Ring {
    values: [u64; KEPT],
    next: usize,
}

impl Pointers {
    /// With `reach` 0, nothing waits for anything.
    pub(super) fn new(threads: usize, reach: u64) -> Pointers {
        Pointers { reach, words: FxHashMap::default(), threads: vec![Ring::default(); threads] }
    }

    /// A store of `value` to `place`.
    pub(super) fn stored(&mut self, place: u64, size: u8, value: u64) {
        if self.reach == 0 {
            return;
        }
        if size == 8 && place.is_multiple_of(8) && ADDRESSES.contains(&value) {
            self.words.insert(place, value);
        } else if !self.words.is_empty() {
            self.words.remove(&(place & !7));
            self.words.remove(&(place.wrapping_add(u64::from(size) - 1) & !7));
        }
    }

    /// A load from `place`; the number under which it is remembered, where it gave what could be an address.
    pub(super) fn loaded(&mut self, thread: usize, place: u64, size: u8) -> Option<u8> {
        if size != 8 || self.words.is_empty() {
            return None;
        }
        let value = *self.words.get(&place)?;
        let ring = &mut self.threads[thread];
        let slot = ring.next;
        ring.values[slot] = value;
        ring.next = (slot + 1) % KEPT;
        Some(slot as u8)
    }

    /// The loads, a bit for each number, that gave the address that a thread uses.
    pub(super) fn needed(&self, thread: usize, address: u64) -> u16 {
        let values = &self.threads[thread].values;
        let after = |value: u64| address.wrapping_sub(value);
        let Some(nearest) = values.iter().map(|v| after(*v)).min().filter(|d| *d < self.reach) else {
            return 0;
        };
        (0..KEPT).filter(|slot| after(values[*slot]) == nearest).fold(0, |all, slot| all | 1 << slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_address_that_was_loaded_is_the_one_that_is_used() {
        let mut p = Pointers::new(2, 4096);
        p.stored(0x50_0000, 8, 0x10_0000);
        p.stored(0x50_0008, 8, 0x10_0100);
        p.stored(0x50_0010, 8, 7);
        let first = p.loaded(0, 0x50_0000, 8).unwrap();
        let second = p.loaded(0, 0x50_0008, 8).unwrap();
        assert_eq!(p.loaded(0, 0x50_0010, 8), None, "seven is no address");
        assert_eq!(p.needed(0, 0x10_00FF), 1 << first);
        assert_eq!(p.needed(0, 0x10_0100), 1 << second);
        assert_eq!(p.needed(0, 0x10_0100 + 4095), 1 << second);
        assert_eq!(p.needed(0, 0x10_0100 + 4096), 0, "out of reach");
        assert_eq!(p.needed(0, 0x0F_FFFF), 0, "before both");
        assert_eq!(p.needed(1, 0x10_0000), 0, "another thread's");
        let again = p.loaded(0, 0x50_0000, 8).unwrap();
        assert_eq!(p.needed(0, 0x10_0000), 1 << first | 1 << again, "either may come last");
    }

    #[test]
    fn a_word_that_was_stored_over_is_no_pointer_and_old_ones_are_forgotten() {
        let mut p = Pointers::new(1, 4096);
        p.stored(0x50_0000, 8, 0x10_0000);
        p.stored(0x50_0007, 1, 0);
        assert_eq!(p.loaded(0, 0x50_0000, 8), None);
        for n in 0..=KEPT as u64 {
            p.stored(0x50_0000, 8, 0x10_0000 + (n << 20));
            p.loaded(0, 0x50_0000, 8);
        }
        assert_eq!(p.needed(0, 0x10_0000), 0);
        assert_ne!(p.needed(0, 0x10_0000 + (1 << 20)), 0);
    }
}
