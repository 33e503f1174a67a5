//! Where a line lies.
//!
//! Source of the mapping of servers: how Linux finds the DIMM of an address that had an error (drivers/edac/skx_base.c, for Skylake-SP and
//! Cascade Lake).

use super::spec::{BANKS, GROUPS, GroupBits, Spec};

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
    /// the bank group where [`Spec::groups`] has it; or as the servers' controllers have it.
    pub fn of(line: u64, spec: &Spec) -> Place {
        match spec.groups {
            GroupBits::Lines | GroupBits::HashedLines | GroupBits::Rows | GroupBits::Top => {
                Place::by_parts(line, spec)
            }
            GroupBits::Skylake => Place::by_bits(line, spec, false),
            GroupBits::SkylakeFine => Place::by_bits(line, spec, true),
        }
    }

    fn by_parts(line: u64, spec: &Spec) -> Place {
        // Every divisor is a power of two.
        let take = |rest: &mut u64, of: u64| {
            let part = *rest & (of - 1);
            *rest >>= of.trailing_zeros();
            part
        };
        let (groups, mut rest) = ((GROUPS * spec.sets) as u64, line);
        let is_hashed = spec.groups == GroupBits::HashedLines;
        let by_line = is_hashed || spec.groups == GroupBits::Lines;
        let lowest = if by_line { take(&mut rest, groups) } else { 0 };
        let column = take(&mut rest, spec.lines_per_row);
        let rank = take(&mut rest, spec.ranks as u64);
        let above_rows = if spec.groups == GroupBits::Rows { take(&mut rest, groups) } else { 0 };
        let bank = take(&mut rest, (BANKS / GROUPS) as u64);
        let row = take(&mut rest, spec.rows);
        let highest = if spec.groups == GroupBits::Top { rest & (groups - 1) } else { 0 };
        let hash = if is_hashed { folded(row, groups * (BANKS / GROUPS) as u64) } else { 0 };
        let group = (lowest | above_rows | highest) ^ (hash % groups);
        let bank = bank ^ (hash / groups);
        let (set, lane) = (group / GROUPS as u64, group % GROUPS as u64);
        let bank = set * BANKS as u64 + bank * GROUPS as u64 + lane;
        Place { rank: rank as u8, bank: bank as u8, row: row as u32, column: column as u8 }
    }

    /// Each bit of group and bank is one above a row's columns XOR one of the row's, and the row's are not in the order of the address.
    /// Fine: the lowest of all names a group, and neighbouring lines are in two of them.
    fn by_bits(line: u64, spec: &Spec, is_fine: bool) -> Place {
        // Ranks take turns by as many bytes as a row has.
        let (row_bits, rank_bits) = (spec.lines_per_row.trailing_zeros(), spec.ranks.trailing_zeros());
        let rank = line >> row_bits & (spec.ranks as u64 - 1);
        let within = line >> (row_bits + rank_bits) << row_bits | line & (spec.lines_per_row - 1);
        // Bits are named as of an address of bytes; a line has six of them.
        let bits = |low: u64, count: u64| within << 6 >> low & ((1 << count) - 1);
        let (column, lowest) = if is_fine { (bits(7, 7), bits(6, 1)) } else { (bits(6, 7), bits(13, 1)) };
        let group = (lowest | bits(17, 1) << 1) ^ bits(20, 2);
        let bank = bits(18, 2) ^ bits(22, 2);
        let row = bits(14, 3) | bits(20, 1) << 3 | bits(28, 1) << 4 | bits(21, 7) << 5 | bits(29, 8) << 12;
        let row = row & (spec.rows - 1);
        Place {
            rank: rank as u8,
            bank: (bank * GROUPS as u64 + group) as u8,
            row: row as u32,
            column: column as u8,
        }
    }
}

/// The bits of `row`, XOR by as many as numbers below `of`, a power of two, have.
fn folded(row: u64, of: u64) -> u64 {
    let (mut rest, mut hash) = (row, 0);
    while rest > 0 {
        hash ^= rest & (of - 1);
        rest >>= of.trailing_zeros();
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place as one number.
    fn number(place: Place) -> u64 {
        let Place { rank, bank, row, column } = place;
        u64::from(row) << 24 | u64::from(rank) << 16 | u64::from(bank) << 8 | u64::from(column)
    }

    #[test]
    fn every_line_has_a_place_of_its_own() {
        let all = [
            GroupBits::HashedLines,
            GroupBits::Rows,
            GroupBits::Top,
            GroupBits::Skylake,
            GroupBits::SkylakeFine,
        ];
        for groups in all {
            for (gigabits, ranks) in [(4, 1), (8, 2), (16, 4)] {
                let spec = Spec { groups, ranks, ..Spec::DDR4_2933.with_density(gigabits).unwrap() };
                // A place is a sum (XOR) of what single bits of the number give: these have to be independent.
                let mut base: Vec<u64> = Vec::new();
                for bit in 0..spec.lines().trailing_zeros() {
                    let own = number(Place::of(1 << bit, &spec));
                    let left = base.iter().fold(own, |left, other| left.min(left ^ other));
                    assert!(left > 0, "bit {bit} of {groups:?}, {gigabits} Gb");
                    base.push(left);
                    base.sort_unstable_by(|a, b| b.cmp(a));
                }
            }
        }
    }

    #[test]
    fn servers_spread_rows_over_banks_by_bits_of_the_row() {
        let at =
            |address: u64, groups| Place::of(address >> 6, &Spec { groups, ranks: 1, ..Spec::DDR4_2933 });
        let place = |bank, row, column| Place { rank: 0, bank, row, column };
        assert_eq!(at(0x40, GroupBits::Skylake), place(0, 0, 1));
        assert_eq!(at(0x40, GroupBits::SkylakeFine), place(1, 0, 0));
        assert_eq!(at(0x2000, GroupBits::Skylake), place(1, 0, 0));
        assert_eq!(at(0x2000, GroupBits::SkylakeFine), place(0, 0, 64));
        for groups in [GroupBits::Skylake, GroupBits::SkylakeFine] {
            assert_eq!(at(1 << 14, groups), place(0, 1, 0));
            assert_eq!(at(1 << 17, groups), place(2, 0, 0));
            assert_eq!(at(1 << 20, groups), place(1, 8, 0));
            assert_eq!(at(1 << 23, groups), place(8, 128, 0));
            assert_eq!(at(1 << 28, groups), place(0, 16, 0));
        }
    }
}
