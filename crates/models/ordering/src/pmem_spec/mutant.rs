//! Mistakes that can be put into PMEM-Spec on purpose, so that the explorer can be seen to catch them.

/// A seeded mistake. No machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// A release does not wait for the stores on the persist path.
    ReleasesEarly,
    /// A line may leave its core before its store is on the persist path.
    LeavesBeforeStore,
    /// A store goes whatever is under way to other controllers.
    PassesControllers,
    /// The controller watches no line that was evicted.
    WatchesNothing,
    /// The controller takes no notice of reads.
    IgnoresReads,
    /// A line that is evicted once more counts as one that nobody has read.
    ForgetsReads,
    /// A released word goes to another core before it is durable.
    HandsReleaseOver,
}

impl Mutant {
    /// All, by name, with what each does.
    pub const ALL: [(&'static str, Mutant, &'static str); 7] = [
        (
            "releases-early",
            Mutant::ReleasesEarly,
            "a release does not wait for the stores on the persist path",
        ),
        (
            "leaves-before-store",
            Mutant::LeavesBeforeStore,
            "a line may leave its core before its store is on the persist path",
        ),
        (
            "passes-controllers",
            Mutant::PassesControllers,
            "a store goes whatever is under way to other controllers",
        ),
        ("watches-nothing", Mutant::WatchesNothing, "the controller watches no line that was evicted"),
        ("ignores-reads", Mutant::IgnoresReads, "the controller takes no notice of reads"),
        (
            "forgets-reads",
            Mutant::ForgetsReads,
            "a line that is evicted once more counts as one that nobody has read",
        ),
        (
            "hands-release-over",
            Mutant::HandsReleaseOver,
            "a released word goes to another core before it is durable",
        ),
    ];
}
