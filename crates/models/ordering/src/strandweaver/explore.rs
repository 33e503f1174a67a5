//! Strands of a few cores, every interleaving of what they ask for.
//!
//! ```text
//!   any core: store, clwb, barrier, new strand, join -> strand buffers --line--> wire of its controller -> memory
//!                                                            ^--------arrived--------------------------------|
//! ```
//!
//! Any core does next whatever it likes. Coherence is reduced to its effect: a store takes the line from whoever has it, once
//! that one lets it go, and caches write lines back whenever they may. Lines of all cores go to a controller on one wire, as
//! they go through the directory in a machine.
//!
//! What must hold at every power failure: a store that is in memory finds there all that was flushed before the last barrier
//! of its strand, or before the last join; when a core has joined, all that it flushed is there. Not modelled: flushes of lines
//! that a core has not changed, releases.

use super::{Mutant, StrandCore, StrandSpec};
use explore::{Bound, Explored, Mutants, Protocol, Texts, Wires};
use protocol::{
    AddressMap, CoreOrdering, EpochId, FenceKind, Flushed, Line, LineWrite, Mask, Msg, Outbox, PM_BASE, Peer,
    line_of,
};
use std::fmt;
use units::{Dur, Time};

/// The size of what is explored.
#[derive(Clone, Copy, Debug)]
pub struct StrandSpace {
    /// Cores.
    pub cores: usize,
    /// Controllers of persistent memory.
    pub controllers: usize,
    /// Lines, spread over the controllers.
    pub lines: usize,
    /// What all cores do together.
    pub operations: usize,
    /// Strand buffers of a core.
    pub strand_buffers: usize,
    /// Entries of each.
    pub strand_entries: usize,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

impl StrandSpace {
    /// Two of everything.
    pub const SMALL: StrandSpace = StrandSpace {
        cores: 2,
        controllers: 2,
        lines: 2,
        operations: 4,
        strand_buffers: 2,
        strand_entries: 3,
        mutant: None,
    };

    fn map(&self) -> AddressMap {
        AddressMap::new(self.controllers, 1, 64)
    }
}

/// What a core does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Stores to a line, and flushes it.
    Persist(usize),
    /// Stores to a line.
    Store(usize),
    /// Passes a fence: a barrier, a new strand, or a join.
    Fence(FenceKind),
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A core does something.
    Core(usize, Does),
    /// A strand buffer asks for a line.
    Send(usize),
    /// A core's caches write a line back.
    Evict(usize),
    /// What is first on a wire arrives.
    Deliver(Wire),
}

/// Two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wire {
    /// Caches to a controller.
    Memory(usize),
    /// A controller to a core.
    Arrived(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Core(core, Does::Persist(line)) => {
                write!(f, "core {core} stores to line {line} and flushes it")
            }
            Step::Core(core, Does::Store(line)) => write!(f, "core {core} stores to line {line}"),
            Step::Core(core, Does::Fence(FenceKind::NewStrand)) => write!(f, "core {core} begins a strand"),
            Step::Core(core, Does::Fence(FenceKind::JoinStrand)) => {
                write!(f, "core {core} joins its strands")
            }
            Step::Core(core, Does::Fence(_)) => write!(f, "core {core} passes a barrier"),
            Step::Send(core) => write!(f, "a strand buffer of core {core} asks for a line"),
            Step::Evict(line) => write!(f, "line {line} leaves its core"),
            Step::Deliver(Wire::Memory(c)) => write!(f, "controller {c} takes a line"),
            Step::Deliver(Wire::Arrived(core)) => write!(f, "core {core} hears that a line has arrived"),
        }
    }
}

/// For each line a number of writes of it, the first being 1.
type Writes = Vec<u8>;

fn join(into: &mut Writes, other: &Writes) {
    into.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

/// A core, and what the checker knows of its strands.
#[derive(Clone, Hash)]
struct Core {
    side: StrandCore,
    /// What a store that comes now has to come after.
    before: Writes,
    /// What was flushed on this strand since its last barrier.
    open: Writes,
    /// What every strand comes after.
    joined: Writes,
    /// All that was flushed.
    flushed: Writes,
}

/// A line in the caches.
#[derive(Clone, Hash)]
struct Cached {
    owner: usize,
    /// What the core side said of the last store.
    written: EpochId,
    /// Memory has older bytes.
    dirty: bool,
    /// What each write comes after.
    after: Vec<Writes>,
}

/// A line under way; the core that asked for it, if one did.
type Moving = (Option<usize>, usize, u8);

/// Where everything stands.
#[derive(Clone, Hash)]
pub struct State {
    cores: Vec<Core>,
    lines: Vec<Cached>,
    memory: Writes,
    /// What joins have promised.
    promised: Writes,
    wires: Wires<Wire, Moving>,
    done: usize,
}

fn line(index: usize) -> Line {
    line_of(PM_BASE + index as u64 * 64)
}

fn index(line: Line) -> usize {
    (line.0 - PM_BASE / 64) as usize
}

impl State {
    fn number(&self, line: usize) -> u8 {
        self.lines[line].after.len() as u8
    }

    /// A core stores to a line; none, and a state to throw away, where it has to wait.
    fn store(&mut self, core: usize, at: usize) -> Option<()> {
        let mut out = Outbox::default();
        let cached = &mut self.lines[at];
        if cached.owner != core {
            let owner = &mut self.cores[cached.owner].side;
            owner.snooped(Time::ZERO, line(at), cached.written, 0, &mut out).ok()?;
            cached.owner = core;
        }
        let write = LineWrite { line: line(at), mask: Mask::MAX, data: [0; 64] };
        let own = &mut self.cores[core];
        cached.written = own.side.store(Time::ZERO, &write, &mut out).ok()?;
        cached.dirty = true;
        cached.after.push(own.before.clone());
        Some(())
    }

    fn flush(&mut self, core: usize, at: usize) -> Option<()> {
        let number = self.number(at);
        let own = &mut self.cores[core];
        let taken = own.side.flush(Time::ZERO, line(at), true, false, &mut Outbox::default()).ok()?;
        if taken != Flushed::Taken {
            return None;
        }
        (own.open[at], own.flushed[at]) = (number, number);
        Some(())
    }

    fn fence(&mut self, core: usize, kind: FenceKind) -> Option<()> {
        let own = &mut self.cores[core];
        own.side.fence(Time::ZERO, kind, &mut Outbox::default()).ok()?;
        match kind {
            FenceKind::NewStrand => own.before = own.joined.clone(),
            FenceKind::JoinStrand => {
                own.joined = own.flushed.clone();
                own.before = own.joined.clone();
                join(&mut self.promised, &own.flushed);
            }
            FenceKind::Ofence | FenceKind::Sfence | FenceKind::Dfence | FenceKind::Mfence => {
                join(&mut own.before, &own.open);
            }
        }
        own.open.fill(0);
        Some(())
    }

    fn act(&mut self, core: usize, does: Does) -> Option<()> {
        match does {
            Does::Persist(at) => self.store(core, at).and_then(|()| self.flush(core, at))?,
            Does::Store(at) => self.store(core, at)?,
            Does::Fence(kind) => self.fence(core, kind)?,
        }
        self.done += 1;
        Some(())
    }

    /// A line leaves for its controller, with the bytes that it has now.
    fn write_back(&mut self, map: &AddressMap, core: Option<usize>, at: usize) {
        self.lines[at].dirty = false;
        let number = self.number(at);
        self.wires.send(Wire::Memory(map.controller(line(at))), (core, at, number));
    }

    fn send(&mut self, map: &AddressMap, core: usize) {
        let mut out = Outbox::default();
        self.cores[core].side.tick(Time::ZERO, &mut out);
        for (_, to, msg) in out.0 {
            let (Peer::Caches, Msg::WriteBack { line, .. }) = (to, &msg) else {
                protocol::unexpected("a strand buffer's wires", &msg)
            };
            self.write_back(map, Some(core), index(*line));
        }
    }

    fn may_leave(&self, at: usize) -> bool {
        let cached = &self.lines[at];
        let side = &self.cores[cached.owner].side;
        cached.dirty && cached.written <= side.committed() && !side.holds(line(at))
    }

    fn deliver(&mut self, wire: Wire) {
        let Some((core, at, number)) = self.wires.take(wire) else { return };
        match wire {
            Wire::Memory(_) => {
                self.memory[at] = number;
                if let Some(core) = core {
                    self.wires.send(Wire::Arrived(core), (None, at, number));
                }
            }
            Wire::Arrived(core) => {
                let arrived = Msg::CleanAck { line: line(at) };
                self.cores[core].side.on(Time::ZERO, Peer::Caches, &arrived, &mut Outbox::default());
            }
        }
    }

    /// What memory lacks of `wanted`.
    fn lacks(&self, wanted: &Writes) -> Option<(usize, u8)> {
        let lines = wanted.iter().enumerate().find(|(l, number)| self.memory[*l] < **number);
        lines.map(|(l, number)| (l, *number))
    }
}

impl Protocol for StrandSpace {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        let none = vec![0; self.lines];
        let spec = StrandSpec {
            persist_queue: self.operations,
            strand_buffers: self.strand_buffers,
            strand_entries: self.strand_entries,
            strand_issue_ns: Dur::ZERO,
        };
        let core = Core {
            side: StrandCore::new(&spec, self.mutant),
            before: none.clone(),
            open: none.clone(),
            joined: none.clone(),
            flushed: none.clone(),
        };
        let cached = Cached { owner: 0, written: 0, dirty: false, after: Vec::new() };
        State {
            cores: vec![core; self.cores],
            lines: vec![cached; self.lines],
            memory: none.clone(),
            promised: none,
            wires: Wires::new(),
            done: 0,
        }
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        for (core, own) in state.cores.iter().enumerate() {
            if state.done < self.operations {
                let lines = (0..self.lines).flat_map(|l| [Does::Persist(l), Does::Store(l)]);
                steps.extend(lines.map(|does| Step::Core(core, does)));
                // Where nothing was flushed there is nothing to come after.
                if own.flushed.iter().any(|number| *number > 0) {
                    let fences = [FenceKind::Ofence, FenceKind::NewStrand, FenceKind::JoinStrand];
                    steps.extend(fences.map(|kind| Step::Core(core, Does::Fence(kind))));
                }
            }
            if own.side.next() != Time::NEVER {
                steps.push(Step::Send(core));
            }
        }
        steps.extend((0..self.lines).filter(|l| state.may_leave(*l)).map(Step::Evict));
        steps.extend(state.wires.ends().map(Step::Deliver));
    }

    fn step(&self, state: &State, step: Step) -> State {
        let mut next = state.clone();
        match step {
            // What has to wait has no effect.
            Step::Core(core, does) => {
                if next.act(core, does).is_none() {
                    return state.clone();
                }
            }
            Step::Send(core) => next.send(&self.map(), core),
            Step::Evict(at) => next.write_back(&self.map(), None, at),
            Step::Deliver(wire) => next.deliver(wire),
        }
        next
    }

    fn check_power_failure(&self, state: &State) -> Result<(), String> {
        if let Some((l, number)) = state.lacks(&state.promised) {
            return Err(format!("a power failure loses write {number} of line {l}, which a join waited for"));
        }
        for (at, cached) in state.lines.iter().enumerate() {
            for (n, after) in cached.after.iter().enumerate().take(state.memory[at].into()) {
                if let Some((l, number)) = state.lacks(after) {
                    return Err(format!(
                        "a power failure keeps write {} of line {at} and loses write {number} of line {l}, which comes before it",
                        n + 1
                    ));
                }
            }
        }
        Ok(())
    }

    fn is_final(&self, state: &State) -> bool {
        let is_idle = |core: &Core| core.side.level() == 0;
        state.done == self.operations && state.wires.is_empty() && state.cores.iter().all(is_idle)
    }

    fn check_final(&self, state: &State) -> Result<(), String> {
        let lost = state.cores.iter().find_map(|core| state.lacks(&core.flushed));
        lost.map_or(Ok(()), |(l, n)| {
            Err(format!("at the end write {n} of line {l} was flushed and is not there"))
        })
    }
}

const CORES: Bound = Bound::number("cores", 2, 1, 4, "Cores");
const CONTROLLERS: Bound = Bound::number("controllers", 2, 1, 4, "Memory controllers");
const LINES: Bound = Bound::number("lines", 2, 1, 4, "Cache lines, spread over the controllers");
const OPERATIONS: Bound = Bound::number("operations", 4, 1, 8, "Stores and fences of all cores together");
const BUFFERS: Bound = Bound::number("strand-buffers", 2, 1, 4, "Strand buffers of each core");
const ENTRIES: Bound = Bound::number("strand-entries", 3, 1, 8, "Entries of each strand buffer");

impl Explored for StrandSpace {
    const NAME: &'static str = "strandweaver";
    const MEANING: &'static str =
        "StrandWeaver: strand buffers, barriers, joins, lines that change their core";
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;
    const SHOWN_WITH: &'static [(&'static str, Texts)] =
        &[("pass-old-store", &[("cores", "1"), ("operations", "5")])];

    explore::bounded!(StrandSpace {
        cores: number(CORES),
        controllers: number(CONTROLLERS),
        lines: number(LINES),
        operations: number(OPERATIONS),
        strand_buffers: number(BUFFERS),
        strand_entries: number(ENTRIES),
    });
}

#[cfg(test)]
mod tests {
    use super::{Mutant, StrandSpace};
    use explore::Held;

    #[test]
    fn strands_neither_get_stuck_nor_break_their_order_and_every_mutant_is_caught() {
        let small = StrandSpace::SMALL;
        Held {
            clean: vec![
                (StrandSpace { operations: 3, ..small }, 6_937),
                (
                    StrandSpace {
                        operations: 3,
                        controllers: 1,
                        strand_buffers: 1,
                        strand_entries: 1,
                        ..small
                    },
                    5_755,
                ),
                (StrandSpace { cores: 1, operations: 5, ..small }, 105_513),
            ],
            seeded: |mutant| match mutant {
                // Two stores to a line, a barrier, a new strand, and what they come after.
                Mutant::PassOldStore => {
                    StrandSpace { mutant: Some(mutant), cores: 1, operations: 5, ..StrandSpace::SMALL }
                }
                Mutant::IgnoreBarrier
                | Mutant::LeaveEarly
                | Mutant::OverwriteWaiting
                | Mutant::JoinNothing => StrandSpace { mutant: Some(mutant), ..StrandSpace::SMALL },
            },
            wrong: &["a power failure"],
        }
        .holds();
    }
}
