//! Persistency models: what a program may rely on when it recovers.

/// A persistency model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistency {
    /// x86: the stores of a line persist in order; a flush and a fence make them durable.
    Px86Line,
    /// x86: each aligned word on its own.
    Px86,
    /// Armv8: each aligned word on its own, those of a line in the order that barriers give them; DC CVAP and DSB
    /// make them durable. A flush is DC CVAP, a fence is DSB; a locked operation orders and makes nothing durable.
    Armv8,
    /// Epochs of a thread persist in order, and after those that they conflict with.
    Epoch,
    /// As [`Persistency::Px86Line`], but an ofence orders what it makes durable there, within its thread's strand alone; a
    /// dfence or a join makes durable what was flushed on every strand.
    Strand,
    /// Epochs persist in order, and after those that they acquired from.
    Release,
    /// As [`Persistency::Release`], but what a thread stores after a release comes after nothing of its own: the release alone
    /// comes after what was stored before. Fences order both ways.
    OneSided,
    /// Every store persists when it becomes visible; a non-temporal one at the next fence of its thread.
    Strict,
}

impl Persistency {
    /// All, by name.
    pub const ALL: [(&'static str, Persistency); 8] = [
        ("px86-line", Persistency::Px86Line),
        ("px86", Persistency::Px86),
        ("armv8", Persistency::Armv8),
        ("strand", Persistency::Strand),
        ("epoch", Persistency::Epoch),
        ("release", Persistency::Release),
        ("one-sided", Persistency::OneSided),
        ("strict", Persistency::Strict),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, p)| *p == self).map_or("", |(n, _)| n)
    }

    /// Whether only a flush and a fence make a store durable.
    pub fn needs_flushes(self) -> bool {
        matches!(self, Persistency::Px86 | Persistency::Px86Line | Persistency::Armv8 | Persistency::Strand)
    }

    /// Whether epochs of threads are ordered.
    pub fn orders_epochs(self) -> bool {
        matches!(self, Persistency::Epoch | Persistency::Release | Persistency::OneSided)
    }

    /// Whether it says something of programs without races alone.
    pub fn needs_no_races(self) -> bool {
        matches!(self, Persistency::Release | Persistency::OneSided)
    }

    /// What orders the persists of one thread after those of another.
    pub fn across_threads(self) -> &'static str {
        match self {
            Persistency::Px86Line | Persistency::Px86 | Persistency::Armv8 | Persistency::Strand => {
                "what is durable"
            }
            Persistency::Epoch => "conflicts",
            Persistency::Release | Persistency::OneSided => "acquires",
            Persistency::Strict => "all stores",
        }
    }

    /// Whether each aligned word persists on its own; otherwise each line does.
    pub fn by_word(self) -> bool {
        matches!(self, Persistency::Px86 | Persistency::Armv8)
    }
}
