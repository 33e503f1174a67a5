//! Cores with private caches and a store buffer, and the shared cache with its directory.
#![forbid(unsafe_code)]

pub mod core;
pub mod directory;
pub mod params;
mod tags;

pub use core::{Core, CoreSpec, FlushSpec, Program, Stretch, TimeStats};
pub use directory::{Awaited, Directory, DirectorySpec, Replacement};
use plug::System;
use std::hint::select_unpredictable;

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
    /// Sets: any number from one on.
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
    /// All of its number's bits mixed, neither by sums nor by exclusive ors alone: which set a line has says nothing of where
    /// its neighbours are.
    Hash,
}

impl CacheShape {
    /// The set of a line. Cost: a mask where sets are a power of two, as those of most private caches are, else a division.
    #[inline]
    fn set_of(&self, line: protocol::Line) -> usize {
        let number = match self.index {
            Index::Modulo => line.0,
            Index::Hash => units::mix(line.0),
        };
        let mask = self.sets - 1;
        if self.sets & mask == 0 { number as usize & mask } else { number as usize % self.sets }
    }

    fn lines(&self) -> usize {
        self.sets * self.ways
    }
}

/// The least of `ranks` that is not below `least`, and the place of the first that has it; [`u64::MAX`] where none is. Cost: a
/// comparison or two for each, and no jump.
#[inline]
fn least_from(ranks: &[u64], least: u64) -> (u64, usize) {
    let mut found = (u64::MAX, 0);
    for (place, rank) in ranks.iter().enumerate() {
        // Which is the least is anybody's guess, a processor's too.
        let rank = select_unpredictable(*rank < least, u64::MAX, *rank);
        let is_less = rank < found.0;
        found = (select_unpredictable(is_less, rank, found.0), select_unpredictable(is_less, place, found.1));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{CacheShape, Index};
    use protocol::Line;

    #[test]
    fn neighbours_of_lines_of_one_set_are_in_one_set_by_chance_alone() {
        let shape = CacheShape { sets: 64, ways: 16, latency: units::Dur::ZERO, index: Index::Hash };
        let blocks = 4096;
        let set = |block: u64, n: u64| shape.set_of(Line(block * 4 + n));
        let together = |n: u64| {
            let pairs = (0..blocks).map(|b| (b, (b + 977) % blocks));
            let first = pairs.filter(|(a, b)| set(*a, 0) == set(*b, 0));
            first.fold((0, 0), |(all, too), (a, b)| (all + 1, too + usize::from(set(a, n) == set(b, n))))
        };
        for n in 1..4 {
            let (all, too) = together(n);
            assert!(all > 30 && too * 8 < all, "{too} of {all}");
        }
    }

    #[test]
    fn lines_are_spread_over_any_number_of_sets() {
        for index in [Index::Modulo, Index::Hash] {
            for sets in [1, 3, 64, 40_960] {
                let shape = CacheShape { sets, ways: 11, latency: units::Dur::ZERO, index };
                let mut lines = vec![0; sets];
                (0..8 * sets as u64).for_each(|line| lines[shape.set_of(Line(line))] += 1);
                assert!(index == Index::Hash || lines.iter().all(|n| *n == 8), "{sets}");
                assert!(lines.iter().all(|n| *n < 40), "{sets}");
            }
        }
    }

    #[test]
    fn a_cache_of_one_set_has_one_set() {
        let shape = CacheShape { sets: 1, ways: 16, latency: units::Dur::ZERO, index: Index::Hash };
        assert_eq!(shape.set_of(Line(u64::MAX)), 0);
    }
}
