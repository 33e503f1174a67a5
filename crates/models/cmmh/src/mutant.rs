//! Mistakes that can be put into the device on purpose, so that the explorer can be seen to catch them.

/// A seeded mistake. No machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Who waits for room is not looked at when a page has come.
    ForgetsStalled,
    /// A request does not look whether its page is on its way already.
    FillsTwice,
    /// A line that is written leaves its page as it was: it is not brought to the NAND.
    KeepsClean,
    /// A changed page that makes room is not brought to the NAND.
    DropsChanged,
    /// Stored energy is spent on pages that the NAND has already.
    SavesUnchanged,
    /// A page for which no energy was left is not told of.
    LosesQuietly,
}

impl Mutant {
    /// All, by name, with what each does.
    pub const ALL: [(&'static str, Mutant, &'static str); 6] = [
        ("forgets-stalled", Mutant::ForgetsStalled, "who waits for room is not looked at when a page comes"),
        ("fills-twice", Mutant::FillsTwice, "a page that is on its way is fetched into another slot, too"),
        ("keeps-clean", Mutant::KeepsClean, "a page that was written to counts as unchanged"),
        ("drops-changed", Mutant::DropsChanged, "a changed page that makes room does not go to the NAND"),
        ("saves-unchanged", Mutant::SavesUnchanged, "stored energy is spent on pages that the NAND has"),
        ("loses-quietly", Mutant::LosesQuietly, "nobody is told of a page for which no energy was left"),
    ];
}
