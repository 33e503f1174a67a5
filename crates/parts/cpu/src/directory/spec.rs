//! Parameters of the shared cache and directory.

use crate::CacheShape;
use params::Words;
use units::Dur;

/// Which line of a set makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum Replacement {
    /// The least recently used.
    Lru,
    /// Any.
    Random,
}

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
    /// Which line of a set makes room, among those equally worth keeping.
    pub replacement: Replacement,
    /// The cache is inside the persistence domain.
    pub caches_persist: bool,
}
