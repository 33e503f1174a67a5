//! Where the bytes of a trace come from: a file that the face opened, or memory.

use std::io;

/// Bytes that can be read anywhere, any number of times. What they are does not change.
pub trait ReadAt: Send + Sync {
    /// How many bytes there are.
    fn size(&self) -> u64;

    /// Reads all of `into` from `at` on.
    ///
    /// # Errors
    /// When they cannot be read, or end before.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()>;
}

impl ReadAt for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..into.len()));
        into.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}
