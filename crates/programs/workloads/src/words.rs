//! Words that parameters of several programs take.

use params::{Kind, Plain, Words};

/// In which order places come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub(crate) enum Order {
    Random,
    Sequential,
}

/// What is done with a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// Which pages of a transaction are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub(crate) enum CopiedPages {
    All,
    First,
    Fixed,
}

/// Which places of a file are in a cache in front of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub(crate) enum Resident {
    /// As many as the file's size leaves there.
    Unset,
    /// All.
    True,
    /// None.
    False,
}

pub(crate) const ORDER: Kind = Order::KIND;
pub(crate) const DIRECTION: Kind = Direction::KIND;
pub(crate) const COPIED_PAGES: Kind = CopiedPages::KIND;
pub(crate) const RESIDENT: Kind = Resident::KIND;
