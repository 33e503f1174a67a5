//! Mistakes that can be put into the protocol on purpose, so that the explorer can be seen to catch them.

/// A seeded mistake. No machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// A refused flush counts as acknowledged: no fall-back to conservative flushing.
    NoNackFallback,
    /// An epoch's undo records go when its writes are complete, not when it commits.
    UndoOnComplete,
    /// A second early write of a line goes to memory without a delay record.
    SkipDelay,
    /// An epoch counts as safe although it waits for another core's.
    IgnoreDependence,
}

impl Mutant {
    /// All, by name, with what each does.
    pub const ALL: [(&'static str, Mutant, &'static str); 4] = [
        ("no-nack-fallback", Mutant::NoNackFallback, "a refused flush counts as acknowledged"),
        (
            "undo-on-complete",
            Mutant::UndoOnComplete,
            "undo records go when an epoch is complete, not when it commits",
        ),
        (
            "skip-delay",
            Mutant::SkipDelay,
            "a second early write of a line goes to memory without a delay record",
        ),
        (
            "ignore-dependence",
            Mutant::IgnoreDependence,
            "an epoch counts as safe although it waits for another core",
        ),
    ];
}
