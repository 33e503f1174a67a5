//! Mistakes that can be put into Vorpal on purpose, so that the explorer can be seen to catch them.

/// A seeded mistake. No machine has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// A controller writes whatever comes.
    IgnoresClocks,
    /// A controller compares a core's own number alone.
    ForgetsDependence,
    /// A controller's own clock stands for those of all.
    HearsNobody,
    /// A controller's clock passes writes that it still keeps.
    TellsEarly,
    /// A refused flush counts as taken.
    ForgetsRefused,
}

impl Mutant {
    /// All, by name, with what each does.
    pub const ALL: [(&'static str, Mutant, &'static str); 5] = [
        ("ignores-clocks", Mutant::IgnoresClocks, "a controller writes whatever comes"),
        ("forgets-dependence", Mutant::ForgetsDependence, "a controller compares a core's own number alone"),
        ("hears-nobody", Mutant::HearsNobody, "a controller's own clock stands for those of all"),
        ("tells-early", Mutant::TellsEarly, "a controller's clock passes writes that it still keeps"),
        ("forgets-refused", Mutant::ForgetsRefused, "a refused flush counts as taken"),
    ];
}
