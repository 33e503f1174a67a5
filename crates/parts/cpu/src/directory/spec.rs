//! Parameters of the shared cache and directory.

use crate::CacheShape;
use units::Dur;

/// Parameters of the shared cache and directory.
#[derive(Clone, Copy, Debug)]
pub struct DirectorySpec {
    /// Cores with private caches, at most 64.
    pub cores: u8,
    /// Sets and ways of the shared cache.
    pub shape: CacheShape,
    /// Time of a lookup, wires not included.
    pub latency: Dur,
    /// Further time before a snoop leaves; never zero.
    pub snoop: Dur,
    /// When a set whose every line is busy is looked at again.
    pub retry: Dur,
    /// The cache keeps data; otherwise it is only a directory, and what no core holds comes from memory.
    pub keeps_data: bool,
    /// The cache is inside the persistence domain.
    pub caches_persist: bool,
}
