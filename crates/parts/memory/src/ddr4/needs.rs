//! What each bank of a rank needs next, and which of these commands goes first.

use super::command::Kind;
use super::lanes::{Banks, NEVER, Shorts};
use super::spec::BANKS;

/// A column for each question. All banks are compared at once and without a branch: which of them needs what is as good
/// as random.
#[derive(Clone, Debug)]
pub(super) struct Needs {
    /// When the bank allows it.
    from: Banks,
    /// Bit `b`: bank `b` needs an ACTIVATE, a READ, a WRITE. Others that have requests need a PRECHARGE.
    of_rank: [u32; 3],
    /// The number of the request that it is for.
    sequence: Banks,
    pub(super) kind: [Kind; BANKS],
    /// That request's place in the bank's queue, for column commands.
    pub(super) index: [usize; BANKS],
}

/// The command that goes first of those that a rank's banks need.
#[derive(Clone, Copy, Debug)]
pub(super) struct First {
    /// Clocks until it may go.
    pub(super) wait: i16,
    is_column: bool,
    /// The number of the request that it is for, less that of the next; beyond 32,768 requests they are not counted.
    order: i16,
    pub(super) bank: usize,
}

impl First {
    /// No bank needs any.
    pub(super) const NONE: First = First { wait: NEVER, is_column: false, order: 0, bank: 0 };

    /// Earlier ones do, then column commands, then those for older requests.
    #[inline]
    pub(super) fn goes_before(&self, other: &First) -> bool {
        let key = |first: &First| (first.wait, !first.is_column, first.order);
        key(self) < key(other)
    }
}

impl Needs {
    pub(super) const NOTHING: Needs = Needs {
        from: Banks::ZERO,
        of_rank: [0; 3],
        sequence: Banks::ZERO,
        kind: [Kind::Refresh; BANKS],
        index: [0; BANKS],
    };

    /// Bank `bank` needs a command of `kind` from `from` on, which may not be over.
    #[inline]
    pub(super) fn set(&mut self, bank: usize, kind: Kind, from: u64, sequence: u64, index: usize) {
        self.follow(bank, kind, from);
        self.sequence.set(bank, sequence);
        self.index[bank] = index;
    }

    /// The banks that need an ACTIVATE next.
    pub(super) fn activates(&self) -> u32 {
        self.of_rank[0]
    }

    /// The same for the request that it is for already, which is the oldest.
    #[inline]
    pub(super) fn follow(&mut self, bank: usize, kind: Kind, from: u64) {
        for (set, of_rank) in self.of_rank.iter_mut().zip([Kind::Activate, Kind::Read, Kind::Write]) {
            *set = *set & !(1 << bank) | u32::from(kind == of_rank) << bank;
        }
        self.from.set(bank, from);
        self.kind[bank] = kind;
    }

    /// The first of the commands that `banks` need, none of them before `free`. `allowed`: clocks from there until the
    /// rank allows an ACTIVATE, a READ, a WRITE. `sequence` is the next request's number.
    #[inline(always)]
    pub(super) fn first(&self, banks: u32, allowed: [Shorts; 3], free: u64, sequence: u64) -> First {
        let [activates, reads, writes] =
            std::array::from_fn(|n| allowed[n].and(Shorts::members(self.of_rank[n])));
        let waits = self.from.beyond(free).max(activates.or(reads).or(writes)).max(Shorts::splat(0));
        let waits = waits.or(Shorts::members(!banks).and(Shorts::splat(NEVER)));
        let wait = waits.least();
        let ready = waits.equal(wait);
        let columns = ready & (self.of_rank[1] | self.of_rank[2]);
        let is_column = columns != 0;
        let ready = if is_column { columns } else { ready };
        // No request's order is positive.
        let orders = self.sequence.beyond(sequence).and(Shorts::members(ready));
        let order = orders.least();
        First { wait, is_column, order, bank: orders.equal(order).trailing_zeros() as usize % BANKS }
    }
}
