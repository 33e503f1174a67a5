//! What a rank allows next: for each bank and for the rank, the first clock of each kind of command.

use super::command::{Kind, group};
use super::spec::{BANKS, BURST, GROUPS, Spec};

#[derive(Clone, Copy, Debug)]
pub(super) struct Bank {
    pub(super) open: Option<u32>,
    activate: u64,
    precharge: u64,
    column: u64,
}

/// Places in [`Rank::allows`]: for each bank group ACTIVATE, READ and WRITE, and one for what no rank forbids.
const ACTIVATE: usize = 0;
const READ: usize = GROUPS;
const WRITE: usize = 2 * GROUPS;
const FREE: usize = 3 * GROUPS;
/// A power of two, so that an index needs no check.
pub(super) const RULES: usize = 16;

/// Which entry of [`Rank::allows`] holds for a command.
pub(super) fn rule(bank: u8, kind: Kind) -> usize {
    match kind {
        Kind::Activate => ACTIVATE + group(bank),
        Kind::Read => READ + group(bank),
        Kind::Write => WRITE + group(bank),
        _ => FREE,
    }
}

/// The banks of a rank.
#[derive(Clone, Debug)]
pub(super) struct Rank {
    pub(super) banks: [Bank; BANKS],
    /// When the rank allows a command, whatever the state of its bank: by [`rule`].
    pub(super) allows: [u64; RULES],
    /// The last four ACTIVATEs, as the first clock that tFAW allows after each.
    window: [u64; 4],
    oldest: usize,
    pub(super) open_banks: u32,
    /// When the next REFRESH is due.
    pub(super) due: u64,
}

fn push(to: &mut u64, clock: u64) {
    *to = (*to).max(clock);
}

impl Rank {
    pub(super) fn new(due: u64) -> Rank {
        Rank {
            banks: [Bank { open: None, activate: 0, precharge: 0, column: 0 }; BANKS],
            allows: [0; RULES],
            window: [0; 4],
            oldest: 0,
            open_banks: 0,
            due,
        }
    }

    /// When a bank allows a command, whatever the rest of its rank does.
    #[inline]
    pub(super) fn bank_allows(&self, bank: u8, kind: Kind) -> u64 {
        let bank = &self.banks[bank as usize];
        match kind {
            Kind::Activate => bank.activate,
            Kind::Read | Kind::Write => bank.column,
            _ => bank.precharge,
        }
    }

    /// When every open bank may be closed.
    pub(super) fn precharge_all_from(&self) -> u64 {
        self.banks.iter().filter(|b| b.open.is_some()).map(|b| b.precharge).max().unwrap_or(0)
    }

    /// When REFRESH may follow, every bank being closed.
    pub(super) fn refresh_from(&self) -> u64 {
        self.banks.iter().map(|b| b.activate).max().unwrap_or(0)
    }

    pub(super) fn activate(&mut self, clock: u64, bank: u8, row: u32, s: &Spec) {
        let b = &mut self.banks[bank as usize];
        b.open = Some(row);
        push(&mut b.column, clock + s.rcd);
        push(&mut b.precharge, clock + s.ras);
        push(&mut b.activate, clock + s.ras + s.rp);
        self.window[self.oldest] = clock + s.faw;
        self.oldest = (self.oldest + 1) % 4;
        let by_window = self.window[self.oldest];
        for g in 0..GROUPS {
            let rrd = if g == group(bank) { s.rrd_l } else { s.rrd_s };
            push(&mut self.allows[ACTIVATE + g], by_window.max(clock + rrd));
        }
        self.open_banks += 1;
    }

    pub(super) fn column(&mut self, clock: u64, bank: u8, write: bool, s: &Spec) {
        let data_end = clock + s.cwl + BURST;
        let b = &mut self.banks[bank as usize];
        push(&mut b.precharge, if write { data_end + s.wr } else { clock + s.rtp });
        for g in 0..GROUPS {
            let same = g == group(bank);
            let ccd = clock + if same { s.ccd_l } else { s.ccd_s };
            if write {
                push(&mut self.allows[WRITE + g], ccd);
                push(&mut self.allows[READ + g], data_end + if same { s.wtr_l } else { s.wtr_s });
            } else {
                push(&mut self.allows[READ + g], ccd);
                push(&mut self.allows[WRITE + g], clock + s.read_to_write());
            }
        }
    }

    /// Another rank's burst is on the data bus until `free`.
    pub(super) fn bus_taken(&mut self, free: u64, s: &Spec) {
        for g in 0..GROUPS {
            push(&mut self.allows[READ + g], (free + s.cs).saturating_sub(s.cl));
            push(&mut self.allows[WRITE + g], (free + s.cs).saturating_sub(s.cwl));
        }
    }

    pub(super) fn precharge(&mut self, clock: u64, bank: u8, s: &Spec) {
        let b = &mut self.banks[bank as usize];
        if b.open.take().is_some() {
            self.open_banks -= 1;
            push(&mut b.activate, clock + s.rp);
        }
    }

    /// Leaves self-refresh: the rank is fresh, and its clock for refreshes starts anew.
    pub(super) fn wake(&mut self, clock: u64, s: &Spec) {
        for b in &mut self.banks {
            push(&mut b.activate, clock + s.xs());
        }
        self.due = clock + s.xs() + s.refi;
    }

    pub(super) fn refresh(&mut self, clock: u64, s: &Spec) {
        for b in &mut self.banks {
            push(&mut b.activate, clock + s.rfc);
        }
        self.due += s.refi;
    }
}
