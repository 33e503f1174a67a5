//! A DDR4 channel: ranks of banks that open rows, a scheduler, and refresh.
//!
//! ```text
//!   push --> read queue  --+
//!   push --> write queue --+--> first ready, first come --> command bus --> banks --> data bus --> Done
//!                     refresh due --> PRECHARGE ALL, REFRESH --^
//! ```
//!
//! Modelled: ACTIVATE, READ, WRITE, PRECHARGE, PRECHARGE ALL, REFRESH and self-refresh with the timing of JESD79-4; open pages; among the
//! commands that can go first, column commands before row commands and older requests before younger ones (FR-FCFS);
//! reads before writes, until 80 % of the write queue is taken or no read waits, then writes down to 20 %, but a row that
//! was opened for a request serves it first; all-bank refresh at tREFI, which closes the rank, with postponement while
//! requests wait; reads of lines whose write waits.
//!
//! Not modelled: power-down, per-device differences, error correction, ODT and calibration.
//!
//! Cost: one decision for each command, over the banks that have requests: two comparisons of time a bank, whose needs
//! are kept until its state or its queue changes. Nothing happens between commands.
//!
//! Sources: JESD79-4 (timing tables, §4.26 refresh); Rixner et al. (ISCA 2000) for FR-FCFS.

mod command;
mod legality;
mod queue;
mod rank;
mod spec;
#[cfg(test)]
mod tests;

pub use command::{Command, Kind, Place};
pub use legality::{Legality, Violation};
pub use spec::{BANKS, BURST, LINES_PER_ROW, Spec};

use protocol::Full;
use queue::{Queue, Waiting};
use rank::{RULES, Rank};
use spec::SHORTEST_SLEEP;
use units::Time;

/// Something to read or write: one line.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Number of the line in the channel.
    pub line: u64,
    /// Written, not read.
    pub write: bool,
    /// Comes back in [`Done`].
    pub tag: u32,
}

/// A read whose data is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The request's tag.
    pub tag: u32,
    /// When the last of the data is with whoever asked.
    pub at: Time,
}

/// A command that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The command.
    pub command: Command,
    /// The tag of the request that a READ or WRITE serves.
    pub tag: Option<u32>,
    /// The read that it completes.
    pub done: Option<Done>,
}

/// What a channel has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// READ commands.
    pub reads: u64,
    /// WRITE commands.
    pub writes: u64,
    /// ACTIVATE commands: every column command without one of its own hit an open row.
    pub activates: u64,
    /// PRECHARGE commands for one bank.
    pub precharges: u64,
    /// REFRESH commands.
    pub refreshes: u64,
    /// Reads answered from the write queue.
    pub forwarded: u64,
    /// Clocks from arrival to data, over all reads.
    pub read_clocks: u64,
}

/// One channel. It takes time as an argument and has no clock of its own: before a request is pushed, every command
/// that goes earlier has to be issued.
#[derive(Clone, Debug)]
pub struct Channel {
    spec: Spec,
    ranks: Vec<Rank>,
    reads: Queue,
    writes: Queue,
    writing: bool,
    /// Banks whose row was opened for a request that still waits: bit `b` of the first for reads, of the second for
    /// writes. They serve it whatever the direction is by then, or the row would have been opened for nothing.
    owed: [u64; 2],
    /// The first clock at which the command bus is free.
    free: u64,
    /// For reads and for writes: what each bank needs next, and which of these have to be found anew (bit `b`: bank `b`).
    needs: [Vec<Needs>; 2],
    stale: [u64; 2],
    chosen: Option<Chosen>,
    /// In self-refresh since this clock.
    asleep: Option<u64>,
    sequence: u64,
    counts: Counts,
    log: Option<Vec<Command>>,
}

/// The command that goes next, unless a request comes before.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    clock: u64,
    rank: u8,
    bank: u8,
    /// For a write.
    write: bool,
    /// In its bank's queue, for column commands.
    index: usize,
    kind: Kind,
}

/// What the requests of one direction need of each bank of a rank next: a column for each question, since the search for
/// the next command asks the first three of all banks.
#[derive(Clone, Debug)]
struct Needs {
    /// When the bank allows it.
    from: [u64; BANKS],
    /// Which of the rank's rules holds for it.
    rule: [u8; BANKS],
    /// See [`Needs::order`].
    order: [u64; BANKS],
    /// In the bank's queue, for column commands.
    index: [usize; BANKS],
    kind: [Kind; BANKS],
}

impl Needs {
    const ORDER_BITS: u32 = 40;
    const NOTHING: Needs = Needs {
        from: [0; BANKS],
        rule: [0; BANKS],
        order: [0; BANKS],
        index: [0; BANKS],
        kind: [Kind::Refresh; BANKS],
    };

    /// Column commands before row commands, then older requests before younger ones. The low bits of a sequence tell
    /// requests apart for longer than a run lasts.
    fn order(row: bool, sequence: u64) -> u64 {
        let low = (1 << (Self::ORDER_BITS - 1)) - 1;
        u64::from(row) << (Self::ORDER_BITS - 1) | (sequence & low)
    }

    /// The first of the commands that `banks` need, by clock and then by order: its bank, and both in one number, the
    /// clock counted from `free`. A wait is shorter than 2^24 clocks.
    #[inline]
    fn first(&self, mut banks: u64, allows: &[u64; RULES], free: u64) -> (u64, usize) {
        let (mut first, mut bank) = (u64::MAX, 0);
        while banks != 0 {
            let b = banks.trailing_zeros() as usize % BANKS;
            banks &= banks - 1;
            let clock = self.from[b].max(allows[self.rule[b] as usize % RULES]);
            let key = clock.saturating_sub(free) << Self::ORDER_BITS | self.order[b];
            bank = if key < first { b } else { bank };
            first = first.min(key);
        }
        (first, bank)
    }
}

impl Channel {
    /// A channel with every bank closed.
    ///
    /// # Errors
    /// What is impossible about `spec`.
    pub fn new(spec: Spec) -> Result<Channel, String> {
        spec.check()?;
        let banks = spec.ranks * BANKS;
        Ok(Channel {
            ranks: vec![Rank::new(spec.refi); spec.ranks],
            reads: Queue::new(banks, spec.queue),
            writes: Queue::new(banks, spec.queue),
            writing: false,
            owed: [0; 2],
            free: 0,
            needs: [vec![Needs::NOTHING; spec.ranks], vec![Needs::NOTHING; spec.ranks]],
            stale: [0; 2],
            chosen: None,
            asleep: None,
            sequence: 0,
            counts: Counts::default(),
            log: None,
            spec,
        })
    }

    /// Keeps every command from here on.
    pub fn keep_log(&mut self) {
        self.log = Some(Vec::new());
    }

    /// The commands kept so far.
    pub fn log(&self) -> &[Command] {
        self.log.as_deref().unwrap_or_default()
    }

    /// What it has done.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Its parameters.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Whether no request waits.
    pub fn is_idle(&self) -> bool {
        self.reads.len + self.writes.len == 0
    }

    /// Whether a request finds room.
    pub fn has_room(&self, write: bool) -> bool {
        if write { self.writes.has_room() } else { self.reads.has_room() }
    }

    /// Takes a request in at `at`. A read of a line whose write waits is answered at once.
    ///
    /// # Errors
    /// The queue is full.
    pub fn push(&mut self, at: Time, request: Request) -> Result<Option<Done>, Full> {
        if !self.has_room(request.write) {
            return Err(Full);
        }
        let clock = at.ps().div_ceil(self.spec.clock_ps);
        self.wake(clock);
        let place = Place::of(request.line, &self.spec);
        let bank = place.rank as usize * BANKS + place.bank as usize;
        if self.writes.holds(bank, place) {
            if request.write {
                return Ok(None);
            }
            self.counts.forwarded += 1;
            self.counts.read_clocks += self.spec.controller;
            return Ok(Some(Done { tag: request.tag, at: self.time(clock + self.spec.controller) }));
        }
        let waiting = Waiting {
            sequence: self.sequence,
            arrived: clock,
            row: place.row,
            tag: request.tag,
            column: place.column,
        };
        let queue = if request.write { &mut self.writes } else { &mut self.reads };
        queue.push(bank, waiting)?;
        self.stale[usize::from(request.write)] |= 1 << bank;
        self.sequence += 1;
        self.free = self.free.max(clock);
        self.chosen = None;
        Ok(None)
    }

    /// Puts an idle channel to sleep at `at`: its rows are closed, and the ranks refresh themselves until the next
    /// request. Gives when the last of them does.
    ///
    /// # Errors
    /// Requests wait.
    pub fn self_refresh(&mut self, at: Time) -> Result<Time, Full> {
        if !self.is_idle() {
            return Err(Full);
        }
        self.free = self.free.max(at.ps().div_ceil(self.spec.clock_ps));
        for rank in 0..self.spec.ranks {
            if self.ranks[rank].open_banks > 0 {
                let clock = self.free.max(self.ranks[rank].precharge_all_from());
                (0..BANKS as u8).for_each(|bank| self.ranks[rank].precharge(clock, bank, &self.spec));
                self.send(Command { clock, kind: Kind::PrechargeAll, rank: rank as u8, bank: 0, row: 0 });
            }
            let clock = self.free.max(self.ranks[rank].refresh_from());
            self.send(Command { clock, kind: Kind::SelfRefreshEntry, rank: rank as u8, bank: 0, row: 0 });
        }
        (self.asleep, self.chosen, self.stale) = (Some(self.free - 1), None, [u64::MAX; 2]);
        Ok(self.time(self.free - 1))
    }

    /// A request came at `clock`: who sleeps wakes.
    fn wake(&mut self, clock: u64) {
        let Some(since) = self.asleep.take() else { return };
        self.free = self.free.max(clock).max(since + SHORTEST_SLEEP);
        for rank in 0..self.spec.ranks {
            self.ranks[rank].wake(self.free, &self.spec);
            let (clock, kind) = (self.free, Kind::SelfRefreshExit);
            self.send(Command { clock, kind, rank: rank as u8, bank: 0, row: 0 });
        }
        self.stale = [u64::MAX; 2];
    }

    /// A command takes its clock of the bus, and its place in the log.
    fn send(&mut self, command: Command) {
        self.free = command.clock + 1;
        if let Some(log) = &mut self.log {
            log.push(command);
        }
    }

    /// When the next command goes; what is pushed before may change it.
    pub fn next_at(&mut self) -> Time {
        if self.asleep.is_some() {
            return Time::NEVER;
        }
        let clock = self.choose().clock;
        self.time(clock)
    }

    /// Issues the command that goes next, if there is one.
    pub fn issue(&mut self) -> Option<Issued> {
        if self.asleep.is_some() {
            return None;
        }
        let c = self.choose();
        self.chosen = None;
        let (s, rank) = (&self.spec, &mut self.ranks[c.rank as usize]);
        let (bank, mut row) = (c.rank as usize * BANKS + c.bank as usize, 0);
        match c.kind {
            Kind::Activate => {
                row = if c.write { &self.writes } else { &self.reads }.oldest(bank).row;
                self.owed[usize::from(c.write)] |= 1 << bank;
                rank.activate(c.clock, c.bank, row, s);
                self.counts.activates += 1;
            }
            Kind::Precharge => {
                rank.precharge(c.clock, c.bank, s);
                self.counts.precharges += 1;
            }
            Kind::PrechargeAll => {
                (0..BANKS as u8).for_each(|bank| rank.precharge(c.clock, bank, s));
                let all = 0xFFFF << (c.rank as usize * BANKS);
                self.owed.iter_mut().for_each(|owed| *owed &= !all);
                self.stale.iter_mut().for_each(|stale| *stale |= all);
            }
            Kind::Refresh => {
                self.stale = [u64::MAX; 2];
                rank.refresh(c.clock, s);
                self.counts.refreshes += 1;
            }
            Kind::Read | Kind::Write | Kind::SelfRefreshEntry | Kind::SelfRefreshExit => {}
        }
        self.stale.iter_mut().for_each(|stale| *stale |= 1 << bank);
        let command = Command { clock: c.clock, kind: c.kind, rank: c.rank, bank: c.bank, row };
        self.send(command);
        if !matches!(c.kind, Kind::Read | Kind::Write) {
            return Some(Issued { command, tag: None, done: None });
        }
        let (tag, done) = self.column(&c);
        Some(Issued { command, tag: Some(tag), done })
    }

    /// Issues every command that goes before `to`, and tells of each read that is done.
    pub fn advance(&mut self, to: Time, done: &mut impl FnMut(Done)) {
        while self.next_at() < to {
            if let Some(d) = self.issue().and_then(|i| i.done) {
                done(d);
            }
        }
    }

    /// The request that a column command serves: its tag, and when a read's data is there.
    fn column(&mut self, c: &Chosen) -> (u32, Option<Done>) {
        let (s, write) = (&self.spec, c.write);
        self.ranks[c.rank as usize].column(c.clock, c.bank, write, s);
        let free = c.clock + BURST + if write { s.cwl } else { s.cl };
        for (_, other) in (0..).zip(&mut self.ranks).filter(|(rank, _)| *rank != c.rank) {
            other.bus_taken(free, s);
        }
        let bank = c.rank as usize * BANKS + c.bank as usize;
        self.owed.iter_mut().for_each(|owed| *owed &= !(1 << bank));
        let queue = if write { &mut self.writes } else { &mut self.reads };
        let waiting = queue.take(bank, c.index);
        if write {
            self.counts.writes += 1;
            return (waiting.tag, None);
        }
        self.counts.reads += 1;
        let clock = free + s.controller;
        self.counts.read_clocks += clock - waiting.arrived;
        (waiting.tag, Some(Done { tag: waiting.tag, at: self.time(clock) }))
    }

    fn time(&self, clock: u64) -> Time {
        Time::from_ps(clock * self.spec.clock_ps)
    }

    fn queue(&self, write: bool) -> &Queue {
        if write { &self.writes } else { &self.reads }
    }

    fn choose(&mut self) -> Chosen {
        if let Some(chosen) = self.chosen {
            return chosen;
        }
        self.choose_direction();
        let mut best = None;
        let owed = self.owed[usize::from(!self.writing)];
        self.best_of(self.writing, self.queue(self.writing).banks & !owed, &mut best);
        self.best_of(!self.writing, owed, &mut best);
        // Looking at the refresh of a rank goes over its banks: only when it could come first.
        let soon = (0..self.spec.ranks).map(|rank| self.refresh_begins(rank)).min().unwrap_or(0);
        let chosen = match best {
            Some((_, best)) if best.clock < soon => best,
            best => {
                let refresh = self.next_refresh();
                best.map(|(_, b)| b).filter(|b| b.clock < refresh.clock).unwrap_or(refresh)
            }
        };
        self.chosen = Some(chosen);
        chosen
    }

    /// The first of the commands that `banks` need, before the refresh of their rank begins. Without a branch for
    /// each kind: which a bank needs is as good as random.
    #[inline]
    fn best_of(&mut self, write: bool, banks: u64, best: &mut Option<(u64, Chosen)>) {
        if banks == 0 {
            return;
        }
        let direction = usize::from(write);
        let mut stale = self.stale[direction] & banks;
        self.stale[direction] &= !banks;
        while stale != 0 {
            self.find_need(stale.trailing_zeros() as usize, write);
            stale &= stale - 1;
        }
        for (number, rank) in self.ranks.iter().enumerate() {
            let needs = &self.needs[direction][number];
            let banks = banks >> (number * BANKS) & 0xFFFF;
            let (first, bank) = needs.first(banks, &rank.allows, self.free);
            if banks == 0 || best.as_ref().is_some_and(|(key, _)| *key <= first) {
                continue;
            }
            let clock = self.free + (first >> Needs::ORDER_BITS);
            if clock < self.refresh_begins(number) {
                let (kind, index) = (needs.kind[bank], needs.index[bank]);
                let (rank, bank) = (number as u8, bank as u8);
                *best = Some((first, Chosen { clock, rank, bank, write, index, kind }));
            }
        }
    }

    /// Writes wait until many are there, or nothing else is.
    fn choose_direction(&mut self) {
        let (reads, writes) = (self.reads.len, self.writes.len);
        self.writing = if self.writing {
            writes > 0 && (reads == 0 || writes * 5 >= self.spec.queue)
        } else {
            writes > 0 && (reads == 0 || writes * 5 >= self.spec.queue * 4)
        };
    }

    /// When a rank stops serving requests for its refresh.
    fn refresh_begins(&self, rank: usize) -> u64 {
        let waits = self.reads.len + self.writes.len > 0;
        self.ranks[rank].due + if waits { self.spec.postponed * self.spec.refi } else { 0 }
    }

    fn next_refresh(&self) -> Chosen {
        let each = self.ranks.iter().enumerate().map(|(number, rank)| {
            let (kind, from) = if rank.open_banks > 0 {
                (Kind::PrechargeAll, rank.precharge_all_from())
            } else {
                (Kind::Refresh, rank.refresh_from())
            };
            let clock = self.refresh_begins(number).max(from).max(self.free);
            Chosen { clock, rank: number as u8, bank: 0, write: false, index: 0, kind }
        });
        each.min_by_key(|c| c.clock).expect("a channel has a rank")
    }

    /// Finds what the requests of one direction need of a bank that has some.
    fn find_need(&mut self, number: usize, write: bool) {
        let (rank, bank) = (&self.ranks[number / BANKS], number % BANKS);
        let queue = self.queue(write);
        let (kind, order, index) = match rank.banks[bank].open {
            None => (Kind::Activate, Needs::order(true, queue.oldest(number).sequence), 0),
            Some(row) => match queue.hit(number, row) {
                Some((index, sequence)) => {
                    (if write { Kind::Write } else { Kind::Read }, Needs::order(false, sequence), index)
                }
                None => (Kind::Precharge, Needs::order(true, queue.oldest(number).sequence), 0),
            },
        };
        let (from, rule) = (rank.bank_allows(bank as u8, kind), rank::rule(bank as u8, kind) as u8);
        let needs = &mut self.needs[usize::from(write)][number / BANKS];
        (needs.from[bank], needs.rule[bank], needs.order[bank]) = (from, rule, order);
        (needs.index[bank], needs.kind[bank]) = (index, kind);
    }
}
