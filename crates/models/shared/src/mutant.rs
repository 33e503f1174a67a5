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
    /// What is on its way when a link fails is lost, although the link comes back.
    LinkForgets,
    /// Where hardware keeps a line coherent, a host whose link is down is not asked.
    SnoopSkipsLostLinks,
    /// When the power fails, the line that the device accepted last is not drained.
    DrainForgets,
    /// When the power fails, hosts send what is on its way and leave out their caches.
    CachesForgotten,
    /// What a power failure leaves undone is not counted.
    CountStays,
}

impl Mutant {
    /// All of them.
    pub(crate) const ALL: [(&'static str, Mutant, &'static str); 11] = [
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
        (
            "link-forgets",
            Mutant::LinkForgets,
            "what is on its way when a link fails is lost, although the link comes back",
        ),
        (
            "snoop-skips-lost-links",
            Mutant::SnoopSkipsLostLinks,
            "where hardware keeps a line coherent, a host whose link is down is not asked",
        ),
        (
            "drain-forgets",
            Mutant::DrainForgets,
            "when the power fails, the line that the device accepted last is not drained",
        ),
        (
            "caches-forgotten",
            Mutant::CachesForgotten,
            "when the power fails, hosts send what is on its way and leave out their caches",
        ),
        ("count-stays", Mutant::CountStays, "what a power failure leaves undone is not counted"),
    ];
}

/// As the explorer takes them.
pub(crate) const MUTANTS: Mutants<Mutant> = &Mutant::ALL;
