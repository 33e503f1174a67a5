//! What a rank allows next: for each bank and for the rank, the first clock of each kind of command.

use super::command::Kind;
use super::lanes::Allowed;
use super::needs::{First, Needs};
use super::spec::{BANKS, BURST, Spec};

#[derive(Clone, Copy, Debug)]
pub(super) struct Bank {
    pub(super) open: Option<u32>,
    activate: u64,
    precharge: u64,
    column: u64,
}

/// The banks of a rank.
#[derive(Clone, Debug)]
pub(super) struct Rank {
    pub(super) banks: [Bank; BANKS],
    /// When the rank allows a command, whatever the state of its bank.
    pub(super) activate: Allowed,
    read: Allowed,
    write: Allowed,
    /// The last four ACTIVATEs, as the first clock that tFAW allows after each.
    window: [u64; 4],
    oldest: usize,
    pub(super) open_banks: u32,
    pub(super) needs: Needs,
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
            activate: Allowed::AT_ONCE,
            read: Allowed::AT_ONCE,
            write: Allowed::AT_ONCE,
            window: [0; 4],
            oldest: 0,
            open_banks: 0,
            needs: Needs::NOTHING,
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
            Kind::Precharge
            | Kind::PrechargeAll
            | Kind::Refresh
            | Kind::SelfRefreshEntry
            | Kind::SelfRefreshExit => bank.precharge,
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
        let by_window = self.window[self.oldest].saturating_sub(clock);
        self.activate.not_before(clock, bank, s.rrd_l.max(by_window), s.rrd_s.max(by_window));
        self.open_banks += 1;
    }

    pub(super) fn column(&mut self, clock: u64, bank: u8, write: bool, s: &Spec) {
        let data_end = clock + s.cwl + BURST;
        let b = &mut self.banks[bank as usize];
        push(&mut b.precharge, if write { data_end + s.wr } else { clock + s.rtp });
        if write {
            self.write.not_before(clock, bank, s.ccd_l, s.ccd_s);
            self.read.not_before(clock, bank, s.cwl + BURST + s.wtr_l, s.cwl + BURST + s.wtr_s);
        } else {
            self.read.not_before(clock, bank, s.ccd_l, s.ccd_s);
            self.write.not_before(clock, bank, s.read_to_write(), s.read_to_write());
        }
    }

    /// Another rank's burst is on the data bus until `free`.
    pub(super) fn bus_taken(&mut self, free: u64, s: &Spec) {
        self.read.not_before((free + s.cs).saturating_sub(s.cl), 0, 0, 0);
        self.write.not_before((free + s.cs).saturating_sub(s.cwl), 0, 0, 0);
    }

    /// What was allowed long before `clock` is from then on.
    fn settle(&mut self, clock: u64) {
        let allowed = [&mut self.activate, &mut self.read, &mut self.write];
        allowed.into_iter().for_each(|allowed| allowed.not_before(clock, 0, 0, 0));
    }

    /// After a command for its oldest request a bank needs `kind` next, for the same request.
    pub(super) fn follow(&mut self, bank: u8, kind: Kind, free: u64) {
        let from = self.bank_allows(bank, kind).max(free);
        self.needs.follow(bank as usize, kind, from);
    }

    /// Whether a bank's need is to close `row`.
    pub(super) fn would_close(&self, bank: u8, row: u32) -> bool {
        let bank = bank as usize;
        (self.needs.kind[bank] == Kind::Precharge) & (self.banks[bank].open == Some(row))
    }

    /// The first of the commands that `banks` need, none of them before `free`.
    #[inline]
    pub(super) fn first(&self, banks: u32, free: u64, sequence: u64) -> First {
        let allowed = [self.activate, self.read, self.write].map(|allowed| allowed.beyond(free));
        self.needs.first(banks, allowed, free, sequence)
    }

    /// When the rank allows a command for one bank; none for one that it never forbids.
    #[cfg(test)]
    pub(super) fn allowed(&self, kind: Kind) -> Option<&Allowed> {
        match kind {
            Kind::Activate => Some(&self.activate),
            Kind::Read => Some(&self.read),
            Kind::Write => Some(&self.write),
            Kind::Precharge
            | Kind::PrechargeAll
            | Kind::Refresh
            | Kind::SelfRefreshEntry
            | Kind::SelfRefreshExit => None,
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
        self.settle(clock);
    }

    pub(super) fn refresh(&mut self, clock: u64, s: &Spec) {
        for b in &mut self.banks {
            push(&mut b.activate, clock + s.rfc);
        }
        self.due += s.refi;
        self.settle(clock);
    }
}
