//! The commands on a channel's command bus, and where a line lies.

use super::spec::{BANKS, GROUPS, GroupBits, Spec};

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
    /// The bank in its rank: see [`Place::bank`]. For [`Kind::PrechargeSame`] and [`Kind::RefreshSame`] that of the first group.
    pub bank: u8,
    /// The row, for [`Kind::Activate`].
    pub row: u32,
}

/// Where a line lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The rank.
    pub rank: u8,
    /// The bank in its rank: the low two bits name the bank group, and bit 4 the groups beyond the fourth.
    pub bank: u8,
    /// The row.
    pub row: u32,
    /// The line in the row.
    pub column: u8,
}

impl Place {
    /// The place of line number `line` of the channel. From the low bits up: column, rank, bank, row (RoBaRaCoCh), with
    /// the bank group where [`Spec::groups`] has it.
    pub fn of(line: u64, spec: &Spec) -> Place {
        // Every divisor is a power of two.
        let take = |rest: &mut u64, of: u64| {
            let part = *rest & (of - 1);
            *rest >>= of.trailing_zeros();
            part
        };
        let (groups, mut rest) = ((GROUPS * spec.sets) as u64, line);
        let lowest = if spec.groups == GroupBits::Lines { take(&mut rest, groups) } else { 0 };
        let column = take(&mut rest, spec.lines_per_row);
        let rank = take(&mut rest, spec.ranks as u64);
        let above_rows = if spec.groups == GroupBits::Rows { take(&mut rest, groups) } else { 0 };
        let bank = take(&mut rest, (BANKS / GROUPS) as u64);
        let row = take(&mut rest, spec.rows);
        let highest = if spec.groups == GroupBits::Top { rest & (groups - 1) } else { 0 };
        let group = lowest | above_rows | highest;
        let (set, lane) = (group / GROUPS as u64, group % GROUPS as u64);
        let bank = set * BANKS as u64 + bank * GROUPS as u64 + lane;
        Place { rank: rank as u8, bank: bank as u8, row: row as u32, column: column as u8 }
    }
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
