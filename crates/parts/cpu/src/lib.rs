//! Cores with private caches and a store buffer, and the shared cache with its directory.
#![forbid(unsafe_code)]

pub mod core;
pub mod directory;
pub mod params;

pub use core::{Core, CoreSpec, FlushSpec, Program, Stretch, TimeStats};
pub use directory::{Directory, DirectorySpec, Replacement};
use plug::System;

/// Cores, caches, and the wires between them.
pub const SYSTEM: System = System {
    parameters: params::TABLES,
    groups: &[
        ("cpu", "cores"),
        ("l1", "first-level caches"),
        ("l2", "second-level caches"),
        ("llc", "shared cache and directory"),
        ("wires", "distances"),
    ],
    renamed: &[
        ("cpu.harts", "cpu.cores"),
        ("wires.hart_directory_ns", "wires.core_directory_ns"),
        ("wires.hart_controller_ns", "wires.core_controller_ns"),
        ("wires.hart_hart_ns", "wires.core_core_ns"),
        ("ordering.sfence_blocks = hart", "ordering.sfence_blocks = core"),
    ],
    statistics: &[
        core::STATISTICS[0],
        core::STATISTICS[1],
        core::STATISTICS[2],
        core::STATISTICS[3],
        directory::STATISTICS,
    ],
    ..System::NOTHING
};

/// Shape and speed of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheShape {
    /// Sets, a power of two.
    pub sets: usize,
    /// Lines in a set.
    pub ways: usize,
    /// Time of a hit.
    pub latency: units::Dur,
    /// Which set a line has.
    pub index: Index,
}

/// Which set a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ::params::Words)]
pub enum Index {
    /// Its number, modulo the sets.
    Modulo,
    /// Its number's bits folded upon each other: neighbours have sets of their own, and so have lines a power of two apart.
    Hash,
}

impl CacheShape {
    fn set_of(&self, line: protocol::Line) -> usize {
        let bits = self.sets.trailing_zeros();
        let number = match self.index {
            Index::Modulo => line.0,
            Index::Hash => (1..4).fold(line.0, |folded, n| folded ^ line.0 >> (n * bits)),
        };
        number as usize & (self.sets - 1)
    }

    fn lines(&self) -> usize {
        self.sets * self.ways
    }
}
