//! Mistakes that can be put into the directory on purpose, so that the explorer can be seen to catch them.

/// A seeded mistake. No machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// A flush of a clean line is acknowledged though its last write-back is still under way.
    AcknowledgesClean,
    /// A flush of a line that is not here is acknowledged though its last write-back is still under way.
    AcknowledgesAbsent,
    /// A flush does not ask the core that has changed the line.
    FlushSkipsOwner,
}

impl Mutant {
    /// All, by name, with what each does.
    pub const ALL: [(&'static str, Mutant, &'static str); 3] = [
        (
            "acknowledges-clean",
            Mutant::AcknowledgesClean,
            "a flush of a clean line is acknowledged before its last write-back is durable",
        ),
        (
            "acknowledges-absent",
            Mutant::AcknowledgesAbsent,
            "a flush of a line that has left is acknowledged before its last write-back is durable",
        ),
        (
            "flush-skips-owner",
            Mutant::FlushSkipsOwner,
            "a flush does not ask the core that has changed the line",
        ),
    ];
}
