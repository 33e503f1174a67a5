//! The commands on a channel's command bus, and where a line lies.

use super::spec::{BANKS, GROUPS, LINES_PER_ROW, Spec};

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
    /// Refreshes some rows of every bank of a rank.
    Refresh,
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
    /// The bank in its rank; the low two bits name the bank group.
    pub bank: u8,
    /// The row, for [`Kind::Activate`].
    pub row: u32,
}

/// Where a line lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The rank.
    pub rank: u8,
    /// The bank in its rank; the low two bits name the bank group.
    pub bank: u8,
    /// The row.
    pub row: u32,
    /// The line in the row.
    pub column: u8,
}

impl Place {
    /// The place of line number `line` of the channel: from the low bits up column, rank, bank group, bank, row
    /// (RoBaRaCoCh), so that neighbouring rows are in different bank groups; or with the bank group above the row
    /// ([`Spec::groups_on_top`]).
    pub fn of(line: u64, spec: &Spec) -> Place {
        let (column, rest) = (line % LINES_PER_ROW, line / LINES_PER_ROW);
        // Ranks and rows are powers of two.
        let (rank, rest) = (rest & (spec.ranks as u64 - 1), rest >> spec.ranks.trailing_zeros());
        let (groups, banks) = (GROUPS as u64, BANKS as u64);
        let (bank, row) = if spec.groups_on_top {
            let above = rest / (banks / groups);
            ((rest % (banks / groups)) * groups + (above / spec.rows) % groups, above & (spec.rows - 1))
        } else {
            (rest % banks, (rest / banks) & (spec.rows - 1))
        };
        Place { rank: rank as u8, bank: bank as u8, row: row as u32, column: column as u8 }
    }
}

/// The bank group of a bank.
pub(super) fn group(bank: u8) -> usize {
    bank as usize % GROUPS
}
