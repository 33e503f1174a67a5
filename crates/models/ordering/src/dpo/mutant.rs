//! Mistakes that can be put into DPO on purpose, so that the explorer can be seen to catch them.

/// A seeded mistake. No machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// An entry goes although its epoch waits for another core's.
    IgnoresDependence,
    /// An entry goes whatever is under way to other controllers.
    PassesControllers,
    /// Entries of the youngest epoch go first.
    YoungestFirst,
    /// An epoch counts as durable before its writes are acknowledged.
    CommitsUnacknowledged,
}

impl Mutant {
    /// All, by name, with what each does.
    pub const ALL: [(&'static str, Mutant, &'static str); 4] = [
        (
            "ignores-dependence",
            Mutant::IgnoresDependence,
            "an entry goes although its epoch waits for another core's",
        ),
        (
            "passes-controllers",
            Mutant::PassesControllers,
            "an entry goes whatever is under way to other controllers",
        ),
        ("youngest-first", Mutant::YoungestFirst, "entries of the youngest epoch go first"),
        (
            "commits-unacknowledged",
            Mutant::CommitsUnacknowledged,
            "an epoch counts as durable before its writes are acknowledged",
        ),
    ];
}
