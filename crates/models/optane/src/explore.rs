//! What a DIMM's buffer does with lines that a controller has acknowledged, small enough to see everything that can happen.
//!
//! ```text
//!   program --writes--> write pending queue --in any order--> [buffer of blocks] --whole, or pushed out--> media
//!           <--reads------------- or from the buffer, or from the media
//! ```
//!
//! A program writes lines, and reads them, as long as it likes; a write is acknowledged when it is in the write pending queue, which ADR
//! saves. The queue sends lines to the DIMM in any order. Time passes when it likes, from one thing that happens in the DIMM to the next: a
//! block that is whole has taken what joins it, a block is in the media. The DIMM is a run's, which carries no bytes: they go here where it says
//! that they go.
//!
//! What must hold: a read gives what was written last, from the queue, the buffer or the media; when the power fails, in any state, the queue and
//! the buffer reach the media, and leave there what was acknowledged last. What has been pushed out of the buffer counts as in the media. Not
//! explored: how long the media take, translations, wear, memory mode (which promises nothing).

use crate::dimm::Leaving;
use crate::mutant::Mutant;
use crate::{Dimm, DimmSpec, TranslationSpec, WearSpec};
use explore::{Aside, Bound, Explored, Mutants, Protocol};
use memory::controller::blocks::{BLOCK_BYTES, BLOCK_LINES, Block};
use memory::{Cost, Media};
use protocol::Line;
use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use units::{Dur, Time};

/// The size of what is explored.
#[derive(Clone, Copy, Debug)]
pub struct BufferSpace {
    /// Blocks of the media that the program uses.
    pub blocks: u64,
    /// Blocks that the buffer holds.
    pub places: usize,
    /// Lines that the write pending queue holds.
    pub queue: usize,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

impl BufferSpace {
    /// Two blocks that share a place.
    pub const SMALL: BufferSpace = BufferSpace { blocks: 2, places: 1, queue: 1, mutant: None };

    /// A DIMM on which nothing takes time but the way of a block to the media.
    fn dimm(&self) -> Dimm {
        let spec = DimmSpec {
            buffer_blocks: self.places,
            bus: Dur::ZERO,
            line: Dur::ZERO,
            hit: Dur::ZERO,
            array: Dur::ZERO,
            read_service: Dur::ZERO,
            write_service: Dur::ZERO,
            linger: Dur::ps(2),
            settle: Dur::ps(2),
            ahead: Dur::ZERO,
            writes_ahead: Dur::ZERO,
            translation: TranslationSpec { pages: 4, miss: Dur::ZERO },
            wear: WearSpec { writes: u64::MAX / 2, stall: Dur::ZERO },
        };
        Dimm::seeded(spec, self.mutant)
    }
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// The program writes a line, and is told at once.
    Write(u64),
    /// The program reads a line.
    Read(u64),
    /// The write pending queue sends a line to the DIMM.
    Drain(u64),
    /// Time passes.
    Pass,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |line: &u64| format!("line {} of block {}", line % BLOCK_LINES, line / BLOCK_LINES);
        match self {
            Step::Write(line) => write!(f, "the program writes {} and is told at once", of(line)),
            Step::Read(line) => write!(f, "the program reads {}", of(line)),
            Step::Drain(line) => write!(f, "the controller sends {} to the DIMM", of(line)),
            Step::Pass => write!(f, "the device goes on with what is on its way"),
        }
    }
}

/// A block on its way to the media.
#[derive(Clone)]
struct Flight {
    block: u64,
    /// Until then, what is written to the buffer goes with it; from `settled` on the media has it.
    joined_until: Time,
    settled: Time,
    /// Of each line, whether this has what was written last.
    newest: [bool; BLOCK_LINES as usize],
}

/// Where what was written last to a line is, besides the queue and the way to the media.
#[derive(Clone, Copy, Hash)]
struct Copies {
    buffer: bool,
    media: bool,
}

/// Where everything stands. What is older than what was written last counts as one: it may surface nowhere.
#[derive(Clone)]
pub struct State {
    now: Time,
    dimm: Dimm,
    queue: BTreeSet<u64>,
    /// How many lines of each block the program has written: lines that are alike are named in the order of first use.
    used: Vec<u64>,
    lines: Vec<Copies>,
    flights: Vec<Flight>,
    wrong: Aside<Option<String>>,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let State { now, dimm, queue, used, lines, flights, wrong } = self;
        dimm.hash_at(*now, into);
        (queue, used, lines, wrong.is_some()).hash(into);
        for Flight { block, joined_until, settled, newest } in flights {
            (block, joined_until.since(*now), settled.since(*now), newest).hash(into);
        }
    }
}

fn lines_of(block: u64) -> impl Iterator<Item = (usize, u64)> {
    (0..BLOCK_LINES as usize).map(move |nth| (nth, block * BLOCK_LINES + nth as u64))
}

/// What was at a place before it did something.
type Place = (u64, Block, Leaving);

impl State {
    fn copies(&mut self, line: u64) -> &mut Copies {
        &mut self.lines[line as usize]
    }

    fn write(&mut self, line: u64) {
        let (block, nth) = (line / BLOCK_LINES, line % BLOCK_LINES);
        *self.copies(line) = Copies { buffer: false, media: false };
        self.flights.iter_mut().filter(|f| f.block == block).for_each(|f| f.newest[nth as usize] = false);
        self.used[block as usize] = self.used[block as usize].max(nth + 1);
        self.queue.insert(line);
    }

    fn drain(&mut self, line: u64) {
        self.queue.remove(&line);
        let before: Vec<Place> = self.dimm.blocks().collect();
        let cost = self.dimm.write(self.now, Line(line));
        let (block, nth) = (line / BLOCK_LINES, (line % BLOCK_LINES) as usize);
        let (index, own) = self.place(block);
        let leaves = before.get(index).is_none_or(|was| was.2 != own.2) && own.2.joined_until > self.now;
        self.pushed_out(&before, &cost, leaves);
        self.copies(line).buffer = true;
        let now = self.now;
        let joined = self.flights.iter_mut().filter(|f| f.block == block && now < f.joined_until);
        joined.for_each(|f| f.newest[nth] = true);
        if leaves {
            let mut newest = [false; BLOCK_LINES as usize];
            lines_of(block).for_each(|(nth, line)| newest[nth] = self.lines[line as usize].buffer);
            let Leaving { joined_until, settled, .. } = own.2;
            self.flights.push(Flight { block, joined_until, settled, newest });
        }
    }

    /// The place of a block in the buffer.
    ///
    /// # Panics
    /// When it is not there: who asks has had it entered.
    fn place(&self, block: u64) -> (usize, Place) {
        let found = self.dimm.blocks().enumerate().find(|(_, place)| place.0 == block);
        found.expect("a line that was accessed has its block in the buffer")
    }

    /// What left the buffer is in the media, as far as the DIMM has written it; `leaves`: it has written another block, too.
    fn pushed_out(&mut self, before: &[Place], cost: &Cost, leaves: bool) {
        let gone = before.iter().find(|was| self.dimm.blocks().all(|is| is.0 != was.0));
        let Some((block, bits, _)) = gone else { return };
        let (on_its_way, flights) = self.flights.drain(..).partition(|f| f.block == *block);
        self.flights = flights;
        let on_its_way: Vec<Flight> = on_its_way;
        on_its_way.iter().for_each(|flight| self.settle(flight));
        let is_written = cost.bytes_written / BLOCK_BYTES > u64::from(leaves);
        for (nth, line) in lines_of(*block) {
            let copies = self.copies(line);
            if is_written && bits.dirty >> nth & 1 == 1 {
                copies.media = copies.buffer;
            }
            copies.buffer = false;
        }
    }

    fn settle(&mut self, flight: &Flight) {
        for (nth, line) in lines_of(flight.block) {
            self.copies(line).media = flight.newest[nth];
        }
    }

    fn read(&mut self, line: u64) {
        let before: Vec<Place> = self.dimm.blocks().collect();
        let cost = self.dimm.read(self.now, Line(line));
        self.pushed_out(&before, &cost, false);
        if cost.bytes_read > 0 {
            self.fill(line / BLOCK_LINES, self.now + cost.latency);
        }
        if !self.copies(line).buffer {
            let text = format!(
                "line {} of block {}: a read gives old bytes",
                line % BLOCK_LINES,
                line / BLOCK_LINES
            );
            self.wrong.0.get_or_insert(text);
        }
    }

    /// A block comes from the media as it is there at `at`; what was written to the buffer stays.
    fn fill(&mut self, block: u64, at: Time) {
        let (_, (_, own, _)) = self.place(block);
        for (nth, line) in lines_of(block).filter(|(nth, _)| own.dirty >> nth & 1 == 0) {
            let settled = self.flights.iter().rev().find(|f| f.block == block && f.settled <= at);
            let there = settled.map_or(self.lines[line as usize].media, |f| f.newest[nth]);
            self.copies(line).buffer = there;
        }
    }

    /// When something happens in the DIMM next.
    fn next(&self) -> Option<Time> {
        let all = self.flights.iter().flat_map(|f| [f.joined_until, f.settled]);
        all.filter(|at| *at > self.now).min()
    }

    fn pass(&mut self) {
        let Some(next) = self.next() else { return };
        self.now = next;
        let (done, flights) = self.flights.drain(..).partition(|f| f.settled <= next);
        self.flights = flights;
        let done: Vec<Flight> = done;
        done.iter().for_each(|flight| self.settle(flight));
    }

    /// Whether the media have what was written last to `line` when the power has failed, and the queue and the buffer have reached them.
    fn is_saved(&self, line: u64) -> bool {
        let (block, nth) = (line / BLOCK_LINES, (line % BLOCK_LINES) as usize);
        let is_dirty = |(number, own, _): Place| number == block && own.dirty >> nth & 1 == 1;
        let copies = &self.lines[line as usize];
        if self.queue.contains(&line) {
            return true;
        }
        if self.dimm.blocks().any(is_dirty) {
            return copies.buffer;
        }
        let flight = self.flights.iter().rev().find(|f| f.block == block);
        flight.map_or(copies.media, |f| f.newest[nth])
    }
}

impl Protocol for BufferSpace {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        State {
            now: Time::ZERO,
            dimm: self.dimm(),
            queue: BTreeSet::new(),
            used: vec![0; self.blocks as usize],
            // What nobody has written is the same everywhere.
            lines: vec![Copies { buffer: true, media: true }; (self.blocks * BLOCK_LINES) as usize],
            flights: Vec::new(),
            wrong: Aside(None),
        }
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        let used = state.used.iter().take_while(|lines| **lines > 0).count() as u64;
        for block in 0..self.blocks.min(used + 1) {
            let lines = BLOCK_LINES.min(state.used[block as usize] + 1);
            for line in (0..lines).map(|nth| block * BLOCK_LINES + nth) {
                if state.queue.contains(&line) {
                    continue;
                }
                if state.queue.len() < self.queue {
                    steps.push(Step::Write(line));
                }
                steps.push(Step::Read(line));
            }
        }
        steps.extend(state.queue.iter().map(|line| Step::Drain(*line)));
        if state.next().is_some() {
            steps.push(Step::Pass);
        }
    }

    fn step(&self, state: &State, step: Step) -> State {
        let mut next = state.clone();
        match step {
            Step::Write(line) => next.write(line),
            Step::Read(line) => next.read(line),
            Step::Drain(line) => next.drain(line),
            Step::Pass => next.pass(),
        }
        next
    }

    fn check(&self, state: &State) -> Result<(), String> {
        state.wrong.0.clone().map_or(Ok(()), Err)
    }

    fn check_power_failure(&self, state: &State) -> Result<(), String> {
        let lost = (0..self.blocks * BLOCK_LINES).find(|line| !state.is_saved(*line));
        lost.map_or(Ok(()), |line| {
            let (block, nth) = (line / BLOCK_LINES, line % BLOCK_LINES);
            Err(format!(
                "a power failure leaves old bytes in line {nth} of block {block}, which was acknowledged"
            ))
        })
    }

    fn is_final(&self, state: &State) -> bool {
        state.queue.is_empty()
    }

    fn check_final(&self, _: &State) -> Result<(), String> {
        Ok(())
    }
}

const BLOCKS: Bound = Bound::number("blocks", 2, 1, 3, "Blocks of the media that the program uses");
const PLACES: Bound = Bound::number("places", 1, 1, 3, "Blocks that the buffer holds");
const QUEUE: Bound = Bound::number("queue", 1, 1, 4, "Lines that the write pending queue holds");

impl Explored for BufferSpace {
    const NAME: &'static str = "optane";
    const MEANING: &'static str =
        "Optane: what was acknowledged, through the write pending queue and the DIMM's buffer of blocks";
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;

    explore::bounded!(BufferSpace { blocks: number(BLOCKS), places: number(PLACES), queue: number(QUEUE) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use explore::Held;

    #[test]
    fn what_was_acknowledged_is_read_and_survives_and_every_mutant_is_caught() {
        let small = BufferSpace::SMALL;
        Held {
            clean: vec![
                (BufferSpace { blocks: 1, ..small }, 336),
                (small, 6_694),
                (BufferSpace { queue: 2, ..small }, 22_028),
                (BufferSpace { places: 2, ..small }, 162_733),
            ],
            seeded: |mutant| BufferSpace { mutant: Some(mutant), ..BufferSpace::SMALL },
            wrong: &["a power failure", "line "],
        }
        .holds();
    }
}
