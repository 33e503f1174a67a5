//! Memory mode: DRAM in front of a DIMM, as a direct-mapped cache of its lines.
//!
//! ```text
//!   controller --> [tag check: the DRAM's line is read] --the line itself--> data
//!                        | another line's
//!                        v
//!        [DIMM queues: misses to read, changed lines to write] --> DIMM --> data, and into the DRAM
//! ```
//!
//! A line's tag lies beside its data, so that who looks it up reads the DRAM: a hit is that read, and the line that a miss
//! replaces is there when it has to be written back. A write looks too, and one that misses has its line fetched first.

use crate::Dimm;
use crate::dimm_queue::DimmQueue;
use crate::stats::CacheStats;
use crate::tags::Tags;
use memory::ddr4::Interleave;
use memory::{Media, QueuedMedia};
use protocol::{Line, StatSink};
use units::{Dur, Time};

/// What the cache is made of.
#[derive(Clone, Copy, Debug)]
pub struct CacheSpec {
    /// Lines of DRAM before the DIMM.
    pub lines: u64,
    /// Requests that are between the controller's queues and their data.
    pub underway: usize,
    /// Changed lines waiting for the DIMM, from which they and misses take turns.
    pub drain_threshold: usize,
    /// Which lines are this DIMM's.
    pub interleave: Interleave,
}

/// A request that the DRAM is read for, or the DIMM.
#[derive(Clone, Copy, Debug)]
struct Underway {
    line: Line,
    write: bool,
    tag: u32,
}

/// A DIMM with DRAM in front of it.
pub struct CachedDimm {
    spec: CacheSpec,
    dram: Box<dyn QueuedMedia>,
    dimm: DimmQueue,
    tags: Tags,
    /// Requests by the number that the DRAM has them by.
    underway: Vec<Option<Underway>>,
    /// Lines on their way from the DIMM, and when they are there, where the DIMM has been asked.
    fetched: Vec<(Line, Option<Time>)>,
    /// Requests for lines of which that is not known yet.
    joined: Vec<usize>,
    /// Lines that are to be written to the DRAM, and from when on.
    fills: Vec<(Time, Line)>,
    /// Reads that the DRAM has answered, until they are looked at.
    checked: Vec<(u32, Time)>,
    stats: CacheStats,
}

impl CachedDimm {
    /// A DIMM behind an empty cache. The DRAM's lines are numbered from zero.
    pub fn new(spec: CacheSpec, dram: Box<dyn QueuedMedia>, dimm: Dimm) -> CachedDimm {
        CachedDimm {
            spec,
            dram,
            dimm: DimmQueue::new(dimm, spec.drain_threshold),
            tags: Tags::new(spec.lines, spec.interleave),
            underway: vec![None; spec.underway],
            fetched: Vec::with_capacity(spec.underway),
            joined: Vec::with_capacity(spec.underway),
            fills: Vec::with_capacity(2 * spec.underway),
            checked: Vec::with_capacity(spec.underway),
            stats: CacheStats::default(),
        }
    }

    /// The DRAM's line has been read for request `number`, at `at`. Gives a read's tag and when it has its data, where that
    /// is known.
    fn check(&mut self, number: usize, at: Time) -> Option<(u32, Time)> {
        let request = self.underway[number]?;
        let hit = self.tags.holds(request.line);
        self.stats.count(request.write, hit);
        if !hit {
            self.replace(request.line, at);
        }
        match self.fetched.iter().find(|(line, _)| hit && *line == request.line) {
            None if hit => self.finish(number, at),
            Some((_, Some(there))) => self.finish(number, at.max(*there)),
            Some((_, None)) | None => {
                self.joined.push(number);
                None
            }
        }
    }

    /// A line is asked of the DIMM at `at`, and whatever is in its place makes way.
    fn replace(&mut self, line: Line, at: Time) {
        if let Some(old) = self.tags.replace(line) {
            self.stats.writebacks += 1;
            self.dimm.write(at, old);
        }
        self.fetched.retain(|(known, _)| *known != line);
        self.fetched.push((line, None));
        self.dimm.read(at, line);
    }

    /// A request has its line at `at`: a read is answered, a write goes to the DRAM.
    fn finish(&mut self, number: usize, at: Time) -> Option<(u32, Time)> {
        let request = self.underway[number].take()?;
        if !request.write {
            return Some((request.tag, at));
        }
        if self.tags.change(request.line) {
            self.fills.push((at, request.line));
        } else {
            // It has been pushed out meanwhile, and what was written goes with it.
            self.dimm.write(at, request.line);
        }
        None
    }

    /// The DIMM has a line at `there`: whoever waits for it goes on.
    fn arrives(&mut self, line: Line, there: Time, done: &mut dyn FnMut(u32, Time)) {
        self.fetched.iter_mut().filter(|(known, _)| *known == line).for_each(|f| f.1 = Some(there));
        if self.tags.holds(line) {
            self.fills.push((there, line));
        }
        let waits = |own: &Self, number: usize| own.underway[number].is_some_and(|u| u.line == line);
        while let Some(index) = self.joined.iter().position(|number| waits(self, *number)) {
            let number = self.joined.remove(index);
            if let Some((tag, at)) = self.finish(number, there) {
                done(tag, at);
            }
        }
    }

    /// When something happens next, the DRAM's own commands among it.
    fn next(&mut self) -> Time {
        let fills = self.fills.iter().map(|(at, _)| *at).min();
        let fills = fills.filter(|_| self.dram.has_room(true)).unwrap_or(Time::NEVER);
        self.dram.look_at(true).min(fills).min(self.dimm.next())
    }

    /// Everything that happens at `now`.
    fn step(&mut self, now: Time, done: &mut dyn FnMut(u32, Time)) {
        let mut checked = std::mem::take(&mut self.checked);
        self.dram.advance(now, &mut |number, at| checked.push((number, at)));
        for (number, at) in checked.drain(..) {
            if let Some((tag, at)) = self.check(number as usize, at) {
                done(tag, at);
            }
        }
        self.checked = checked;
        while let Some((line, there)) = self.dimm.serve(now) {
            if let Some(there) = there {
                self.arrives(line, there, done);
            }
        }
        self.fill(now);
        self.fetched.retain(|(_, there)| there.is_none_or(|at| at > now));
    }

    /// Writes to the DRAM what is there for it at `now`.
    fn fill(&mut self, now: Time) {
        while self.dram.has_room(true) {
            let Some(index) = self.fills.iter().position(|(at, _)| *at <= now) else { return };
            let (_, line) = self.fills.remove(index);
            self.dram.push(now, self.tags.place(line), true, u32::MAX);
        }
    }
}

impl QueuedMedia for CachedDimm {
    /// Whatever it is, the DRAM is read for it first.
    fn has_room(&self, _: bool) -> bool {
        let behind = self.fills.len().max(self.dimm.waiting_writes());
        behind < self.spec.underway && self.dram.has_room(false) && self.underway.iter().any(Option::is_none)
    }

    fn push(&mut self, now: Time, line: Line, write: bool, tag: u32) -> Option<Time> {
        let number = self.underway.iter().position(Option::is_none).expect("who asks has looked for room");
        self.underway[number] = Some(Underway { line, write, tag });
        // What waits to be written to the DRAM is at hand.
        let at = self.dram.push(now, self.tags.place(line), false, number as u32)?;
        self.check(number, at).map(|(_, at)| at)
    }

    fn advance(&mut self, to: Time, done: &mut dyn FnMut(u32, Time)) {
        loop {
            let next = self.next();
            if next > to {
                break;
            }
            self.step(next, done);
        }
        // While no request waits the DRAM's refreshes are no next event; whoever asks now is not to wait for all of them.
        self.step(to, done);
    }

    fn look_at(&mut self, _: bool) -> Time {
        self.next()
    }

    /// The DRAM forgets all of them.
    fn each_unwritten(&self, _: Time, _: &mut dyn FnMut(u32)) {}

    fn least_read(&self) -> Dur {
        self.dram.least_read()
    }

    fn stats(&self, sink: &mut dyn StatSink) {
        self.dram.stats(sink);
        self.dimm.dimm().stats(sink);
        self.stats.hand_up(sink);
    }

    fn media_bytes(&self) -> Option<[u64; 2]> {
        Some(self.dimm.media_bytes())
    }
}
