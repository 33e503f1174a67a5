//! What a visited state is kept as.

use std::hash::{Hash, Hasher};

/// Two independent hashes of a state. Cost: two multiplications a word.
#[derive(Default)]
pub struct Fingerprint(u64, u64);

/// Odd numbers without a pattern (digits of pi).
const KEYS: [u64; 2] = [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7345];

impl Hasher for Fingerprint {
    #[inline]
    fn write_u64(&mut self, n: u64) {
        self.0 = self.0.wrapping_add(n).wrapping_mul(KEYS[0]).rotate_left(26);
        let product = u128::from(self.1 ^ n ^ KEYS[0]) * u128::from(KEYS[1]);
        self.1 = (product >> 64) as u64 ^ product as u64;
    }

    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u16(&mut self, n: u16) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(word) ^ (rest.len() as u64) << 56);
        }
    }

    fn finish(&self) -> u64 {
        self.1
    }
}

impl Fingerprint {
    /// Of a state.
    pub(crate) fn of(state: &impl Hash) -> u128 {
        let mut both = Fingerprint::default();
        state.hash(&mut both);
        u128::from(both.0) << 64 | u128::from(both.1)
    }
}

/// A part of a state that no fingerprint sees, since nothing that is checked hangs on it alone: statistics, times, a
/// history of what the rest of the state tells already. Two states that differ only here count as one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aside<T>(pub T);

impl<T> Hash for Aside<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<T> std::ops::Deref for Aside<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> std::ops::DerefMut for Aside<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
