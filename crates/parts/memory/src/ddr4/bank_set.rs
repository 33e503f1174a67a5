//! What a set of banks allows next: for each bank and for the set, the first clock of each kind of command.

use super::command::{Kind, same_banks};
use super::lanes::Allowed;
use super::needs::{First, Needs};
use super::spec::{BANKS, GROUPS, Spec};

#[derive(Clone, Copy, Debug)]
pub(super) struct Bank {
    pub(super) open: Option<u32>,
    activate: u64,
    precharge: u64,
    column: u64,
}

/// Sixteen banks in four groups, as many as are compared at once: a rank of DDR4, or half of one of DDR5.
#[derive(Clone, Debug)]
pub(super) struct BankSet {
    pub(super) banks: [Bank; BANKS],
    /// When the rank allows a command, whatever the state of its bank.
    pub(super) activate: Allowed,
    read: Allowed,
    write: Allowed,
    /// Bit `b`: bank `b` has an open row.
    pub(super) open: u32,
    pub(super) needs: Needs,
}

/// All banks.
pub(super) const ALL: u32 = (1 << BANKS) - 1;

/// What the banks of a rank share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rank {
    /// When the next REFRESH is due.
    pub(super) due: u64,
    /// The bank of each group that it takes, as the first group's; where it takes all, the first.
    pub(super) next: u8,
    /// When it may come, whatever the state of its banks.
    refresh: u64,
    /// The last four ACTIVATEs, as the first clock that tFAW allows after each.
    window: [u64; 4],
    oldest: usize,
}

impl Rank {
    pub(super) fn new(due: u64) -> Rank {
        Rank { due, next: 0, refresh: 0, window: [0; 4], oldest: 0 }
    }

    /// An ACTIVATE goes at `clock`. Gives when the window of four allows the next, in clocks from there.
    pub(super) fn activate(&mut self, clock: u64, s: &Spec) -> u64 {
        self.window[self.oldest] = clock + s.faw;
        self.oldest = (self.oldest + 1) % 4;
        push(&mut self.refresh, clock + s.rrd_l);
        self.window[self.oldest].saturating_sub(clock)
    }

    /// The banks of each set that the next REFRESH takes.
    pub(super) fn held(&self, s: &Spec) -> u32 {
        if s.same_bank.is_some() { same_banks(self.next) } else { ALL }
    }

    /// When REFRESH may follow, its banks in `sets` being closed.
    pub(super) fn refresh_from(&self, sets: &[BankSet], s: &Spec) -> u64 {
        let closed = sets.iter().map(|set| set.refresh_from(self.held(s))).max().unwrap_or(0);
        if s.same_bank.is_some() { closed.max(self.refresh) } else { closed }
    }

    pub(super) fn refreshed(&mut self, clock: u64, s: &Spec) {
        self.due += s.refi;
        push(&mut self.refresh, clock + s.rfc);
        if s.same_bank.is_some() {
            self.next = (self.next + GROUPS as u8) % BANKS as u8;
        }
    }

    /// Leaves self-refresh: its clock for refreshes starts anew.
    pub(super) fn wake(&mut self, clock: u64, s: &Spec) {
        self.due = clock + s.xs() + s.refi;
    }
}

fn push(to: &mut u64, clock: u64) {
    *to = (*to).max(clock);
}

impl BankSet {
    pub(super) fn new() -> BankSet {
        BankSet {
            banks: [Bank { open: None, activate: 0, precharge: 0, column: 0 }; BANKS],
            activate: Allowed::AT_ONCE,
            read: Allowed::AT_ONCE,
            write: Allowed::AT_ONCE,
            open: 0,
            needs: Needs::NOTHING,
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
            | Kind::PrechargeSame
            | Kind::Refresh
            | Kind::RefreshSame
            | Kind::SelfRefreshEntry
            | Kind::SelfRefreshExit => bank.precharge,
        }
    }

    /// Those of `banks` (bit `b`: bank `b`).
    fn of(&self, banks: u32) -> impl Iterator<Item = &Bank> {
        self.banks.iter().enumerate().filter(move |(n, _)| banks >> n & 1 != 0).map(|(_, bank)| bank)
    }

    /// When every open one of `banks` may be closed.
    pub(super) fn precharge_from(&self, banks: u32) -> u64 {
        self.of(banks & self.open).map(|b| b.precharge).max().unwrap_or(0)
    }

    /// When REFRESH of `banks` may follow, all of them being closed.
    pub(super) fn refresh_from(&self, banks: u32) -> u64 {
        self.of(banks).map(|b| b.activate).max().unwrap_or(0)
    }

    /// Opens a row; the window of four allows the next `by_window` clocks later.
    pub(super) fn activate(&mut self, clock: u64, bank: u8, row: u32, by_window: u64, s: &Spec) {
        let b = &mut self.banks[bank as usize];
        b.open = Some(row);
        push(&mut b.column, clock + s.rcd);
        push(&mut b.precharge, clock + s.ras);
        push(&mut b.activate, clock + s.ras + s.rp);
        self.activate.not_before(clock, bank, s.rrd_l.max(by_window), s.rrd_s.max(by_window));
        self.open |= 1 << bank;
    }

    /// A bank of the rank's other set opened a row.
    pub(super) fn activated_beside(&mut self, clock: u64, by_window: u64, s: &Spec) {
        let after = s.rrd_s.max(by_window);
        self.activate.not_before(clock, 0, after, after);
    }

    pub(super) fn column(&mut self, clock: u64, bank: u8, write: bool, s: &Spec) {
        let data_end = clock + s.cwl + s.burst;
        let b = &mut self.banks[bank as usize];
        push(&mut b.precharge, if write { data_end + s.wr } else { clock + s.rtp });
        if write {
            self.write.not_before(clock, bank, s.ccd_l_wr, s.ccd_s);
            self.read.not_before(clock, bank, s.cwl + s.burst + s.wtr_l, s.cwl + s.burst + s.wtr_s);
        } else {
            self.read.not_before(clock, bank, s.ccd_l, s.ccd_s);
            self.write.not_before(clock, bank, s.read_to_write(), s.read_to_write());
        }
    }

    /// A bank of the rank's other set served a column command.
    pub(super) fn column_beside(&mut self, clock: u64, write: bool, s: &Spec) {
        let (read_after, write_after) =
            if write { (s.cwl + s.burst + s.wtr_s, s.ccd_s) } else { (s.ccd_s, s.read_to_write()) };
        self.read.not_before(clock, 0, read_after, read_after);
        self.write.not_before(clock, 0, write_after, write_after);
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
    pub(super) fn would_close(&self, bank: usize, row: u32) -> bool {
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
            | Kind::PrechargeSame
            | Kind::Refresh
            | Kind::RefreshSame
            | Kind::SelfRefreshEntry
            | Kind::SelfRefreshExit => None,
        }
    }

    pub(super) fn precharge(&mut self, clock: u64, bank: u8, s: &Spec) {
        let b = &mut self.banks[bank as usize];
        if b.open.take().is_some() {
            self.open &= !(1 << bank);
            push(&mut b.activate, clock + s.rp);
        }
    }

    /// Closes those of `banks` that are open. The others wait as long: what counts is the last precharge, of a closed bank too.
    pub(super) fn precharge_all(&mut self, clock: u64, banks: u32, s: &Spec) {
        for bank in (0..BANKS as u8).filter(|bank| banks >> bank & 1 != 0) {
            self.precharge(clock, bank, s);
            push(&mut self.banks[bank as usize].activate, clock + s.rp);
        }
    }

    /// Leaves self-refresh.
    pub(super) fn wake(&mut self, clock: u64, s: &Spec) {
        for b in &mut self.banks {
            push(&mut b.activate, clock + s.xs());
        }
        self.settle(clock);
    }

    /// Of `banks`; where these are not all, the others wait for less.
    pub(super) fn refresh(&mut self, clock: u64, banks: u32, s: &Spec) {
        for (n, b) in self.banks.iter_mut().enumerate() {
            if banks >> n & 1 != 0 {
                push(&mut b.activate, clock + s.rfc);
            }
        }
        self.settle(clock);
        if let Some(others) = s.same_bank {
            self.activate.not_before(clock, 0, others, others);
        }
    }
}
