//! Mistakes that can be put into Capri on purpose, so that the explorer can be seen to catch them.

/// A seeded mistake. No machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// Nothing drains when the power fails.
    NoBattery,
    /// Stores leave before their region has ended.
    SendsOpenRegion,
    /// A line that another core asks for goes while its region is open.
    RegionStaysOpen,
    /// A line that another core asks for does not leave the buffer first.
    SnoopedLineStays,
}

impl Mutant {
    /// All, by name, with what each does.
    pub const ALL: [(&'static str, Mutant, &'static str); 4] = [
        ("no-battery", Mutant::NoBattery, "nothing drains when the power fails"),
        ("sends-open-region", Mutant::SendsOpenRegion, "stores leave before their region has ended"),
        (
            "region-stays-open",
            Mutant::RegionStaysOpen,
            "a line that another core asks for goes while its region is open",
        ),
        (
            "snooped-line-stays",
            Mutant::SnoopedLineStays,
            "a line that another core asks for does not leave the buffer first",
        ),
    ];
}
