//! Mistakes that can be put into BBB on purpose, so that the explorer can be seen to catch them.

/// A seeded mistake. No machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// Nothing drains when the power fails.
    NoBattery,
    /// An entry that is on its way to its controller is not drained.
    SentCountsAsSafe,
    /// A store to a line that has an entry already is forgotten.
    ForgetsJoined,
    /// A line that another core asks for does not leave the buffer first.
    SnoopedLineStays,
}

impl Mutant {
    /// All, by name, with what each does.
    pub const ALL: [(&'static str, Mutant, &'static str); 4] = [
        ("no-battery", Mutant::NoBattery, "nothing drains when the power fails"),
        (
            "sent-counts-as-safe",
            Mutant::SentCountsAsSafe,
            "an entry that is on its way to its controller is not drained",
        ),
        ("forgets-joined", Mutant::ForgetsJoined, "a store to a line that has an entry already is forgotten"),
        (
            "snooped-line-stays",
            Mutant::SnoopedLineStays,
            "a line that another core asks for does not leave the buffer first",
        ),
    ];
}
