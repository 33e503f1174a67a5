//! PMEM-Spec's cores and controllers, every interleaving of them.
//!
//! ```text
//!   core: store, release --persist path--> controller <--evicted, read, gone-- caches
//!      ^---- told: read too early, gone; durable ---|---- take it out of caches --^
//! ```
//!
//! Each core stores to lines of its own, and every core to one word that it releases on; who takes that word acquires. So
//! programs are free of races. Any core does next whatever it likes, and a line that may leave its core leaves it, through all
//! caches, when it likes; what it wants it reads again. Here a read that is too early gives old bytes. A line's window ends at
//! any time after every store that was on its way has come.
//!
//! What must hold: a core that releases has read nothing too early that it did not make up for; who takes the word takes the
//! last one. At every power failure a store that is in memory finds there all stores of its core before it, and all that came
//! before what its core has acquired. Not modelled: a controller's own queue.

mod state;

use super::Mutant;
use explore::{Bound, Explored, Mutants, Protocol, Texts};
use protocol::{AddressMap, CoreOrdering};
use state::State;
use std::fmt;
use units::Time;

/// The size of what is explored.
#[derive(Clone, Copy, Debug)]
pub struct SpecSpace {
    /// Cores.
    pub cores: usize,
    /// Controllers of persistent memory.
    pub controllers: usize,
    /// Lines, spread over the controllers; the first one has the word.
    pub lines: usize,
    /// What all cores do together.
    pub operations: usize,
    /// Evictions, of all lines together.
    pub evictions: usize,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

impl SpecSpace {
    /// Two cores and controllers, the word and a line of each core.
    pub const SMALL: SpecSpace =
        SpecSpace { cores: 2, controllers: 2, lines: 3, operations: 4, evictions: 1, mutant: None };

    fn map(&self) -> AddressMap {
        AddressMap::new(self.controllers, 1, 64)
    }
}

/// What a core does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Stores to a line of its own.
    Store(usize),
    /// Asks for a line of its own that no cache has.
    Read(usize),
    /// Takes the word, from another core or from memory.
    Acquire,
    /// Releases on the word.
    Release,
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A core does something.
    Core(usize, Does),
    /// A persist path sends a store.
    Send(usize),
    /// A line leaves all caches.
    Evict(usize),
    /// The window of a line ends at its controller.
    Expire(usize),
    /// A core has made up for what it read too early.
    MadeUp(usize),
    /// What is first on a wire arrives.
    Deliver(Wire),
}

/// Two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wire {
    /// A core to a controller.
    Path(usize, usize),
    /// Caches to a controller.
    Memory(usize),
    /// A controller to caches.
    Caches(usize),
    /// A controller to a core.
    Told(usize, usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Core(core, Does::Store(line)) => write!(f, "core {core} stores to line {line}"),
            Step::Core(core, Does::Read(line)) => write!(f, "core {core} asks for line {line}"),
            Step::Core(core, Does::Acquire) => write!(f, "core {core} acquires the word"),
            Step::Core(core, Does::Release) => write!(f, "core {core} releases the word"),
            Step::Send(core) => write!(f, "core {core} sends a store on its path"),
            Step::Evict(line) => write!(f, "line {line} leaves the caches"),
            Step::Expire(line) => write!(f, "the window of line {line} ends"),
            Step::MadeUp(core) => write!(f, "core {core} has made up for what it read too early"),
            Step::Deliver(Wire::Path(core, c)) => write!(f, "controller {c} takes a store of core {core}"),
            Step::Deliver(Wire::Memory(c)) => write!(f, "controller {c} hears of the caches"),
            Step::Deliver(Wire::Caches(c)) => write!(f, "the caches hear of controller {c}"),
            Step::Deliver(Wire::Told(core, c)) => write!(f, "core {core} hears of controller {c}"),
        }
    }
}

impl Protocol for SpecSpace {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        State::new(self)
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        for core in 0..self.cores {
            if state.done < self.operations && state.goes_on(core) {
                let own = (1..self.lines).filter(|line| state.owner(*line) == core);
                steps.extend(
                    own.flat_map(|l| [Does::Store(l), Does::Read(l)]).map(|does| Step::Core(core, does)),
                );
                steps.extend([Does::Acquire, Does::Release].map(|does| Step::Core(core, does)));
            }
            if state.side(core).next() != Time::NEVER {
                steps.push(Step::Send(core));
            }
            if state.can_make_up(core) {
                steps.push(Step::MadeUp(core));
            }
        }
        if state.evicted < self.evictions {
            steps.extend((0..self.lines).filter(|l| state.may_leave(*l)).map(Step::Evict));
        }
        steps.extend((0..self.lines).filter(|l| state.may_expire(*l)).map(Step::Expire));
        steps.extend(state.wires.ends().filter(|wire| state.may_deliver(*wire)).map(Step::Deliver));
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
            Step::Send(core) => next.send(core),
            Step::Evict(line) => next.evict(line),
            Step::Expire(line) => next.expire(line),
            Step::MadeUp(core) => next.make_up(core),
            Step::Deliver(wire) => next.deliver(wire),
        }
        next
    }

    fn check(&self, state: &State) -> Result<(), String> {
        state.wrong.map_or(Ok(()), |wrong| Err(wrong.to_string()))
    }

    fn check_power_failure(&self, state: &State) -> Result<(), String> {
        state.check_power_failure()
    }

    fn is_final(&self, state: &State) -> bool {
        let is_idle = |core| state.side(core).level() == 0 && state.goes_on(core);
        state.done == self.operations && state.wires.is_empty() && (0..self.cores).all(is_idle)
    }

    fn check_final(&self, state: &State) -> Result<(), String> {
        state.check_final()
    }
}

const CORES: Bound = Bound::number("cores", 2, 1, 4, "Cores");
const CONTROLLERS: Bound = Bound::number("controllers", 2, 1, 4, "Memory controllers");
const LINES: Bound =
    Bound::number("lines", 3, 2, 6, "Cache lines, spread over the controllers; one has the word");
const OPERATIONS: Bound = Bound::number("operations", 4, 1, 8, "What all cores do together");
const EVICTIONS: Bound = Bound::number("evictions", 1, 0, 4, "Lines that leave all caches");

impl Explored for SpecSpace {
    const NAME: &'static str = "pmem-spec";
    const MEANING: &'static str =
        "PMEM-Spec: persist paths, lines that are read too early, cores that go back, releases";
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;
    // Two stores to a line, and between them a read.
    const SHOWN_WITH: &'static [(&'static str, Texts)] =
        &[("forgets-reads", &[("cores", "1"), ("evictions", "2")])];

    explore::bounded!(SpecSpace {
        cores: number(CORES),
        controllers: number(CONTROLLERS),
        lines: number(LINES),
        operations: number(OPERATIONS),
        evictions: number(EVICTIONS),
    });
}
