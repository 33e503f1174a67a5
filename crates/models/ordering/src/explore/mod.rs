//! Persist paths, small enough to see everything that can happen. What a model brings is a [`Member`].
//!
//! ```text
//!   scripts -> core sides --Flush, Commit--> controller sides -> images
//!                 ^  ^---Ack, Nack, CommitAck---|
//!                 |--CrossDependencyResolved, TimestampRegister, Publish, Timestamp (each pair of ends its own wire, in order)
//! ```
//!
//! Each core stores to any line, an epoch at a time, and ends with a dfence; which line is part of what is
//! explored, and so is every order of sending and delivering. The fence at the end of an epoch follows its last
//! store at once where it finds room. Lines are named in the order of their first use where each has a controller
//! of its own, since they are alike. Modelled: what the core and controller sides do, in any order of delivery, with a power failure
//! after every step. Coherence is reduced to its effect: a store to a line that another core wrote last gets
//! that core's epoch tag at once. Under release persistency a store may be an exchange, which acquires and releases; each line
//! is one core's for plain stores, and all exchange it where nothing races. Not modelled: evictions, loads.

mod media;
mod promise;
mod releases;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use promise::Promise;
pub use state::State;
pub use step::{Step, Wire};

use crate::{CrossCore, Dependences, PathSpec};
use explore::{Bound, Given, Protocol};
use protocol::{AddressMap, Among, ControllerOrdering, CoreOrdering, Line, Msg, PM_BASE, line_of};
use std::fmt::Debug;
use std::hash::Hash;
use units::{Dur, Time};

/// What a model brings to be explored: its two sides, and what it promises.
pub trait Member: Copy + Debug + Hash {
    /// The side beside each core.
    type Core: CoreOrdering + Clone + Hash;
    /// The side at each controller.
    type Table: ControllerOrdering + Clone + Hash;
    /// What all cores can address, besides.
    type TimestampRegister: TimestampRegister + Clone + Hash;

    /// What must hold when the power fails.
    const PROMISE: Promise;
    /// What orders cores.
    const CROSS_CORE: CrossCore = CrossCore::Conflicts;
    /// Flushes of all cores to a controller arrive in the order in which they were sent, and so do its answers.
    const ONE_WIRE: bool = false;

    /// A core's side, idle.
    fn core(&self, path: PathSpec) -> Self::Core;
    /// A controller's side, empty.
    fn table(&self) -> Self::Table;
    /// When a core's own timer ends, beside its flushes; [`Time::NEVER`] where it has none.
    fn timer(core: &Self::Core) -> Time {
        let _ = core;
        Time::NEVER
    }
}

/// What stands at the other end of [`protocol::Peer::TimestampRegister`].
pub trait TimestampRegister {
    /// The register of so many cores.
    fn of(cores: usize) -> Self;
    /// A core's message; the answer, if there is one.
    fn on(&mut self, core: u8, msg: &Msg) -> Option<Msg>;
}

/// A model without such a register.
impl TimestampRegister for () {
    fn of(_: usize) {}

    fn on(&mut self, _: u8, _: &Msg) -> Option<Msg> {
        None
    }
}

/// The size of what is explored.
#[derive(Clone, Copy, Debug)]
pub struct PathSpace<M> {
    /// Cores, 1 to 4.
    pub cores: usize,
    /// Controllers, 1 to 4.
    pub controllers: usize,
    /// Lines, one after the other over the controllers, 1 to 8.
    pub lines: usize,
    /// Epochs of each core, 1 to 8.
    pub epochs: usize,
    /// Stores of each epoch, 1 to 4.
    pub stores: usize,
    /// Entries of a persist buffer.
    pub persist_buffer: usize,
    /// Entries of an epoch table, at least 2.
    pub epoch_table: usize,
    /// The model.
    pub model: M,
}

/// Cores that store.
pub const CORES: Bound = Bound::number("cores", 2, 1, MOST_CORES as u64, "Cores");
/// The most cores.
const MOST_CORES: usize = 4;
/// The most controllers.
const MOST_CONTROLLERS: usize = 4;
/// The most lines.
const MOST_LINES: usize = 8;
/// Controllers of persistent memory.
pub const CONTROLLERS: Bound =
    Bound::number("controllers", 2, 1, MOST_CONTROLLERS as u64, "Memory controllers");
/// Lines that are stored to.
pub const LINES: Bound =
    Bound::number("lines", 2, 1, MOST_LINES as u64, "Cache lines, spread over the controllers");
/// Epochs of each core.
pub const EPOCHS: Bound = Bound::number("epochs", 3, 1, 8, "Epochs of each core");
/// Stores in each epoch.
pub const STORES: Bound = Bound::number("stores", 1, 1, 4, "Stores in each epoch");
/// Room beside each core.
pub const PERSIST_BUFFER: Bound = Bound::number("persist-buffer", 1, 1, 64, "Entries of each persist buffer");
/// Epochs in flight.
pub const EPOCH_TABLE: Bound = Bound::number("epoch-table", 3, 2, 64, "Entries of each epoch table");

impl<M> PathSpace<M> {
    /// A small machine that is explored in seconds: two of everything, two epochs of one store.
    pub const fn small(model: M) -> PathSpace<M> {
        PathSpace {
            cores: 2,
            controllers: 2,
            lines: 2,
            epochs: 2,
            stores: 1,
            persist_buffer: 1,
            epoch_table: 3,
            model,
        }
    }

    /// As large as was asked for.
    pub(crate) fn of(given: &Given, model: M) -> PathSpace<M> {
        PathSpace {
            cores: given.number(&CORES),
            controllers: given.number(&CONTROLLERS),
            lines: given.number(&LINES),
            epochs: given.number(&EPOCHS),
            stores: given.number(&STORES),
            persist_buffer: given.number(&PERSIST_BUFFER),
            epoch_table: given.number(&EPOCH_TABLE),
            model,
        }
    }

    fn map(&self) -> AddressMap {
        AddressMap::new(self.controllers, 1, 64)
    }

    /// Whether the next thing a core does is a store.
    fn stores_next(&self, done: usize) -> bool {
        done < self.epochs * (self.stores + 1) && done % (self.stores + 1) < self.stores
    }

    /// A core's stores, fences and the dfence at the end.
    fn script(&self) -> usize {
        self.epochs * (self.stores + 1) + 1
    }

    fn path(&self, core: u8, cross_core: CrossCore) -> PathSpec {
        PathSpec {
            core,
            map: self.map(),
            persist_buffer: self.persist_buffer,
            epoch_table: self.epoch_table,
            flush_issue: Dur::ZERO,
            flush_trigger: 1,
            flush_timer: Dur::ZERO,
            cross_core,
            dependences: Dependences::Stores,
        }
    }

    /// What a core may store next.
    fn stores(&self, state: &State<M>, core: usize, steps: &mut Vec<Step>)
    where
        M: Member,
    {
        if M::CROSS_CORE == CrossCore::Acquires {
            for line in 0..self.lines {
                let own = self.lines >= self.cores && line % self.cores == core;
                let known = state.releases.knows(core, state.log[line].last());
                steps.extend((own && known).then_some(Step::Store { core, line }));
                let may = known || state.log[line].last().is_some_and(|w| w.releases);
                steps.extend(may.then_some(Step::Exchange { core, line }));
            }
            return;
        }
        let unused = state.log.iter().position(|writes| writes.is_empty()).unwrap_or(self.lines);
        let alike = self.lines <= self.controllers;
        let lines = if alike { self.lines.min(unused + 1) } else { self.lines };
        steps.extend((0..lines).map(|line| Step::Store { core, line }));
    }
}

fn line(index: usize) -> Line {
    line_of(PM_BASE + index as u64 * 64)
}

impl<M: Member> Protocol for PathSpace<M> {
    type State = State<M>;
    type Step = Step;

    fn start(&self) -> State<M> {
        let cores =
            (0..self.cores as u8).map(|core| self.model.core(self.path(core, M::CROSS_CORE))).collect();
        let table = |own| {
            let mut table = self.model.table();
            table.among(Among { own, controllers: self.controllers, cores: self.cores });
            table
        };
        let tables = (0..self.controllers).map(table).collect();
        State::new(cores, tables, M::TimestampRegister::of(self.cores), self.lines)
    }

    fn steps(&self, state: &State<M>, steps: &mut Vec<Step>) {
        for core in 0..self.cores {
            if self.stores_next(state.done[core]) {
                self.stores(state, core, steps);
            } else if state.done[core] < self.script() {
                steps.push(Step::Fence(core));
            }
            if state.cores[core].next() <= state.clock.now(core) {
                steps.push(Step::Flush(core));
            }
            if M::timer(&state.cores[core]) != Time::NEVER {
                steps.push(Step::Timer(core));
            }
        }
        steps.extend(state.has_news.then_some(Step::Tell));
        steps.extend(state.wires.ends().map(Step::Deliver));
    }

    fn step(&self, state: &State<M>, step: Step) -> State<M> {
        let mut next = state.clone();
        next.clock.pass();
        match step {
            Step::Store { core, line } | Step::Exchange { core, line } => {
                let exchanges = matches!(step, Step::Exchange { .. });
                if next.store(core, line, exchanges).is_none() {
                    next = state.clone();
                    next.wait(core, line, exchanges);
                    return next;
                }
                if !self.stores_next(next.done[core]) {
                    next.fence(core, next.done[core] + 1 == self.script());
                }
            }
            Step::Fence(core) => next.fence(core, next.done[core] + 1 == self.script()),
            Step::Flush(core) => next.tick(core),
            Step::Timer(core) => {
                next.clock.reach(core, M::timer(&next.cores[core]));
                next.tick(core);
            }
            Step::Tell => next.tell(),
            Step::Deliver(wire) => next.deliver(wire),
        }
        next
    }

    fn check_power_failure(&self, state: &State<M>) -> Result<(), String> {
        M::PROMISE.check(state)
    }

    fn is_final(&self, state: &State<M>) -> bool {
        state.wires.is_empty()
            && state.done.iter().all(|d| *d == self.script())
            && state.cores.iter().all(|core| core.level() == 0)
    }

    fn check_final(&self, state: &State<M>) -> Result<(), String> {
        let memory = state.after_power_failure();
        match (0..self.lines).find(|l| memory[*l] != state.log[*l].len()) {
            Some(l) => Err(format!("at the end line {l} holds its write {}, not its last", memory[l])),
            None => Ok(()),
        }
    }
}
