//! A set of small numbers that finds its smallest member quickly: a bit each, and a bit for each word below.

/// The set. Adding, removing and finding touch a word a level: three or four for a terabyte of pages.
#[derive(Clone, Debug)]
pub(crate) struct Bits {
    levels: Vec<Vec<u64>>,
    members: u64,
}

impl Bits {
    /// Empty, for numbers below `bound`.
    pub(crate) fn new(bound: u64) -> Bits {
        let mut levels = Vec::new();
        let mut words = bound.div_ceil(64).max(1);
        loop {
            levels.push(vec![0; words as usize]);
            if words == 1 {
                return Bits { levels, members: 0 };
            }
            words = words.div_ceil(64);
        }
    }

    /// All numbers below `bound`.
    pub(crate) fn full(bound: u64) -> Bits {
        let mut bits = Bits::new(bound);
        bits.members = bound;
        let mut count = bound;
        for level in &mut bits.levels {
            let (whole, rest) = ((count / 64) as usize, count % 64);
            level[..whole].fill(u64::MAX);
            if rest > 0 {
                level[whole] = (1 << rest) - 1;
            }
            count = count.div_ceil(64);
        }
        bits
    }

    pub(crate) fn len(&self) -> u64 {
        self.members
    }

    pub(crate) fn contains(&self, n: u64) -> bool {
        self.levels[0][(n / 64) as usize] >> (n % 64) & 1 == 1
    }

    /// Adds `n`, which is not a member.
    pub(crate) fn insert(&mut self, mut n: u64) {
        self.members += 1;
        for level in &mut self.levels {
            let word = &mut level[(n / 64) as usize];
            let was = *word;
            *word |= 1 << (n % 64);
            if was != 0 {
                return;
            }
            n /= 64;
        }
    }

    /// Takes `n` out, which is a member.
    pub(crate) fn remove(&mut self, mut n: u64) {
        self.members -= 1;
        for level in &mut self.levels {
            let word = &mut level[(n / 64) as usize];
            *word &= !(1 << (n % 64));
            if *word != 0 {
                return;
            }
            n /= 64;
        }
    }

    /// The smallest member.
    pub(crate) fn first(&self) -> Option<u64> {
        if self.members == 0 {
            return None;
        }
        Some(self.levels.iter().rev().fold(0, |at, level| down(at, level)))
    }

    /// The smallest member from `from` on: up until a word has a later one, and down again.
    pub(crate) fn first_from(&self, mut from: u64) -> Option<u64> {
        for (height, level) in self.levels.iter().enumerate() {
            let (at, bit) = (from / 64, from % 64);
            let later = level.get(at as usize)? & (u64::MAX << bit);
            if later != 0 {
                let found = at * 64 + u64::from(later.trailing_zeros());
                return Some(self.levels[..height].iter().rev().fold(found, |at, level| down(at, level)));
            }
            from = at + 1;
        }
        None
    }
}

/// The first member below word `at` of a level.
fn down(at: u64, level: &[u64]) -> u64 {
    at * 64 + u64::from(level[at as usize].trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use units::Random;

    #[test]
    fn a_set_is_a_set() {
        for bound in [1, 63, 64, 65, 4096, 5000, 300_000] {
            let mut bits = Bits::full(bound);
            let mut wanted: BTreeSet<u64> = (0..bound).collect();
            let mut random = Random::new(bound, 0);
            for _ in 0..3000 {
                let n = random.below(bound);
                if wanted.remove(&n) {
                    bits.remove(n);
                } else {
                    wanted.insert(n);
                    bits.insert(n);
                }
                assert_eq!((bits.len(), bits.first()), (wanted.len() as u64, wanted.first().copied()));
                assert_eq!(bits.first_from(n), wanted.range(n..).next().copied());
            }
            for n in std::mem::take(&mut wanted).into_iter().filter(|n| n % 9973 != 5) {
                bits.remove(n);
            }
            let few: Vec<u64> = (0..bound).filter(|n| bits.contains(*n)).collect();
            for n in 0..bound {
                assert_eq!(bits.first_from(n), few.iter().copied().find(|f| *f >= n));
            }
        }
    }
}
