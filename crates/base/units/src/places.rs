//! Numbers that are in places, and are looked for.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use wide::u8x16;

/// Numbers are kept plus one, so that zero means that a place is free, and places that nobody uses cost nothing to make.
const FREE: u64 = 0;

/// Numbers of which a search compares a byte at once.
const AT_ONCE: usize = 16;

/// A number less than [`u64::MAX`] in each place, or none. A search looks at a byte of sixteen at once, and at the whole
/// numbers of those few whose byte is the wanted one's.
#[derive(Clone, Debug)]
pub struct Places {
    numbers: Vec<u64>,
    /// A byte of each, and some more behind the last, so that sixteen can be read from any place on.
    bytes: Vec<u8>,
}

/// A free place's byte says nothing.
impl Hash for Places {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Places { numbers, bytes: _ } = self;
        numbers.hash(into);
    }
}

/// Made of all of a number's bits: those in places beside each other may differ in any of them.
#[inline]
fn byte_of(number: u64) -> u8 {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

impl Places {
    /// So many places, all of them free.
    pub fn new(places: usize) -> Places {
        Places { numbers: vec![FREE; places], bytes: vec![0; places + AT_ONCE] }
    }

    /// How many there are, free or not.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Where a number is, which is in no place outside of `among`. Cost: a few instructions for every sixteen places.
    ///
    /// # Panics
    /// When `among` goes beyond the places.
    #[inline]
    pub fn find(&self, number: u64, among: Range<usize>) -> Option<usize> {
        let wanted = u8x16::splat(byte_of(number));
        let mut first = among.start;
        while first < among.end {
            let bytes: [u8; AT_ONCE] =
                self.bytes[first..first + AT_ONCE].try_into().expect("there are bytes behind the last");
            // Some may be beyond those that are asked for: none of them has the number.
            let mut same = u8x16::new(bytes).simd_eq(wanted).to_bitmask();
            while same != 0 {
                let place = first + same.trailing_zeros() as usize;
                if self.numbers.get(place) == Some(&(number + 1)) {
                    return Some(place);
                }
                same &= same - 1;
            }
            first += AT_ONCE;
        }
        None
    }

    /// Whether a place has this number.
    #[inline]
    pub fn is_at(&self, place: usize, number: u64) -> bool {
        self.numbers[place] == number + 1
    }

    /// The number in a place, none when it is free.
    #[inline]
    pub fn number(&self, place: usize) -> Option<u64> {
        self.numbers[place].checked_sub(1)
    }

    /// Puts a number into a place.
    #[inline]
    pub fn put(&mut self, place: usize, number: u64) {
        self.numbers[place] = number + 1;
        self.bytes[place] = byte_of(number);
    }

    /// Frees a place.
    #[inline]
    pub fn free(&mut self, place: usize) {
        self.numbers[place] = FREE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn a_number_is_found_where_a_look_at_every_place_finds_it() {
        let mut random = Random::new(7, 0);
        for of_a_set in 1..40 {
            let mut places = Places::new(of_a_set * 3);
            for _ in 0..300 {
                let number = random.below(600);
                let first = number as usize % 3 * of_a_set;
                let set = first..first + of_a_set;
                let everywhere = (0..places.count()).find(|place| places.number(*place) == Some(number));
                assert_eq!(places.find(number, set), everywhere, "{number} in sets of {of_a_set}");
                match everywhere {
                    Some(place) if random.chance(500) => places.free(place),
                    Some(place) => assert!(places.is_at(place, number)),
                    None => places.put(first + random.below(of_a_set as u64) as usize, number),
                }
            }
        }
    }

    #[test]
    fn a_number_whose_byte_is_that_of_free_places_is_found_beside_them() {
        let mut places = Places::new(16);
        let number = (0..).find(|number| byte_of(*number) == 0).unwrap();
        assert_eq!(places.find(number, 0..16), None);
        places.put(13, number);
        assert_eq!(places.find(number, 0..16), Some(13));
    }
}
