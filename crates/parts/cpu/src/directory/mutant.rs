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
    /// A changed line that leaves the shared cache is dropped.
    DropsVictim,
    /// What a core writes back is not kept.
    ForgetsWriteBack,
    /// The bytes that a core answers a snoop with are not kept.
    ForgetsAnswer,
    /// A power failure finds nothing in the shared cache.
    SavesNothing,
}

impl Mutant {
    /// Those that break the promise of a flush, by name, with what each does.
    pub const FLUSHES: [(&'static str, Mutant, &'static str); 4] = [
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
        ("forgets-write-back", Mutant::ForgetsWriteBack, "what a core writes back is not kept"),
    ];

    /// Those that lose what survives where caches do.
    pub const SAVES: [(&'static str, Mutant, &'static str); 4] = [
        ("drops-victim", Mutant::DropsVictim, "a changed line that leaves the shared cache is dropped"),
        ("forgets-write-back", Mutant::ForgetsWriteBack, "what a core writes back is not kept"),
        ("forgets-answer", Mutant::ForgetsAnswer, "the bytes that a core answers a snoop with are not kept"),
        ("saves-nothing", Mutant::SavesNothing, "a power failure finds nothing in the shared cache"),
    ];
}
