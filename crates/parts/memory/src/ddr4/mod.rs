//! A DDR4 channel: ranks of banks that open rows, a scheduler, and refresh. What [`Spec`] says of shape and times is the
//! standard; with other numbers the same is a sub-channel of DDR5 (`crate::ddr5`).
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
//! Cost: one decision for each command, over all banks of a rank at once in vectors, some 300 instructions with the needs that
//! it finds, and 200 that carry the command out (counted under random requests); a bank's need is followed from PRECHARGE to
//! ACTIVATE to column command, and found anew only when its queue changes otherwise or the direction does. Nothing happens
//! between commands.
//!
//! Sources: JESD79-4 (timing tables, §4.26 refresh); Rixner et al. (ISCA 2000) for FR-FCFS.

mod bank_set;
mod bins;
mod command;
mod lanes;
mod legality;
mod media;
mod needs;
pub mod params;
mod place;
mod queue;
mod spec;
#[cfg(test)]
mod tests;

pub use command::{Command, Kind};
pub use legality::{Legality, Violation};
pub(crate) use media::ChannelStats;
pub use media::{Ddr4, Interleave};
pub use place::Place;
pub(crate) use spec::GROUPS;
pub use spec::{BANKS, BURST, GroupBits, LINES_PER_ROW, Spec};

use bank_set::{ALL, BankSet, Rank};
use lanes::NEVER;
use needs::First;
use protocol::WouldBlock;
use queue::{Queue, Waiting};
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
    /// REFRESH commands, of all banks of a rank or of one of each group.
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
    /// Of each rank as many.
    sets: Vec<BankSet>,
    /// Reads, and writes.
    queues: [Queue; 2],
    writing: bool,
    /// Banks whose row was opened for a request that still waits: bit `b` of the first for reads, of the second for
    /// writes. They serve it whatever the direction is by then, or the row would have been opened for nothing.
    owed: [u64; 2],
    /// The first clock at which the command bus is free.
    free: u64,
    /// The banks whose needs have to be found anew (bit `b`: bank `b`).
    stale: u64,
    /// Whether `next` still holds.
    is_chosen: bool,
    next: Chosen,
    /// In self-refresh since this clock.
    asleep: Option<u64>,
    sequence: u64,
    counts: Counts,
    log: Option<Vec<Command>>,
}

/// The command that goes next, unless a request comes before. Words, not bytes: it is written and read at once, and this
/// host hands a word on from a store to a load, but not several bytes to one load.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    clock: u64,
    kind: Kind,
    /// For a write.
    write: bool,
    /// The bank, counted over all ranks.
    bank: usize,
}

impl Channel {
    /// A channel with every bank closed.
    ///
    /// # Errors
    /// What is impossible about `spec`.
    pub fn new(spec: Spec) -> Result<Channel, String> {
        spec.check()?;
        let sets = spec.ranks * spec.sets;
        let banks = sets * BANKS;
        Ok(Channel {
            ranks: vec![Rank::new(spec.refi); spec.ranks],
            sets: vec![BankSet::new(); sets],
            queues: [Queue::new(banks, spec.queue), Queue::new(banks, spec.queue)],
            writing: false,
            owed: [0; 2],
            free: 0,
            stale: 0,
            is_chosen: false,
            next: Chosen { clock: 0, kind: Kind::Refresh, write: false, bank: 0 },
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
        self.queues.iter().all(|queue| queue.len == 0)
    }

    /// The tags of writes whose WRITE has not been issued.
    pub fn waiting_writes(&self) -> impl Iterator<Item = u32> + '_ {
        self.queues[1].tags()
    }

    /// Whether a request finds room.
    pub fn has_room(&self, write: bool) -> bool {
        self.queues[usize::from(write)].has_room()
    }

    /// Takes a request in at `at`. A read of a line whose write waits is answered at once.
    ///
    /// # Errors
    /// The queue is full.
    #[inline]
    pub fn push(&mut self, at: Time, request: Request) -> Result<Option<Done>, WouldBlock> {
        if !self.has_room(request.write) {
            return Err(WouldBlock);
        }
        Ok(self.admit(at, request))
    }

    fn admit(&mut self, at: Time, request: Request) -> Option<Done> {
        let clock = at.ps().div_ceil(self.spec.clock_ps);
        self.wake(clock);
        let place = Place::of(request.line, &self.spec);
        let bank = place.rank as usize * self.spec.sets * BANKS + place.bank as usize;
        if self.queues[1].holds(bank, place) {
            if request.write {
                return None;
            }
            self.counts.forwarded += 1;
            self.counts.read_clocks += self.spec.controller;
            return Some(Done { tag: request.tag, at: self.time(clock + self.spec.controller) });
        }
        let waiting = Waiting {
            sequence: self.sequence,
            arrived: clock,
            row: place.row,
            tag: request.tag,
            column: place.column,
        };
        let direction = usize::from(request.write);
        let set = &self.sets[bank / BANKS];
        let is_first = self.queues[direction].banks >> bank & 1 == 0;
        // A younger request changes what a bank needs where it alone finds its row open.
        let is_news =
            (is_first | set.would_close(bank % BANKS, place.row)) & (self.serves(bank) == request.write);
        self.stale |= u64::from(is_news) << bank;
        self.queues[direction].push(bank, waiting);
        self.sequence += 1;
        self.free = self.free.max(clock);
        self.is_chosen = false;
        None
    }

    /// Puts an idle channel to sleep at `at`: its rows are closed, and the ranks refresh themselves until the next
    /// request. Gives when the last of them does.
    ///
    /// # Errors
    /// Requests wait.
    pub fn self_refresh(&mut self, at: Time) -> Result<Time, WouldBlock> {
        if !self.is_idle() {
            return Err(WouldBlock);
        }
        self.free = self.free.max(at.ps().div_ceil(self.spec.clock_ps));
        for rank in 0..self.spec.ranks {
            if self.open(rank, ALL) {
                let clock = self.free.max(self.precharge_from(rank, ALL));
                self.precharge(clock, rank, ALL);
                self.send(Command { clock, kind: Kind::PrechargeAll, rank: rank as u8, bank: 0, row: 0 });
            }
            let closed = self.sets_of(rank).iter().map(|set| set.refresh_from(ALL)).max().unwrap_or(0);
            let clock = self.free.max(closed);
            self.send(Command { clock, kind: Kind::SelfRefreshEntry, rank: rank as u8, bank: 0, row: 0 });
        }
        (self.asleep, self.is_chosen, self.stale) = (Some(self.free - 1), false, u64::MAX);
        Ok(self.time(self.free - 1))
    }

    /// A request came at `clock`: who sleeps wakes.
    fn wake(&mut self, clock: u64) {
        let Some(since) = self.asleep.take() else { return };
        self.free = self.free.max(clock).max(since + SHORTEST_SLEEP);
        for rank in 0..self.spec.ranks {
            self.ranks[rank].wake(self.free, &self.spec);
            let own = self.own_sets(rank);
            self.sets[own].iter_mut().for_each(|set| set.wake(self.free, &self.spec));
            let (clock, kind) = (self.free, Kind::SelfRefreshExit);
            self.send(Command { clock, kind, rank: rank as u8, bank: 0, row: 0 });
        }
        self.stale = u64::MAX;
    }

    /// A command takes its clock of the bus, and its place in the log.
    fn send(&mut self, command: Command) {
        self.free = command.clock + self.spec.command;
        if let Some(log) = &mut self.log {
            log.push(command);
        }
    }

    /// When the next command goes; what is pushed before may change it.
    pub fn next_at(&mut self) -> Time {
        if self.asleep.is_some() {
            return Time::NEVER;
        }
        self.choose();
        self.time(self.next.clock)
    }

    /// Issues the command that goes next, if there is one.
    pub fn issue(&mut self) -> Option<Issued> {
        if self.asleep.is_some() {
            return None;
        }
        self.choose();
        self.is_chosen = false;
        let c = self.next;
        let rank = self.spec.rank_of(c.bank / BANKS);
        let bank_of_rank = (c.bank - self.own_sets(rank).start * BANKS) as u8;
        let (bank, mut row) = (c.bank, 0);
        match c.kind {
            Kind::Activate => {
                row = self.queues[usize::from(c.write)].oldest(bank).row;
                self.activate(&c, row);
            }
            Kind::Precharge => {
                let (set, bank) = (&mut self.sets[bank / BANKS], (bank % BANKS) as u8);
                set.precharge(c.clock, bank, &self.spec);
                set.follow(bank, Kind::Activate, self.free);
                self.counts.precharges += 1;
            }
            Kind::PrechargeAll | Kind::PrechargeSame => {
                self.precharge(c.clock, rank, self.ranks[rank].held(&self.spec));
            }
            Kind::Refresh | Kind::RefreshSame => {
                self.stale = u64::MAX;
                let (own, held) = (self.own_sets(rank), self.ranks[rank].held(&self.spec));
                self.sets[own].iter_mut().for_each(|set| set.refresh(c.clock, held, &self.spec));
                self.ranks[rank].refreshed(c.clock, &self.spec);
                self.counts.refreshes += 1;
            }
            Kind::Read | Kind::Write | Kind::SelfRefreshEntry | Kind::SelfRefreshExit => {}
        }
        // A request whose bank is closed and opened for it is followed; after others nothing is known of the bank.
        let is_followed = matches!(c.kind, Kind::Activate | Kind::Precharge);
        self.stale |= u64::from(!is_followed) << bank;
        let command = Command { clock: c.clock, kind: c.kind, rank: rank as u8, bank: bank_of_rank, row };
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

    /// The sets of a rank.
    #[inline]
    fn own_sets(&self, rank: usize) -> std::ops::Range<usize> {
        rank * self.spec.sets..(rank + 1) * self.spec.sets
    }

    fn sets_of(&self, rank: usize) -> &[BankSet] {
        &self.sets[self.own_sets(rank)]
    }

    /// Whether one of the `banks` of each set of a rank is open.
    fn open(&self, rank: usize, banks: u32) -> bool {
        self.sets_of(rank).iter().any(|set| set.open & banks != 0)
    }

    /// When those that are may be closed.
    fn precharge_from(&self, rank: usize, banks: u32) -> u64 {
        self.sets_of(rank).iter().map(|set| set.precharge_from(banks)).max().unwrap_or(0)
    }

    /// Closes them.
    fn precharge(&mut self, clock: u64, rank: usize, banks: u32) {
        for number in self.own_sets(rank) {
            self.sets[number].precharge_all(clock, banks, &self.spec);
            let bits = u64::from(banks) << (number * BANKS);
            self.owed.iter_mut().for_each(|owed| *owed &= !bits);
            self.stale |= bits;
        }
    }

    /// Opens `row` for the oldest request of its bank.
    fn activate(&mut self, c: &Chosen, row: u32) {
        let (s, number, bank) = (&self.spec, c.bank / BANKS, (c.bank % BANKS) as u8);
        let rank = s.rank_of(number);
        let by_window = self.ranks[rank].activate(c.clock, s);
        for (n, set) in self.sets.iter_mut().enumerate().skip(rank * s.sets).take(s.sets) {
            if n == number {
                set.activate(c.clock, bank, row, by_window, s);
                set.follow(bank, Kind::column(c.write), self.free);
            } else {
                set.activated_beside(c.clock, by_window, s);
            }
        }
        self.owed[usize::from(c.write)] |= 1 << c.bank;
        self.counts.activates += 1;
    }

    /// The request that a column command serves: its tag, and when a read's data is there.
    fn column(&mut self, c: &Chosen) -> (u32, Option<Done>) {
        let (s, write) = (&self.spec, c.write);
        let number = c.bank / BANKS;
        let free = c.clock + s.burst + if write { s.cwl } else { s.cl };
        for (n, set) in self.sets.iter_mut().enumerate() {
            if n == number {
                set.column(c.clock, (c.bank % BANKS) as u8, write, s);
            } else if s.rank_of(n) == s.rank_of(number) {
                set.column_beside(c.clock, write, s);
            } else {
                set.bus_taken(free, s);
            }
        }
        let (bank, index) = (c.bank, self.sets[number].needs.index[c.bank % BANKS]);
        self.owed.iter_mut().for_each(|owed| *owed &= !(1 << bank));
        let waiting = self.queues[usize::from(write)].take(bank, index);
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

    /// Makes `next` the command that goes next.
    #[inline]
    fn choose(&mut self) {
        if !self.is_chosen {
            self.choose_anew();
            self.is_chosen = true;
        }
    }

    fn choose_anew(&mut self) {
        self.choose_direction();
        let owed = self.owed[usize::from(!self.writing)];
        let banks = self.queues[usize::from(self.writing)].banks | owed;
        self.find_needs(banks);
        let (best, refresh) = self.first_of(banks);
        let clock = self.free + best.wait as u64;
        if best.wait == NEVER || clock >= refresh {
            // Looking at the refresh of a rank goes over its banks: only when it could come first.
            let refresh = self.next_refresh();
            if best.wait == NEVER || clock >= refresh.clock {
                self.next = refresh;
                return;
            }
        }
        let kind = self.sets[best.bank / BANKS].needs.kind[best.bank % BANKS];
        self.next = Chosen { clock, kind, write: self.serves(best.bank), bank: best.bank };
    }

    /// Whether a bank serves writes next: those to whom it is owed go before the others.
    #[inline]
    fn serves(&self, bank: usize) -> bool {
        self.writing ^ (self.owed[usize::from(!self.writing)] >> bank & 1 != 0)
    }

    /// The first of the commands that `banks` need, before the refresh of their rank begins; and when the first rank
    /// stops serving requests for its refresh.
    #[inline]
    fn first_of(&self, banks: u64) -> (First, u64) {
        let (mut best, mut first_refresh, postponed) = (First::NONE, u64::MAX, self.postponed());
        for (number, set) in self.sets.iter().enumerate() {
            let refresh = self.ranks[self.spec.rank_of(number)].due + postponed;
            first_refresh = first_refresh.min(refresh);
            let own = (banks >> (number * BANKS)) as u32 & ALL;
            let mut first = set.first(own, self.free, self.sequence);
            if self.spec.same_bank.is_some() && self.free + (first.wait as u64) >= refresh {
                first = self.first_beside_refresh(number, own);
            } else if self.free + (first.wait as u64) >= refresh {
                continue;
            }
            if first.goes_before(&best) {
                best = first;
                best.bank += number * BANKS;
            }
        }
        (best, first_refresh)
    }

    /// The first of the commands that `banks` of a set need, of those that go on being served. Apart, so that what is asked for
    /// every command stays short.
    #[cold]
    fn first_beside_refresh(&self, number: usize, banks: u32) -> First {
        self.sets[number].first(banks & self.beside_refresh(number), self.free, self.sequence)
    }

    /// The banks of a set that go on being served while the refresh of one of each group is due. Once those are closed,
    /// no row is opened before the refresh has gone: each ACTIVATE would put it off.
    fn beside_refresh(&self, number: usize) -> u32 {
        let rank = self.spec.rank_of(number);
        let held = self.ranks[rank].held(&self.spec);
        let opens = if self.open(rank, held) { 0 } else { self.sets[number].needs.activates() };
        !(held | opens)
    }

    /// Writes wait until many are there, or nothing else is.
    #[inline]
    fn choose_direction(&mut self) {
        let [reads, writes] = [&self.queues[0], &self.queues[1]].map(|queue| queue.len);
        let enough = if self.writing { self.spec.queue } else { self.spec.queue * 4 };
        let writing = writes > 0 && (reads == 0 || writes * 5 >= enough);
        if writing != self.writing {
            (self.writing, self.stale) = (writing, u64::MAX);
        }
    }

    /// Clocks from when a refresh is due until its rank stops serving requests for it.
    fn postponed(&self) -> u64 {
        if self.is_idle() { 0 } else { self.spec.postponed * self.spec.refi }
    }

    fn next_refresh(&self) -> Chosen {
        let kinds = match self.spec.same_bank {
            Some(_) => [Kind::PrechargeSame, Kind::RefreshSame],
            None => [Kind::PrechargeAll, Kind::Refresh],
        };
        let each = self.ranks.iter().enumerate().map(|(number, rank)| {
            let held = rank.held(&self.spec);
            let (kind, from) = if self.open(number, held) {
                (kinds[0], self.precharge_from(number, held))
            } else {
                (kinds[1], rank.refresh_from(self.sets_of(number), &self.spec))
            };
            let clock = (rank.due + self.postponed()).max(from).max(self.free);
            let bank = self.own_sets(number).start * BANKS + rank.next as usize;
            Chosen { clock, kind, write: false, bank }
        });
        each.min_by_key(|c| c.clock).expect("a channel has a rank")
    }

    /// Finds what the stale ones of `banks` need: each has requests of the direction it serves.
    #[inline]
    fn find_needs(&mut self, banks: u64) {
        let mut stale = self.stale & banks;
        self.stale &= !banks;
        while stale != 0 {
            self.find_need(stale.trailing_zeros() as usize);
            stale &= stale - 1;
        }
    }

    fn find_need(&mut self, number: usize) {
        let write = self.serves(number);
        let (set, bank) = (&mut self.sets[number / BANKS], number % BANKS);
        let queue = &self.queues[usize::from(write)];
        let oldest = queue.oldest(number).sequence;
        let (kind, sequence, index) = match set.banks[bank].open {
            None => (Kind::Activate, oldest, 0),
            Some(row) => match queue.hit(number, row) {
                Some((index, sequence)) => (Kind::column(write), sequence, index),
                None => (Kind::Precharge, oldest, 0),
            },
        };
        let from = set.bank_allows(bank as u8, kind).max(self.free);
        set.needs.set(bank, kind, from, sequence, index);
    }
}
