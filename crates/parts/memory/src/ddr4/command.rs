//! The commands on a channel's command bus.

use super::spec::{BANKS, GROUPS};

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Opens a row.
    Activate,
    /// Reads a burst of the open row.
    Read,
    /// Writes a burst of the open row.
    Write,
    /// Closes the row of one bank.
    Precharge,
    /// Closes the rows of all banks of a rank.
    PrechargeAll,
    /// Closes the row of the same bank in every bank group (DDR5's PREsb).
    PrechargeSame,
    /// Refreshes some rows of every bank of a rank.
    Refresh,
    /// Refreshes some rows of the same bank in every bank group (DDR5's REFsb).
    RefreshSame,
    /// The rank refreshes itself from here on, its clock enable low (SRE).
    SelfRefreshEntry,
    /// It does no longer (SRX).
    SelfRefreshExit,
}

impl Kind {
    /// The command that serves a request.
    #[inline]
    pub(super) fn column(write: bool) -> Kind {
        if write { Kind::Write } else { Kind::Read }
    }
}

/// A command at a clock of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The clock, counted from power-on.
    pub clock: u64,
    /// What.
    pub kind: Kind,
    /// The rank.
    pub rank: u8,
    /// The bank in its rank: see [`super::Place::bank`]. For [`Kind::PrechargeSame`] and [`Kind::RefreshSame`] that of the first group.
    pub bank: u8,
    /// The row, for [`Kind::Activate`].
    pub row: u32,
}

/// The bank group of a bank, among the four of its set.
pub(super) fn group(bank: u8) -> usize {
    bank as usize % GROUPS
}

/// The banks of a set that are the same in its groups, as bits: of that of `bank`.
pub(super) fn same_banks(bank: u8) -> u32 {
    let nth = bank as usize % BANKS / GROUPS;
    ((1 << GROUPS) - 1) << (nth * GROUPS)
}
