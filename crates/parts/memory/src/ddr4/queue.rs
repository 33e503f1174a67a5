//! Requests of one direction, by bank, oldest first.

use super::place::Place;

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) sequence: u64,
    pub(super) arrived: u64,
    pub(super) row: u32,
    pub(super) tag: u32,
    pub(super) column: u8,
}

#[derive(Clone, Debug)]
pub(super) struct Queue {
    by_bank: Vec<Vec<Waiting>>,
    rows: Rows,
    /// Bit `b`: bank `b` has requests.
    pub(super) banks: u64,
    pub(super) len: usize,
    limit: usize,
}

impl Queue {
    pub(super) fn new(banks: usize, limit: usize) -> Queue {
        Queue {
            by_bank: vec![Vec::with_capacity(limit); banks],
            rows: Rows([0; ROWS]),
            banks: 0,
            len: 0,
            limit,
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.len < self.limit
    }

    pub(super) fn push(&mut self, bank: usize, waiting: Waiting) {
        debug_assert!(self.has_room());
        *self.rows.of(bank, waiting.row) += 1;
        self.by_bank[bank].push(waiting);
        self.banks |= 1 << bank;
        self.len += 1;
    }

    pub(super) fn take(&mut self, bank: usize, index: usize) -> Waiting {
        let waiting = self.by_bank[bank].remove(index);
        *self.rows.of(bank, waiting.row) -= 1;
        if self.by_bank[bank].is_empty() {
            self.banks &= !(1 << bank);
        }
        self.len -= 1;
        waiting
    }

    /// The tags of all.
    pub(super) fn tags(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_bank.iter().flatten().map(|waiting| waiting.tag)
    }

    pub(super) fn oldest(&self, bank: usize) -> &Waiting {
        &self.by_bank[bank][0]
    }

    /// The oldest request of a row: its place in the bank's queue, and its arrival.
    #[inline]
    pub(super) fn hit(&self, bank: usize, row: u32) -> Option<(usize, u64)> {
        if !self.rows.may_have(bank, row) {
            return None;
        }
        let index = self.by_bank[bank].iter().position(|w| w.row == row)?;
        Some((index, self.by_bank[bank][index].sequence))
    }

    #[inline]
    pub(super) fn holds(&self, bank: usize, place: Place) -> bool {
        self.rows.may_have(bank, place.row)
            && self.by_bank[bank].iter().any(|w| (w.row, w.column) == (place.row, place.column))
    }
}

const ROWS: usize = 1024;

/// How many requests there are by a hash of their row: most rows have none, which costs no walk along a bank's queue,
/// whose end nobody foretells.
#[derive(Clone, Debug)]
struct Rows([u8; ROWS]);

impl Rows {
    #[inline]
    fn index(bank: usize, row: u32) -> usize {
        (row.wrapping_mul(0x9E37_79B1) >> 16) as usize ^ bank
    }

    #[inline]
    fn of(&mut self, bank: usize, row: u32) -> &mut u8 {
        &mut self.0[Rows::index(bank, row) % ROWS]
    }

    #[inline]
    fn may_have(&self, bank: usize, row: u32) -> bool {
        self.0[Rows::index(bank, row) % ROWS] > 0
    }
}
