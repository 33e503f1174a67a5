//! Mistakes that can be put into PPA on purpose, so that the explorer can be seen to catch them.

/// A seeded mistake. No machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// Nothing is saved when the power fails.
    SavesNothing,
    /// A store that is on its way to its controller is not saved.
    SentCountsAsSafe,
    /// A region begins, and takes registers, before the one before is durable.
    BeginsEarly,
    /// A line that another core asks for does not leave first.
    SnoopedLineStays,
}

impl Mutant {
    /// All, by name, with what each does.
    pub const ALL: [(&'static str, Mutant, &'static str); 4] = [
        ("saves-nothing", Mutant::SavesNothing, "nothing is saved when the power fails"),
        (
            "sent-counts-as-safe",
            Mutant::SentCountsAsSafe,
            "a store that is on its way to its controller is not saved",
        ),
        (
            "begins-early",
            Mutant::BeginsEarly,
            "a region begins, and takes registers, before the one before is durable",
        ),
        (
            "snooped-line-stays",
            Mutant::SnoopedLineStays,
            "a line that another core asks for does not leave first",
        ),
    ];
}
