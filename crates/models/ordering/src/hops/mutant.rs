//! Mistakes that can be put into HOPS on purpose, so that the explorer can be seen to catch them.

/// A seeded mistake. No machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// Entries go whatever epoch they are of.
    FlushesPastEpochs,
    /// An epoch goes although it waits for another core's.
    IgnoresDependence,
    /// An epoch is published before its writes are acknowledged.
    PublishesUnacknowledged,
    /// Whatever the register answers, the epoch that was waited for counts as durable.
    TakesAnyTimestamp,
}

impl Mutant {
    /// All, by name, with what each does.
    pub const ALL: [(&'static str, Mutant, &'static str); 4] = [
        ("flushes-past-epochs", Mutant::FlushesPastEpochs, "entries go whatever epoch they are of"),
        (
            "ignores-dependence",
            Mutant::IgnoresDependence,
            "an epoch goes although it waits for another core's",
        ),
        (
            "publishes-unacknowledged",
            Mutant::PublishesUnacknowledged,
            "an epoch is published before its writes are acknowledged",
        ),
        (
            "takes-any-timestamp",
            Mutant::TakesAnyTimestamp,
            "any answer of the register ends the wait for an epoch",
        ),
    ];
}
