//! What a visited state is kept as.

use std::hash::{Hash, Hasher};

/// Two independent hashes of a state.
#[derive(Default)]
pub struct Fingerprint(rustc_hash::FxHasher, u64);

impl Hasher for Fingerprint {
    fn write_u64(&mut self, n: u64) {
        self.0.write_u64(n);
        self.1 = units::mix(self.1 ^ n);
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_u16(&mut self, n: u16) {
        self.write_u64(n.into());
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.1 = units::mix(self.1 ^ u64::from_le_bytes(word)).wrapping_add(chunk.len() as u64);
        }
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

impl Fingerprint {
    /// Of a state.
    pub(crate) fn of(state: &impl Hash) -> u128 {
        let mut both = Fingerprint::default();
        state.hash(&mut both);
        u128::from(both.0.finish()) << 64 | u128::from(both.1)
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
