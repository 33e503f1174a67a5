//! ASAP's cores and recovery tables, small enough to see everything that can happen.
//!
//! ```text
//!   scripts -> core sides --Flush, Commit--> recovery tables -> images
//!                 ^  ^---Ack, Nack, CommitAck---|
//!                 |--CrossDependencyResolved, Register (each pair of ends its own wire, in order)
//! ```
//!
//! Each core stores to any line, an epoch at a time, and ends with a dfence; which line is part of what is
//! explored, and so is every order of sending and delivering. The fence at the end of an epoch follows its last
//! store at once where it finds room. Lines are named in the order of their first use where each has a controller
//! of its own, since they are alike. Modelled: what the core and controller sides do, in any order of delivery, with a power failure
//! after every step. Coherence is reduced to its effect: a store to a line that another core wrote last gets
//! that core's epoch tag at once. Not modelled: evictions, loads, release persistency.
//!
//! What must hold at every step is ASAP's Theorem 2 (§VI-B): every write of a committed epoch is in memory, and
//! no write of an epoch is without all that came before it. Theorem 1 (§VI-A) is that nothing gets stuck.

use super::{Fingerprint, System};
use ordering::asap::{AsapCore, Mutant, RecoverySpec, RecoveryTable};
use ordering::{AsapSpec, CrossCore, Dependences, PathSpec};
use protocol::{
    Accepted, AddressMap, ControllerOrdering, CoreOrdering, EpochTag, FenceKind, FlushRequest, Image, Line,
    LineWrite, Mask, Msg, Outbox, PM_BASE, Peer, line_of,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::hash::Hash;
use units::{Dur, Time};

/// The size of what is explored.
#[derive(Clone, Copy, Debug)]
pub struct AsapSpace {
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
    /// Entries of a recovery table.
    pub recovery_table: usize,
    /// Entries of a persist buffer.
    pub persist_buffer: usize,
    /// Entries of an epoch table, at least 2.
    pub epoch_table: usize,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A core stores to a line.
    Store {
        /// The core.
        core: usize,
        /// The line.
        line: usize,
    },
    /// A core reaches the fence at the end of an epoch, or of its program.
    Fence(usize),
    /// A core's persist buffer sends an entry.
    Flush(usize),
    /// The first message of a wire arrives.
    Deliver(Wire),
}

/// Two ends and a kind of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wire {
    /// Flushes of a core to a controller.
    Flush(usize, usize),
    /// Commits of a core to a controller.
    Commit(usize, usize),
    /// Answers to flushes, from a controller to a core.
    Answer(usize, usize),
    /// Answers to commits, from a controller to a core.
    Committed(usize, usize),
    /// Resolved dependences, from a core to a core.
    Resolved(usize, usize),
    /// The directory to a core.
    Register(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Store { core, line } => write!(f, "core {core} stores to line {line}"),
            Step::Fence(core) => write!(f, "core {core} reaches a fence"),
            Step::Flush(core) => write!(f, "core {core} flushes an entry"),
            Step::Deliver(Wire::Flush(h, c)) => write!(f, "controller {c} takes a flush of core {h}"),
            Step::Deliver(Wire::Commit(h, c)) => write!(f, "controller {c} takes a commit of core {h}"),
            Step::Deliver(Wire::Answer(c, h)) => {
                write!(f, "core {h} gets controller {c}'s answer to a flush")
            }
            Step::Deliver(Wire::Committed(c, h)) => {
                write!(f, "core {h} gets controller {c}'s answer to a commit")
            }
            Step::Deliver(Wire::Resolved(a, b)) => {
                write!(f, "core {b} learns that core {a}'s epoch committed")
            }
            Step::Deliver(Wire::Register(h)) => {
                write!(f, "core {h} learns that another depends on its epoch")
            }
        }
    }
}

/// A write as the checker knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Written {
    core: usize,
    epoch: u32,
}

/// Where everything stands.
#[derive(Clone)]
pub struct State {
    cores: Vec<AsapCore>,
    /// Stores and fences done, per core.
    done: Vec<usize>,
    tables: Vec<RecoveryTable>,
    images: Vec<Image>,
    wires: BTreeMap<Wire, VecDeque<Msg>>,
    /// For each line its writes, in the order in which they became visible; the first writes 1, the second 2.
    log: Vec<Vec<Written>>,
    /// Which epoch came after which, between cores.
    after: BTreeSet<((usize, u32), (usize, u32))>,
}

impl AsapSpace {
    /// A small machine that is explored in seconds: two of everything, two epochs of one store.
    pub const SMALL: AsapSpace = AsapSpace {
        cores: 2,
        controllers: 2,
        lines: 2,
        epochs: 2,
        stores: 1,
        recovery_table: 2,
        persist_buffer: 1,
        epoch_table: 3,
        mutant: None,
    };

    /// The bounds that keep an exploration meaningful.
    ///
    /// # Errors
    /// Which one does not hold.
    pub fn check_bounds(&self) -> Result<(), String> {
        let bounds = [
            ("cores", self.cores, 1, 4),
            ("controllers", self.controllers, 1, 4),
            ("lines", self.lines, 1, 8),
            ("epochs", self.epochs, 1, 8),
            ("stores", self.stores, 1, 4),
            ("recovery-table", self.recovery_table, 0, 64),
            ("persist-buffer", self.persist_buffer, 1, 64),
            ("epoch-table", self.epoch_table, 2, 64),
        ];
        for (name, value, least, most) in bounds {
            if !(least..=most).contains(&value) {
                return Err(format!("--{name} {value}: accepted are {least} to {most}"));
            }
        }
        Ok(())
    }

    fn map(&self) -> AddressMap {
        AddressMap::new(self.controllers, 1, 64)
    }

    fn core(&self, core: u8) -> AsapCore {
        let path = PathSpec {
            core,
            map: self.map(),
            persist_buffer: self.persist_buffer,
            epoch_table: self.epoch_table,
            flush_issue: Dur::ZERO,
            flush_trigger: 1,
            flush_timer: Dur::ZERO,
            cross_core: CrossCore::Conflicts,
            dependences: Dependences::Stores,
        };
        AsapCore::new(path, AsapSpec { eager: true, commit_pipelined: false, mutant: self.mutant })
    }

    fn table(&self) -> RecoveryTable {
        RecoveryTable::new(RecoverySpec {
            entries: self.recovery_table,
            undo_reads: true,
            delay_writes: true,
            nack_following: false,
            mutant: self.mutant,
        })
    }

    /// Whether the next thing a core does is a store.
    fn stores_next(&self, done: usize) -> bool {
        done < self.epochs * (self.stores + 1) && done % (self.stores + 1) < self.stores
    }

    /// A core's stores, fences and the dfence at the end.
    fn script(&self) -> usize {
        self.epochs * (self.stores + 1) + 1
    }

    fn line(index: usize) -> Line {
        line_of(PM_BASE + index as u64 * 64)
    }

    fn store(&self, state: &State, core: usize, line: usize) -> Option<State> {
        let mut next = state.clone();
        let at = AsapSpace::line(line);
        let last = next.log[line].last().copied();
        if let Some(w) = last.filter(|w| w.core != core) {
            let mut out = Outbox::default();
            let tag = next.cores[w.core].snooped(Time::ZERO, at, w.epoch, 0, &mut out).ok()?;
            next.route(w.core, out);
            if let Some(tag) = tag {
                let register = Msg::Register { epoch: tag.epoch, dependent: core as u8 };
                next.send(Wire::Register(tag.core as usize), register);
                let mut out = Outbox::default();
                next.cores[core].received(Time::ZERO, at, tag, true, &mut out).ok()?;
                next.route(core, out);
            }
        }
        let number = next.log[line].len() as u8 + 1;
        let write = LineWrite { line: at, mask: Mask::MAX, data: [number; 64] };
        let mut out = Outbox::default();
        let epoch = next.cores[core].store(Time::ZERO, &write, &mut out).ok()?;
        next.route(core, out);
        if let Some(w) = last.filter(|w| w.core != core) {
            next.after.insert(((core, epoch), (w.core, w.epoch)));
        }
        next.log[line].push(Written { core, epoch });
        next.done[core] += 1;
        Some(if self.stores_next(next.done[core]) { next } else { self.fence(&next, core) })
    }

    fn fence(&self, state: &State, core: usize) -> State {
        let mut next = state.clone();
        let last = next.done[core] + 1 == self.script();
        let kind = if last { FenceKind::Dfence } else { FenceKind::Ofence };
        let mut out = Outbox::default();
        let reached = next.cores[core].fence(Time::ZERO, kind, &mut out);
        next.route(core, out);
        next.done[core] += usize::from(reached.is_ok());
        next
    }

    fn deliver(&self, state: &State, wire: Wire) -> State {
        let mut next = state.clone();
        let Some(msg) = next.wires.get_mut(&wire).and_then(VecDeque::pop_front) else { return next };
        next.wires.retain(|_, queue| !queue.is_empty());
        match (wire, msg) {
            (Wire::Flush(h, c), Msg::Flush(request)) => {
                let slot = request.slot;
                let accepted = next.tables[c].flush(&request, &mut next.images[c]);
                let refused = accepted == Accepted::Refused;
                next.send(Wire::Answer(c, h), if refused { Msg::Nack { slot } } else { Msg::Ack { slot } });
            }
            (Wire::Commit(h, c), Msg::Commit { epoch }) => {
                next.tables[c].commit(h as u8, epoch, &mut next.images[c], &mut Vec::new());
                next.send(Wire::Committed(c, h), Msg::CommitAck { epoch });
            }
            (wire, msg) => {
                let (from, to) = match wire {
                    Wire::Answer(c, h) | Wire::Committed(c, h) => (Peer::Controller(c), h),
                    Wire::Resolved(a, b) => (Peer::Core(a as u8), b),
                    Wire::Register(h) | Wire::Flush(h, _) | Wire::Commit(h, _) => (Peer::Directory, h),
                };
                let mut out = Outbox::default();
                next.cores[to].on(Time::ZERO, from, &msg, &mut out);
                next.route(to, out);
            }
        }
        next
    }

    /// The number of the write that each line holds after a power failure, 0 for none.
    fn after_power_failure(&self, state: &State) -> Vec<usize> {
        let mut images = state.images.clone();
        for (table, image) in state.tables.iter().zip(&mut images) {
            table.power_fail(image);
        }
        let map = self.map();
        let value = |l: usize| images[map.controller(AsapSpace::line(l))].read(AsapSpace::line(l))[0];
        (0..self.lines).map(|l| value(l).into()).collect()
    }
}

impl State {
    fn send(&mut self, wire: Wire, msg: Msg) {
        self.wires.entry(wire).or_default().push_back(msg);
    }

    /// Puts on the wires what a core sent.
    fn route(&mut self, core: usize, out: Outbox) {
        for (_, to, msg) in out.0 {
            match (to, &msg) {
                (Peer::Controller(c), Msg::Flush(_)) => self.send(Wire::Flush(core, c), msg),
                (Peer::Controller(c), _) => self.send(Wire::Commit(core, c), msg),
                (Peer::Core(h), _) => self.send(Wire::Resolved(core, h.into()), msg),
                // The directory forgets tags; here it has none.
                _ => {}
            }
        }
    }

    /// Whether `epoch` of `core` is `of`, or comes after it.
    fn follows(&self, epoch: (usize, u32), of: (usize, u32), seen: &mut Vec<(usize, u32)>) -> bool {
        if epoch.0 == of.0 && epoch.1 > of.1 {
            return true;
        }
        if seen.contains(&epoch) {
            return false;
        }
        seen.push(epoch);
        // A dependence of an earlier epoch of the same core counts too.
        let sources = self.after.iter().filter(|(later, _)| later.0 == epoch.0 && later.1 <= epoch.1);
        sources.map(|(_, earlier)| *earlier).any(|e| e == of || self.follows(e, of, seen))
    }
}

impl System for AsapSpace {
    type State = State;
    type Action = Step;

    fn start(&self) -> State {
        State {
            cores: (0..self.cores as u8).map(|h| self.core(h)).collect(),
            done: vec![0; self.cores],
            tables: (0..self.controllers).map(|_| self.table()).collect(),
            images: vec![Image::new(PM_BASE); self.controllers],
            wires: BTreeMap::new(),
            log: vec![Vec::new(); self.lines],
            after: BTreeSet::new(),
        }
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        for core in 0..self.cores {
            if self.stores_next(state.done[core]) {
                let unused = state.log.iter().position(Vec::is_empty).unwrap_or(self.lines);
                let alike = self.lines <= self.controllers;
                let lines = if alike { self.lines.min(unused + 1) } else { self.lines };
                actions.extend((0..lines).map(|line| Step::Store { core, line }));
            } else if state.done[core] < self.script() {
                actions.push(Step::Fence(core));
            }
            if state.cores[core].next() == Time::ZERO {
                actions.push(Step::Flush(core));
            }
        }
        actions.extend(state.wires.keys().map(|w| Step::Deliver(*w)));
    }

    fn step(&self, state: &State, action: Step) -> State {
        match action {
            // A store that finds no room has no effect.
            Step::Store { core, line } => self.store(state, core, line).unwrap_or_else(|| state.clone()),
            Step::Fence(core) => self.fence(state, core),
            Step::Flush(core) => {
                let mut next = state.clone();
                let mut out = Outbox::default();
                next.cores[core].tick(Time::ZERO, &mut out);
                next.route(core, out);
                next
            }
            Step::Deliver(wire) => self.deliver(state, wire),
        }
    }

    fn fingerprint(&self, state: &State, into: &mut Fingerprint) {
        state.cores.iter().for_each(|h| h.fingerprint(into));
        state.done.hash(into);
        let map = self.map();
        for (c, (table, image)) in state.tables.iter().zip(&state.images).enumerate() {
            table.fingerprint(into);
            let own = (0..self.lines).map(AsapSpace::line).filter(|l| map.controller(*l) == c);
            own.for_each(|l| image.read(l)[0].hash(into));
        }
        for (wire, queue) in &state.wires {
            wire.hash(into);
            queue.iter().for_each(|m| hash_message(m, into));
        }
        (&state.log, &state.after).hash(into);
    }

    fn check(&self, state: &State) -> Result<(), String> {
        let memory = self.after_power_failure(state);
        for (line, writes) in state.log.iter().enumerate() {
            for (n, w) in writes.iter().enumerate().skip(memory[line]) {
                if w.epoch <= state.cores[w.core].committed() {
                    let name = name(n, w, line);
                    return Err(format!("a power failure loses {name}, whose epoch has committed"));
                }
                for (kept_line, kept) in memory.iter().enumerate().filter(|(_, kept)| **kept > 0) {
                    let v = &state.log[kept_line][kept - 1];
                    if state.follows((v.core, v.epoch), (w.core, w.epoch), &mut Vec::new()) {
                        let (kept, lost) = (name(kept - 1, v, kept_line), name(n, w, line));
                        return Err(format!(
                            "a power failure keeps {kept} and loses {lost}, which comes before it"
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    fn is_final(&self, state: &State) -> bool {
        let empty = |h: &AsapCore| h.level() == 0;
        state.wires.is_empty()
            && state.done.iter().all(|d| *d == self.script())
            && state.cores.iter().all(empty)
    }

    fn check_final(&self, state: &State) -> Result<(), String> {
        let memory = self.after_power_failure(state);
        match (0..self.lines).find(|l| memory[*l] != state.log[*l].len()) {
            Some(l) => Err(format!("at the end line {l} holds its write {}, not its last", memory[l])),
            None => Ok(()),
        }
    }
}

fn name(n: usize, w: &Written, line: usize) -> String {
    format!("write {} of line {line} (core {}, epoch {})", n + 1, w.core, w.epoch)
}

fn hash_message(msg: &Msg, into: &mut Fingerprint) {
    match *msg {
        Msg::Flush(FlushRequest { core, slot, epoch, early, retry, write }) => {
            (0, core, slot, epoch, early, retry, write.line.0, write.mask, write.data[0]).hash(into);
        }
        Msg::Ack { slot } => (1, slot).hash(into),
        Msg::Nack { slot } => (2, slot).hash(into),
        Msg::Commit { epoch } => (3, epoch).hash(into),
        Msg::CommitAck { epoch } => (4, epoch).hash(into),
        Msg::CrossDependencyResolved { tag: EpochTag { core, epoch } } => (5, core, epoch).hash(into),
        Msg::Register { epoch, dependent } => (6, epoch, dependent).hash(into),
        _ => 7.hash(into),
    }
}
