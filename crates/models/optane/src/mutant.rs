//! Mistakes that can be put into a DIMM on purpose, so that the explorer can be seen to catch them.

/// A seeded mistake. No machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// What is written after a block has gone to the media goes with it all the same.
    JoinsLate,
    /// A block is read from the media while its newer contents are on their way there.
    ReadsUnsettled,
    /// A block that leaves the buffer before all of its lines have come is not written.
    DropsPartial,
    /// A block that takes another's place is taken to be on its way to the media, as that was.
    InheritsPlace,
    /// What was written to a block is forgotten when the rest of it comes from the media.
    FillsOver,
}

impl Mutant {
    /// All, by name, with what each does.
    pub const ALL: [(&'static str, Mutant, &'static str); 5] = [
        ("joins-late", Mutant::JoinsLate, "a line goes with a block that has gone to the media already"),
        (
            "reads-unsettled",
            Mutant::ReadsUnsettled,
            "a block is read from the media while its newer contents are on their way there",
        ),
        (
            "drops-partial",
            Mutant::DropsPartial,
            "a block that is not whole leaves the buffer without a write",
        ),
        (
            "inherits-place",
            Mutant::InheritsPlace,
            "a block is taken to be on its way to the media, as the one before it in its place was",
        ),
        (
            "fills-over",
            Mutant::FillsOver,
            "a block that is read from the media forgets what was written to it",
        ),
    ];
}
