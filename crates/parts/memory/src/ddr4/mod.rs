//! A DDR4 channel: ranks of banks that open rows, a scheduler, and refresh.
//!
//! ```text
//!   push --> read queue  --+
//!   push --> write queue --+--> first ready, first come --> command bus --> banks --> data bus --> Done
//!                     refresh due --> PRECHARGE ALL, REFRESH --^
//! ```
//!
//! Modelled: ACTIVATE, READ, WRITE, PRECHARGE, PRECHARGE ALL and REFRESH with the timing of JESD79-4; open pages; among the
//! commands that can go first, column commands before row commands and older requests before younger ones (FR-FCFS);
//! reads before writes, until 80 % of the write queue is taken or no read waits, then writes down to 20 %, but a row that
//! was opened for a request serves it first; all-bank refresh at tREFI, which closes the rank, with postponement while
//! requests wait; reads of lines whose write waits.
//!
//! Not modelled: power-down and self-refresh, per-device differences, error correction, ODT and calibration.
//!
//! Cost: one decision for each command, over the banks that have requests; nothing between commands.
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
pub use spec::Spec;

use protocol::Full;
use queue::{Queue, Waiting};
use rank::Rank;
use spec::{BANKS, BURST};
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
    chosen: Option<Chosen>,
    sequence: u64,
    counts: Counts,
    log: Option<Vec<Command>>,
}

/// The command that goes next, unless a request comes before.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    clock: u64,
    class: Class,
    /// Arrival of the request it serves.
    sequence: u64,
    rank: u8,
    bank: u8,
    /// For a write.
    write: bool,
    /// In its bank's queue, for column commands.
    index: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Refresh,
    Column,
    Row,
}

impl Channel {
    /// A channel with every bank closed.
    ///
    /// # Errors
    /// What is impossible about `spec`.
    pub fn new(spec: Spec) -> Result<Channel, String> {
        spec.check()?;
        Ok(Channel {
            ranks: vec![Rank::new(spec.refi); spec.ranks],
            reads: Queue::new(spec.ranks * BANKS, spec.queue),
            writes: Queue::new(spec.ranks * BANKS, spec.queue),
            writing: false,
            owed: [0; 2],
            free: 0,
            chosen: None,
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

    /// Whether a request finds room.
    pub fn has_room(&self, write: bool) -> bool {
        if write { self.writes.has_room() } else { self.reads.has_room() }
    }

    /// Takes a request in at `at`. A read of a line whose write waits is answered at once.
    ///
    /// # Errors
    /// The queue is full.
    pub fn push(&mut self, at: Time, request: Request) -> Result<Option<Done>, Full> {
        let clock = at.ps().div_ceil(self.spec.clock_ps);
        let place = Place::of(request.line, &self.spec);
        let bank = place.rank as usize * BANKS + place.bank as usize;
        if !request.write && self.writes.holds(bank, place) {
            self.counts.forwarded += 1;
            self.counts.read_clocks += self.spec.controller;
            return Ok(Some(Done { tag: request.tag, at: self.time(clock + self.spec.controller) }));
        }
        if request.write && self.writes.holds(bank, place) {
            return Ok(None);
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
        self.sequence += 1;
        self.free = self.free.max(clock);
        self.chosen = None;
        Ok(None)
    }

    /// When the next command goes; what is pushed before may change it.
    pub fn next(&mut self) -> Time {
        let clock = self.choose().clock;
        self.time(clock)
    }

    /// Issues the command that goes next. Gives the read that it completes.
    pub fn issue(&mut self) -> Option<Done> {
        let c = self.choose();
        self.chosen = None;
        self.free = c.clock + 1;
        let (s, rank) = (self.spec, &mut self.ranks[c.rank as usize]);
        let (bank, mut row) = (c.rank as usize * BANKS + c.bank as usize, 0);
        match c.kind {
            Kind::Activate => {
                row = self.queue(c.write).oldest(bank).row;
                self.owed[usize::from(c.write)] |= 1 << bank;
                self.ranks[c.rank as usize].activate(c.clock, c.bank, row, &s);
                self.counts.activates += 1;
            }
            Kind::Precharge => {
                rank.precharge(c.clock, c.bank, &s);
                self.counts.precharges += 1;
            }
            Kind::PrechargeAll => {
                (0..BANKS as u8).for_each(|bank| rank.precharge(c.clock, bank, &s));
                let all = 0xFFFF << (c.rank as usize * BANKS);
                self.owed.iter_mut().for_each(|owed| *owed &= !all);
            }
            Kind::Refresh => {
                rank.refresh(c.clock, &s);
                self.counts.refreshes += 1;
            }
            Kind::Read | Kind::Write => {}
        }
        if let Some(log) = &mut self.log {
            log.push(Command { clock: c.clock, kind: c.kind, rank: c.rank, bank: c.bank, row });
        }
        if c.class == Class::Column { self.column(&c) } else { None }
    }

    /// Issues every command that goes before `to`, and tells of each read that is done.
    pub fn advance(&mut self, to: Time, done: &mut impl FnMut(Done)) {
        while self.next() < to {
            if let Some(d) = self.issue() {
                done(d);
            }
        }
    }

    fn column(&mut self, c: &Chosen) -> Option<Done> {
        let (s, write) = (self.spec, c.write);
        self.ranks[c.rank as usize].column(c.clock, c.bank, write, &s);
        let free = c.clock + BURST + if write { s.cwl } else { s.cl };
        for (_, other) in self.ranks.iter_mut().enumerate().filter(|(r, _)| *r != c.rank as usize) {
            other.bus_taken(free, &s);
        }
        let bank = c.rank as usize * BANKS + c.bank as usize;
        self.owed.iter_mut().for_each(|owed| *owed &= !(1 << bank));
        let queue = if write { &mut self.writes } else { &mut self.reads };
        let waiting = queue.take(bank, c.index);
        if write {
            self.counts.writes += 1;
            return None;
        }
        self.counts.reads += 1;
        let clock = free + s.controller;
        self.counts.read_clocks += clock - waiting.arrived;
        Some(Done { tag: waiting.tag, at: self.time(clock) })
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
        let mut best = self.next_refresh();
        let mut banks = self.queue(self.writing).banks | self.owed[0] | self.owed[1];
        while banks != 0 {
            let bank = banks.trailing_zeros() as usize;
            banks &= banks - 1;
            let owed = |write: bool| self.owed[usize::from(write)] >> bank & 1 == 1;
            let candidate =
                self.candidate(bank, if owed(!self.writing) { !self.writing } else { self.writing });
            let key = |c: &Chosen| (c.clock, c.class, c.sequence);
            if candidate.clock < self.refresh_begins(candidate.rank) && key(&candidate) < key(&best) {
                best = candidate;
            }
        }
        self.chosen = Some(best);
        best
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
    fn refresh_begins(&self, rank: u8) -> u64 {
        let waits = self.reads.len + self.writes.len > 0;
        self.ranks[rank as usize].due + if waits { self.spec.postponed * self.spec.refi } else { 0 }
    }

    fn next_refresh(&self) -> Chosen {
        let each = self.ranks.iter().zip(0..).map(|(rank, number)| {
            let (kind, from) = if rank.open_banks > 0 {
                (Kind::PrechargeAll, rank.precharge_all_from())
            } else {
                (Kind::Refresh, rank.refresh_from())
            };
            let clock = self.refresh_begins(number).max(from).max(self.free);
            let class = Class::Refresh;
            Chosen { clock, class, sequence: 0, rank: number, bank: 0, write: false, index: 0, kind }
        });
        each.min_by_key(|c| c.clock).expect("a channel has a rank")
    }

    /// What the requests of a bank need next.
    #[inline]
    fn candidate(&self, bank: usize, write: bool) -> Chosen {
        let (number, bank_in_rank) = ((bank / BANKS) as u8, (bank % BANKS) as u8);
        let (rank, queue) = (&self.ranks[number as usize], self.queue(write));
        let (from, class, kind, sequence, index) = match rank.banks[bank_in_rank as usize].open {
            Some(row) => match queue.hit(bank, row) {
                Some((index, sequence)) => {
                    let kind = if write { Kind::Write } else { Kind::Read };
                    (rank.column_from(bank_in_rank, write), Class::Column, kind, sequence, index)
                }
                None => {
                    let sequence = queue.oldest(bank).sequence;
                    (rank.precharge_from(bank_in_rank), Class::Row, Kind::Precharge, sequence, 0)
                }
            },
            None => {
                let sequence = queue.oldest(bank).sequence;
                (rank.activate_from(bank_in_rank), Class::Row, Kind::Activate, sequence, 0)
            }
        };
        let clock = from.max(self.free);
        Chosen { clock, class, sequence, rank: number, bank: bank_in_rank, write, index, kind }
    }
}
