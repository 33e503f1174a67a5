//! Mistakes that can be put into StrandWeaver on purpose, so that tests can be seen to catch them.

/// A seeded mistake. No machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// Flushes pass the barriers of their strand.
    IgnoreBarrier,
    /// A line leaves its core whatever its last store comes after.
    LeaveEarly,
    /// A store goes to a line whose flush still waits behind a barrier.
    OverwriteWaiting,
    /// Joining and dfence wait for nothing.
    JoinNothing,
    /// A flush passes what a store of an older strand to its line comes after.
    PassOldStore,
}

impl Mutant {
    /// All, by name, with what each does.
    pub const ALL: [(&'static str, Mutant, &'static str); 5] = [
        ("ignore-barrier", Mutant::IgnoreBarrier, "flushes pass the barriers of their strand"),
        ("leave-early", Mutant::LeaveEarly, "a line leaves its core whatever its last store comes after"),
        (
            "overwrite-waiting",
            Mutant::OverwriteWaiting,
            "a store goes to a line whose flush still waits behind a barrier",
        ),
        ("join-nothing", Mutant::JoinNothing, "joining and dfence wait for nothing"),
        (
            "pass-old-store",
            Mutant::PassOldStore,
            "a flush passes what a store of an older strand to its line comes after",
        ),
    ];
}
