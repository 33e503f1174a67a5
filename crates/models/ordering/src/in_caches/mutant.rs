//! Mistakes that can be put into epochs in caches on purpose, so that the explorer can be seen to catch them.

/// A seeded mistake. No machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// An epoch goes although it waits for another core's.
    IgnoresDependence,
    /// Lines go whatever epoch is the oldest.
    PassesEpochs,
    /// What is stored after a fence goes before what was stored before it.
    PassesFences,
    /// A store goes with what was stored before a fence between the two.
    JoinsOverFences,
    /// A release goes with what was stored to its line before, without what was stored in between.
    JoinsReleases,
    /// An epoch counts as durable before its writes are acknowledged.
    CommitsUnacknowledged,
    /// Another core gets a line at once, and nothing is remembered of it.
    HandsOverEarly,
    /// Who waits for an epoch is not heard.
    HearsNobody,
}

/// By name, with what it does.
pub(crate) type Row = (&'static str, Mutant, &'static str);

pub(crate) const IGNORES_DEPENDENCE: Row =
    ("ignores-dependence", Mutant::IgnoresDependence, "an epoch goes although it waits for another core's");
pub(crate) const PASSES_EPOCHS: Row =
    ("passes-epochs", Mutant::PassesEpochs, "lines go whatever epoch is the oldest");
pub(crate) const PASSES_FENCES: Row = (
    "passes-fences",
    Mutant::PassesFences,
    "what is stored after a fence goes before what was stored before it",
);
pub(crate) const JOINS_OVER_FENCES: Row = (
    "joins-over-fences",
    Mutant::JoinsOverFences,
    "a store goes with what was stored before a fence between the two",
);
pub(crate) const JOINS_RELEASES: Row = (
    "joins-releases",
    Mutant::JoinsReleases,
    "a release goes with what was stored to its line before, without what was stored in between",
);
pub(crate) const COMMITS_UNACKNOWLEDGED: Row = (
    "commits-unacknowledged",
    Mutant::CommitsUnacknowledged,
    "an epoch counts as durable before its writes are acknowledged",
);
pub(crate) const HANDS_OVER_EARLY: Row = (
    "hands-over-early",
    Mutant::HandsOverEarly,
    "another core gets a line at once, and nothing is remembered of it",
);
pub(crate) const HEARS_NOBODY: Row =
    ("hears-nobody", Mutant::HearsNobody, "who waits for an epoch is not heard");
