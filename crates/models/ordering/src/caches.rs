//! Caches, the directory and the controller that a machine has, every interleaving of what cores ask of them.
//!
//! ```text
//!   scripts: store or load, clwb, sfence -> directory --Write, Read--> ingress queue -> memory
//!      caches <--Data, Snoop, CleanAck---------^------Written, CleanAck------|
//! ```
//!
//! Each core reads or writes a line, and where flushes count flushes it and fences, so often; caches write lines back whenever they like. The
//! directory is the one of a run, with its transactions, owners and write-backs under way; the cores here do no more than
//! hold lines, answer its snoops, and count what is not acknowledged. A write survives once the controller has taken it
//! out of its ingress queue; reads pass that queue and see what is in it.
//!
//! What must hold at every power failure is the member's: when a fence has passed, whatever had been written to a line before
//! its core flushed it is in memory, whoever wrote it ([`Promise::Fenced`]); or whatever was written is saved, from memory, from
//! a cache or on its way between them ([`Promise::Visible`]). Nothing gets stuck. Not modelled: non-temporal stores, clflush.

use cpu::directory::Mutant;
use cpu::{CacheShape, Directory, DirectorySpec};
use engine::{Device, Engine, Link, Mode, NodeId, PortId};
use explore::{Bound, Explored, Given, Mutants, Protocol, Wires};
use protocol::{
    AddressMap, Block, Depth, Grant, Image, Line, LineWrite, Mask, Msg, Node, PM_BASE, PostCrash, Snoop,
    View, line_of, messages,
};
use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::marker::PhantomData;
use units::{Dur, Time};

/// What must hold at every power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// What a core has flushed and fenced is in memory.
    Fenced,
    /// What is visible survives; there is nothing to flush.
    Visible,
}

/// What a model brings.
pub trait CachesMember: Copy + Debug {
    /// Its name.
    const NAME: &'static str;
    /// What is explored, in a line.
    const MEANING: &'static str;
    /// What must hold.
    const PROMISE: Promise;
    /// Mistakes that break it.
    const MUTANTS: Mutants<Mutant>;
}

/// The size of what is explored.
#[derive(Clone, Copy, Debug)]
pub struct CacheSpace<M> {
    /// Cores.
    pub cores: usize,
    /// Lines.
    pub lines: usize,
    /// Lines that the shared cache has room for.
    pub ways: usize,
    /// Accesses of each core, with their fences.
    pub epochs: usize,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
    /// Whose exploration it is.
    pub member: PhantomData<M>,
}

impl<M> CacheSpace<M> {
    /// Two cores with an access each; of two lines one leaves the shared cache for the other.
    pub const SMALL: CacheSpace<M> =
        CacheSpace { cores: 2, lines: 2, ways: 1, epochs: 1, mutant: None, member: PhantomData };
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A core begins with a line: reads it, or writes it.
    Access {
        /// The core.
        core: usize,
        /// The line.
        line: usize,
        /// Whether it writes.
        write: bool,
    },
    /// A core flushes the line.
    Flush(usize),
    /// A core passes a fence.
    Fence(usize),
    /// A core's cache writes a line back.
    Evict(usize, usize),
    /// What is first on a wire arrives.
    Deliver(Wire),
}

/// Two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wire {
    /// A core to the directory.
    Up(usize),
    /// The directory to a core.
    Down(usize),
    /// The directory to the controller.
    Memory,
    /// The controller's ingress queue.
    Ingress,
    /// The controller to the directory.
    Answer,
    /// The controller to a core.
    Acknowledge(usize),
    /// The directory's own timer.
    Timer,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Access { core, line, write: true } => write!(f, "core {core} stores to line {line}"),
            Step::Access { core, line, write: false } => write!(f, "core {core} loads line {line}"),
            Step::Flush(core) => write!(f, "core {core} flushes its line"),
            Step::Fence(core) => write!(f, "core {core} passes its fence"),
            Step::Evict(core, line) => write!(f, "core {core}'s cache writes line {line} back"),
            Step::Deliver(Wire::Up(core)) => write!(f, "the directory hears of core {core}"),
            Step::Deliver(Wire::Down(core)) => write!(f, "core {core} hears of the directory"),
            Step::Deliver(Wire::Memory) => write!(f, "the controller hears of the directory"),
            Step::Deliver(Wire::Ingress) => write!(f, "the controller takes a write"),
            Step::Deliver(Wire::Answer) => write!(f, "the directory hears of the controller"),
            Step::Deliver(Wire::Acknowledge(core)) => write!(f, "core {core} gets an acknowledgement"),
            Step::Deliver(Wire::Timer) => write!(f, "the directory looks again"),
        }
    }
}

/// Where a core's script stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Access,
    /// It waits for a line.
    Miss {
        line: usize,
        write: bool,
    },
    Flush {
        line: usize,
    },
    Fence {
        line: usize,
    },
}

/// A line in a core's cache: its value, and MESI but for what is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Held {
    Shared(u8),
    Exclusive(u8),
    Modified(u8),
}

impl Held {
    fn value(self) -> u8 {
        let (Held::Shared(value) | Held::Exclusive(value) | Held::Modified(value)) = self;
        value
    }
}

#[derive(Clone, Debug, Hash)]
struct Core {
    at: At,
    cache: BTreeMap<usize, Held>,
    /// Flushes that are not acknowledged.
    unacknowledged: usize,
    /// The number of the last write of its line when it flushed it.
    flushed: u8,
    fences: usize,
}

/// Where everything stands.
#[derive(Clone, Hash)]
pub struct State {
    cores: Vec<Core>,
    directory: Directory,
    memory: Vec<u8>,
    wires: Wires<Wire, Msg>,
    /// Writes of each line so far; the first writes 1, the second 2.
    writes: Vec<u8>,
    /// The write of each line that some fence has promised.
    promised: Vec<u8>,
    wrong: Option<String>,
}

fn line(index: usize) -> Line {
    line_of(PM_BASE + index as u64 * 64)
}

fn index(line: Line) -> usize {
    (line.0 - PM_BASE / 64) as usize
}

impl<M: CachesMember> CacheSpace<M> {
    fn directory(&self) -> Directory {
        let spec = DirectorySpec {
            cores: self.cores as u8,
            shape: CacheShape { sets: 1, ways: self.ways, latency: Dur::ns(1), index: cpu::Index::Modulo },
            latency: Dur::ns(1),
            snoop: Dur::ns(1),
            retry: Dur::ns(1),
            replacement: cpu::Replacement::Lru,
            keeps_data: true,
            caches_persist: M::PROMISE == Promise::Visible,
        };
        Directory::seeded(spec, AddressMap::new(1, 0, 4096), self.mutant)
    }

    /// The directory hears a message, and what it says goes on the wires.
    fn tell(&self, state: &mut State, port: usize, msg: &Msg) {
        let me = NodeId(self.cores as u16);
        let link = |n: usize| Link { to: NodeId(n as u16), port: PortId(0), latency: Dur::ZERO };
        let mut links = vec![Vec::new(); self.cores + 2];
        links[self.cores] = (0..self.cores).chain([self.cores + 1]).map(link).collect();
        let mut engine: Engine<Msg> = Engine::new(links, 0, Mode::Fast, Dur::ZERO);
        state.directory.on(Time::ZERO, PortId(port as u8), msg, &mut engine.out(me, Time::ZERO));
        let mut said = Msg::Wake;
        while let Some((_, to, _)) = engine.next(&mut said) {
            let wire = match usize::from(to.0) {
                core if core < self.cores => Wire::Down(core),
                controller if controller > self.cores => Wire::Memory,
                _ => Wire::Timer,
            };
            state.wires.send(wire, said);
        }
        if let Some(fault) = engine.fault() {
            state.wrong.get_or_insert_with(|| fault.what.clone());
        }
    }

    fn deliver(&self, state: &mut State, wire: Wire) {
        let Some(msg) = state.wires.take(wire) else { return };
        match wire {
            Wire::Up(core) => self.tell(state, core, &msg),
            Wire::Answer | Wire::Timer => self.tell(state, self.cores, &msg),
            Wire::Down(core) | Wire::Acknowledge(core) => state.core_hears(core, &msg),
            Wire::Memory => state.controller_hears(msg),
            Wire::Ingress => state.controller_takes(&msg),
        }
    }
}

impl State {
    /// A core has its line: the access is made.
    fn reach(&mut self, core: usize, at: usize, write: bool) {
        let own = &mut self.cores[core];
        let held = own.cache.get(&at).copied();
        let seen = held.map_or(0, Held::value);
        if write {
            if seen != self.writes[at] {
                self.wrong = Some(format!("core {core} owns line {at} with its write {seen}, not the last"));
            }
            self.writes[at] += 1;
            own.cache.insert(at, Held::Modified(self.writes[at]));
        }
        own.at = At::Flush { line: at };
    }

    /// Where nothing is flushed, the access is all.
    fn pass(&mut self) {
        for core in &mut self.cores {
            if matches!(core.at, At::Flush { .. }) {
                (core.at, core.fences) = (At::Access, core.fences + 1);
            }
        }
    }

    /// The number of the write that each line holds after a power failure that caches survive.
    fn saved(&self) -> Vec<u8> {
        let mut post_crash = PostCrash::new(true);
        let mut image = Image::new(PM_BASE);
        let lines = (0..self.memory.len()).map(line);
        lines.zip(&self.memory).for_each(|(l, value)| image.write(l, &[*value; 64], Mask::MAX));
        post_crash.parts.push(image);
        self.directory.post_crash(View::Durable, &mut post_crash);
        for (at, held) in self.cores.iter().flat_map(|core| &core.cache) {
            if let Held::Modified(value) = held {
                let write = LineWrite { line: line(*at), mask: Mask::MAX, data: [*value; 64] };
                post_crash.save(Depth::Private, Time::ZERO, &write);
            }
        }
        // What waits at the controller left the directory before what is on its way there.
        for waits in [true, false] {
            let msgs = self.wires.iter().filter(|(wire, _)| (*wire == Wire::Ingress) == waits);
            for (_, msg) in msgs {
                if let Some((depth, write)) = msg.leaves_a_cache() {
                    post_crash.save(depth, Time::ZERO, &write);
                }
            }
        }
        let images = post_crash.settle_in_place(&AddressMap::new(1, 0, 4096));
        (0..self.memory.len()).map(|l| images[0].read(line(l))[0]).collect()
    }

    fn access(&mut self, core: usize, at: usize, write: bool) {
        let held = self.cores[core].cache.get(&at);
        let enough = match held {
            Some(Held::Shared(_)) => !write,
            Some(Held::Exclusive(_) | Held::Modified(_)) => true,
            None => false,
        };
        if enough {
            return self.reach(core, at, write);
        }
        let line = line(at);
        self.cores[core].at = At::Miss { line: at, write };
        self.wires.send(Wire::Up(core), if write { Msg::GetM { line } } else { Msg::GetS { line } });
    }

    fn flush(&mut self, core: usize, at: usize) {
        let own = &mut self.cores[core];
        let mut data = None;
        if let Some(Held::Modified(value)) = own.cache.get(&at).copied() {
            own.cache.insert(at, Held::Exclusive(value));
            data = Some([value; 64]);
        }
        (own.flushed, own.unacknowledged) = (self.writes[at], own.unacknowledged + 1);
        own.at = At::Fence { line: at };
        self.wires.send(Wire::Up(core), Msg::LineFlush { line: line(at), data, invalidate: false });
    }

    fn core_hears(&mut self, core: usize, msg: &Msg) {
        match *msg {
            Msg::Data { line, data, grant, .. } => {
                let (at, value) = (index(line), data[0]);
                let held = if grant == Grant::Shared { Held::Shared(value) } else { Held::Exclusive(value) };
                self.cores[core].cache.insert(at, held);
                if let At::Miss { line, write } = self.cores[core].at
                    && line == at
                {
                    self.reach(core, at, write);
                }
            }
            Msg::Snoop { line, kind } => self.snooped(core, line, kind),
            Msg::CleanAck { .. } => self.cores[core].unacknowledged -= 1,
            // Nobody orders epochs here.
            Msg::AddDependent { .. } => {}
            Msg::CrossDependencyResolved { .. }
            | messages!(timers | requests | memory | persists | acknowledgements | timestamps)
            | messages!(uncached | near) => protocol::unexpected("a core", msg),
        }
    }

    fn snooped(&mut self, core: usize, line: Line, kind: Snoop) {
        let cache = &mut self.cores[core].cache;
        let held = cache.remove(&index(line));
        let data: Option<Block> = match held {
            Some(Held::Modified(value)) => Some([value; 64]),
            Some(Held::Shared(_) | Held::Exclusive(_)) | None => None,
        };
        if let (Some(held), Snoop::Share) = (held, kind) {
            cache.insert(index(line), Held::Shared(held.value()));
        }
        self.wires.send(Wire::Up(core), Msg::SnoopReply { line, data, tag: None, held: false });
    }

    fn controller_hears(&mut self, msg: Msg) {
        match msg {
            Msg::Read { line } => {
                let queued = self.wires.iter().filter_map(|(wire, queued)| {
                    let Msg::Write { line: of, data, mask, .. } = *queued else { return None };
                    (wire == Wire::Ingress && of == line).then_some((data[0], mask))
                });
                let queued: Vec<(u8, u64)> = queued.collect();
                let last = queued.iter().rfind(|(_, mask)| *mask != 0).map(|(value, _)| *value);
                let value = last.unwrap_or(self.memory[index(line)]);
                let waits = !queued.is_empty();
                self.wires.send(Wire::Answer, Msg::ReadReply { line, data: [value; 64], waits });
            }
            Msg::Write { .. } => self.wires.send(Wire::Ingress, msg),
            messages!(timers | caches | answers | recalls | ordering | uncached | near) => {
                protocol::unexpected("a controller", &msg)
            }
        }
    }

    /// A write is durable.
    fn controller_takes(&mut self, msg: &Msg) {
        let Msg::Write { line, data, mask, ack, .. } = *msg else { return };
        if mask != 0 {
            self.memory[index(line)] = data[0];
        }
        if let Some(core) = ack {
            self.wires.send(Wire::Answer, Msg::Written { line });
            self.wires.send(Wire::Acknowledge(core.into()), Msg::CleanAck { line });
        }
    }
}

impl<M: CachesMember> Protocol for CacheSpace<M> {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        let cache = BTreeMap::new();
        let core = Core { at: At::Access, cache, unacknowledged: 0, flushed: 0, fences: 0 };
        State {
            cores: vec![core; self.cores],
            directory: self.directory(),
            memory: vec![0; self.lines],
            wires: Wires::new(),
            writes: vec![0; self.lines],
            promised: vec![0; self.lines],
            wrong: None,
        }
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        for (core, own) in state.cores.iter().enumerate() {
            match own.at {
                At::Access if own.fences < self.epochs => {
                    let lines = (0..self.lines).flat_map(|line| [false, true].map(|write| (line, write)));
                    steps.extend(lines.map(|(line, write)| Step::Access { core, line, write }));
                }
                At::Access | At::Miss { .. } => {}
                At::Flush { .. } => steps.push(Step::Flush(core)),
                At::Fence { .. } if own.unacknowledged == 0 => steps.push(Step::Fence(core)),
                At::Fence { .. } => {}
            }
            let modified = own.cache.iter().filter(|(_, held)| matches!(held, Held::Modified(_)));
            steps.extend(modified.map(|(line, _)| Step::Evict(core, *line)));
        }
        steps.extend(state.wires.ends().map(Step::Deliver));
    }

    fn step(&self, state: &State, step: Step) -> State {
        let mut next = state.clone();
        match step {
            Step::Access { core, line, write } => next.access(core, line, write),
            Step::Flush(core) => {
                if let At::Flush { line } = next.cores[core].at {
                    next.flush(core, line);
                }
            }
            Step::Fence(core) => {
                let own = &mut next.cores[core];
                if let At::Fence { line } = own.at {
                    (own.at, own.fences) = (At::Access, own.fences + 1);
                    let promised = &mut next.promised[line];
                    *promised = own.flushed.max(*promised);
                    own.flushed = 0;
                }
            }
            Step::Evict(core, at) => {
                if let Some(Held::Modified(value)) = next.cores[core].cache.remove(&at) {
                    let data = [value; 64];
                    next.wires.send(Wire::Up(core), Msg::PutM { line: line(at), data });
                }
            }
            Step::Deliver(wire) => self.deliver(&mut next, wire),
        }
        if M::PROMISE == Promise::Visible {
            next.pass();
        }
        next
    }

    fn check(&self, state: &State) -> Result<(), String> {
        state.wrong.clone().map_or(Ok(()), Err)
    }

    fn check_power_failure(&self, state: &State) -> Result<(), String> {
        let (left, wanted, why) = match M::PROMISE {
            Promise::Fenced => (state.memory.clone(), &state.promised, "a fence has promised"),
            Promise::Visible => (state.saved(), &state.writes, "everybody sees"),
        };
        match (0..self.lines).find(|l| left[*l] < wanted[*l]) {
            Some(l) => {
                Err(format!("a power failure leaves write {} of line {l}, and {why} {}", left[l], wanted[l]))
            }
            None => Ok(()),
        }
    }

    fn is_final(&self, state: &State) -> bool {
        state.wires.is_empty() && state.cores.iter().all(|core| core.fences == self.epochs)
    }

    fn check_final(&self, _: &State) -> Result<(), String> {
        Ok(())
    }
}

const CORES: Bound = Bound::number("cores", 2, 1, 4, "Cores");
const LINES: Bound = Bound::number("lines", 2, 1, 4, "Cache lines");
const WAYS: Bound = Bound::number("ways", 1, 1, 4, "Lines that the shared cache has room for");
const EPOCHS: Bound = Bound::number("epochs", 1, 1, 8, "Fences of each core");

impl<M: CachesMember> Explored for CacheSpace<M> {
    const NAME: &'static str = M::NAME;
    const MEANING: &'static str = M::MEANING;
    const BOUNDS: &'static [Bound] = &[CORES, LINES, WAYS, EPOCHS];
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = M::MUTANTS;

    fn new(given: &Given, mutant: Option<Mutant>) -> CacheSpace<M> {
        CacheSpace {
            cores: given.number(&CORES),
            lines: given.number(&LINES),
            ways: given.number(&WAYS),
            epochs: given.number(&EPOCHS),
            mutant,
            member: PhantomData,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CacheSpace;
    use crate::eadr::SavingSpace;
    use crate::intel::FlushSpace;
    use explore::Held;

    #[test]
    fn what_is_fenced_is_durable_and_every_mutant_is_caught() {
        let small = FlushSpace::SMALL;
        Held {
            clean: vec![
                (small, 10_817),
                (CacheSpace { cores: 1, epochs: 2, ..small }, 379),
                (CacheSpace { lines: 1, epochs: 2, ..small }, 66_651),
            ],
            seeded: |mutant| CacheSpace { mutant: Some(mutant), ..FlushSpace::SMALL },
            wrong: &["a power failure"],
        }
        .holds();
    }

    #[test]
    fn what_is_visible_survives_where_caches_do_and_every_mutant_is_caught() {
        let small = SavingSpace::SMALL;
        Held {
            clean: vec![
                (small, 661),
                (CacheSpace { cores: 1, epochs: 4, ..small }, 2_981),
                (CacheSpace { epochs: 2, ..small }, 37_853),
            ],
            seeded: |mutant| CacheSpace { mutant: Some(mutant), epochs: 2, ..SavingSpace::SMALL },
            wrong: &["a power failure"],
        }
        .holds();
    }
}
