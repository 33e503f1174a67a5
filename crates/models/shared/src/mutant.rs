//! Mistakes that can be seeded in the hardware.

use explore::Mutants;

/// What the hardware does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// A fence does not wait.
    FenceForgets,
    /// A flush marks the line clean and writes nothing.
    FlushForgets,
    /// A flush that is to drop the copy keeps it.
    InvalidateKeepsCopy,
    /// A dirty line that is evicted is dropped.
    EvictionForgets,
    /// A host that stops writes its caches back.
    CrashWritesBack,
    /// Where hardware keeps a line coherent, a store leaves other hosts' copies.
    SnoopLeavesCopies,
}

impl Mutant {
    /// All of them.
    pub(crate) const ALL: [(&'static str, Mutant, &'static str); 6] = [
        ("fence-forgets", Mutant::FenceForgets, "a fence does not wait for flushes"),
        ("flush-forgets", Mutant::FlushForgets, "a flush marks the line clean and writes nothing"),
        ("invalidate-keeps-copy", Mutant::InvalidateKeepsCopy, "a flush that is to drop the copy keeps it"),
        ("eviction-forgets", Mutant::EvictionForgets, "a dirty line that is evicted is dropped"),
        ("crash-writes-back", Mutant::CrashWritesBack, "a host that stops writes its caches back"),
        (
            "snoop-leaves-copies",
            Mutant::SnoopLeavesCopies,
            "where hardware keeps a line coherent, a store leaves other hosts' copies",
        ),
    ];
}

/// As the explorer takes them.
pub(crate) const MUTANTS: Mutants<Mutant> = &Mutant::ALL;
