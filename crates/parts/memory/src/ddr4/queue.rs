//! Requests of one direction, by bank, oldest first.

use super::command::Place;

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
    /// Bit `b`: bank `b` has requests.
    pub(super) banks: u64,
    pub(super) len: usize,
    limit: usize,
}

impl Queue {
    pub(super) fn new(banks: usize, limit: usize) -> Queue {
        Queue { by_bank: vec![Vec::with_capacity(limit); banks], banks: 0, len: 0, limit }
    }

    pub(super) fn has_room(&self) -> bool {
        self.len < self.limit
    }

    pub(super) fn push(&mut self, bank: usize, waiting: Waiting) {
        debug_assert!(self.has_room());
        self.by_bank[bank].push(waiting);
        self.banks |= 1 << bank;
        self.len += 1;
    }

    pub(super) fn take(&mut self, bank: usize, index: usize) -> Waiting {
        let waiting = self.by_bank[bank].remove(index);
        if self.by_bank[bank].is_empty() {
            self.banks &= !(1 << bank);
        }
        self.len -= 1;
        waiting
    }

    pub(super) fn oldest(&self, bank: usize) -> &Waiting {
        &self.by_bank[bank][0]
    }

    /// The oldest request of a row: its place in the bank's queue, and its arrival.
    #[inline]
    pub(super) fn hit(&self, bank: usize, row: u32) -> Option<(usize, u64)> {
        let index = self.by_bank[bank].iter().position(|w| w.row == row)?;
        Some((index, self.by_bank[bank][index].sequence))
    }

    pub(super) fn holds(&self, bank: usize, place: Place) -> bool {
        self.by_bank[bank].iter().any(|w| (w.row, w.column) == (place.row, place.column))
    }
}
