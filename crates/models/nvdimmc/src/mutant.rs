//! Mistakes that can be put into the driver and the firmware on purpose, so that the explorer can be seen to catch them.

/// A seeded mistake. No machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// The driver does not write a page's lines back from the caches before the device reads its slot.
    NoFlush,
    /// The driver does not drop a slot's lines from the caches after the device has filled it.
    NoInvalidate,
    /// The metadata names the old page while the device fills its slot with the next.
    KeepsMetadata,
    /// The driver takes the acknowledgement of the command before for this one's.
    TakesOldAcknowledgement,
    /// The device acknowledges a cachefill before it has moved the page.
    AcknowledgesFirst,
    /// The device goes on when its window closes.
    Overruns,
    /// The device uses a window that it has missed.
    UsesMissed,
}

impl Mutant {
    /// All, by name, with what each does.
    pub const ALL: [(&'static str, Mutant, &'static str); 7] = [
        ("no-flush", Mutant::NoFlush, "the device reads a slot whose newest bytes are in the caches"),
        (
            "no-invalidate",
            Mutant::NoInvalidate,
            "the caches keep lines of the page that was in the slot before",
        ),
        ("keeps-metadata", Mutant::KeepsMetadata, "metadata names the old page while its slot is filled"),
        (
            "takes-old-acknowledgement",
            Mutant::TakesOldAcknowledgement,
            "the acknowledgement of the command before is taken for this one's",
        ),
        (
            "acknowledges-first",
            Mutant::AcknowledgesFirst,
            "a cachefill is acknowledged before the page has been moved",
        ),
        ("overruns", Mutant::Overruns, "the device goes on when its window closes"),
        ("uses-missed", Mutant::UsesMissed, "the device begins when the window that it missed has closed"),
    ];
}
