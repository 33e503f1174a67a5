//! NearPM's devices, small enough to see everything that can happen.
//!
//! ```text
//!   scripts -> one port --requests, writes, reads (a wire to each device, in order)--> devices <--completions--> devices
//! ```
//!
//! Each core owns an object that spans all devices, a line on each. A transaction logs it, writes it, and commits; then
//! the devices copy it to its shadow, and the core reads that. Wires to two devices are not of the same length: what
//! arrives at one may be long on its way to the other. After every step the power may fail, everywhere, or first in one
//! device while the others go on. Answers to cores come at once: a core that waits longer is explored anyway.
//!
//! What must hold: the checkers of partitioned persist ordering report nothing; a read gives what program order says;
//! and after recovery, first of the devices, then of the program, every object is whole, no committed transaction is
//! lost, and none that had not begun is there.

use super::{Fingerprint, System};
use nearpm::{Bytes, Checker, Dispatcher, DispatcherSpec, Effect, Mutant, Sync, recover};
use protocol::{
    AddressMap, Block, Line, LogChecksum, LogHeader, LogLayout, Mask, Msg, NearKind, NearRequest, PM_BASE,
    line_of,
};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::hash::Hash;

/// The size of what is explored.
#[derive(Clone, Copy, Debug)]
pub struct NearSpace {
    /// Cores, 1 to 3.
    pub cores: usize,
    /// Devices: 1, 2 or 4.
    pub devices: usize,
    /// Transactions of each core, 1 to 4.
    pub transactions: usize,
    /// Units of each device, 1 to 4.
    pub units: usize,
    /// Entries of a host queue, 1 to 8.
    pub host_queue: usize,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A core does the next thing of its script.
    Core(usize),
    /// What is first on the wire to a device arrives.
    Arrive(usize),
    /// A unit of a device takes its next line.
    Unit(usize, usize),
    /// A completion arrives, from a device at a device.
    Complete(usize, usize),
    /// A device loses its power; the others go on.
    PowerOff(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Core(h) => write!(f, "core {h} goes on"),
            Step::Arrive(d) => write!(f, "device {d} takes what comes next"),
            Step::Unit(d, u) => write!(f, "device {d}: unit {u} takes a step"),
            Step::Complete(a, b) => write!(f, "device {b} learns what device {a} has completed"),
            Step::PowerOff(d) => write!(f, "device {d} loses its power"),
        }
    }
}

/// A device's memory: the lines that were ever written.
#[derive(Clone, Default)]
struct Lines(BTreeMap<u64, Block>);

impl Bytes for Lines {
    fn read(&self, line: Line) -> Block {
        self.0.get(&line.0).copied().unwrap_or([0; 64])
    }

    fn write(&mut self, line: Line, data: &Block, _: Mask) {
        self.0.insert(line.0, *data);
    }
}

/// What a core does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Next {
    Log,
    Write,
    Commit,
    Shadow,
    Read,
    End,
}

/// A core's script.
#[derive(Clone, Debug, Hash)]
struct Script {
    next: Next,
    /// The transaction under way, from 1.
    transaction: u8,
    /// Answers that it waits for.
    waits: usize,
    /// The last transaction that it was told is committed.
    committed: u8,
}

/// Where everything stands.
#[derive(Clone)]
pub struct State {
    scripts: Vec<Script>,
    devices: Vec<Dispatcher>,
    memories: Vec<Lines>,
    wires: Vec<VecDeque<Msg>>,
    completions: BTreeMap<(usize, usize), VecDeque<u64>>,
    dark: Vec<bool>,
    /// Requests that are not taken by all devices: number, core, devices left.
    untaken: Vec<(u64, usize, u32)>,
    requests: u64,
    checker: Checker,
    wrong: Option<String>,
}

/// Where a pool's objects are, and their shadows.
const OBJECTS: u64 = PM_BASE + (8 << 20);
const SHADOWS: u64 = PM_BASE + (9 << 20);
const VIRTUAL: u64 = 1 << 40;
const INTERLEAVE: u64 = 64;
/// The kinds of message that a wire carries, told apart by where they come from.
const FROM_CORES: u8 = 1;

impl NearSpace {
    /// A small machine that is explored in seconds.
    pub const SMALL: NearSpace =
        NearSpace { cores: 1, devices: 2, transactions: 2, units: 2, host_queue: 2, mutant: None };

    /// The bounds that keep an exploration meaningful.
    ///
    /// # Errors
    /// Which one does not hold.
    pub fn check_bounds(&self) -> Result<(), String> {
        let bounds = [
            ("cores", self.cores, 3),
            ("controllers", self.devices, 4),
            ("epochs", self.transactions, 4),
            ("units", self.units, 4),
            ("host-queue", self.host_queue, 8),
        ];
        if !self.devices.is_power_of_two() {
            return Err(format!(
                "--controllers {}: devices are interleaved; accepted are 1, 2, 4",
                self.devices
            ));
        }
        match bounds.iter().find(|(_, value, most)| !(1..=*most).contains(value)) {
            Some((name, value, most)) => Err(format!("--{name} {value}: accepted are 1 to {most}")),
            None => Ok(()),
        }
    }

    fn map(&self) -> AddressMap {
        AddressMap::new(self.devices, 1, INTERLEAVE)
    }

    fn layout(&self) -> LogLayout {
        LogLayout { devices: self.devices as u64, interleave: INTERLEAVE }
    }

    fn device(&self, index: usize) -> Dispatcher {
        let mut device = Dispatcher::new(DispatcherSpec {
            index: index as u8,
            map: self.map(),
            units: self.units,
            fifo: 8 * self.cores,
            host_queue: self.host_queue,
            table: self.cores,
            sync: Sync::Delayed,
            writes_wait_for_all: false,
            mutant: self.mutant,
        });
        for thread in 0..self.cores {
            let map = NearRequest {
                source: VIRTUAL,
                destination: PM_BASE,
                size: 16 << 8,
                ..self.request(NearKind::MapPool, thread)
            };
            device.request(map, &mut Vec::new());
        }
        device
    }

    fn request(&self, kind: NearKind, core: usize) -> NearRequest {
        NearRequest {
            number: 0,
            core: core as u8,
            kind,
            pool: 0,
            thread: core as u8,
            devices: (1 << self.devices) - 1,
            source: 0,
            destination: 0,
            size: 0,
        }
    }

    /// A core's line of an object on a device.
    fn line(&self, of: u64, core: usize, device: usize) -> u64 {
        of + core as u64 * 4096 + device as u64 * INTERLEAVE
    }

    /// The script's next step, where it does not wait.
    fn go_on(&self, state: &mut State, core: usize) {
        let script = &mut state.scripts[core];
        let transaction = script.transaction;
        match script.next {
            Next::Log => {
                script.next = Next::Write;
                let log = NearRequest {
                    destination: transaction.into(),
                    size: 64,
                    ..self.request(NearKind::UndoLogCreate, core)
                };
                self.send(state, log, |s, d| NearRequest {
                    source: s.line(OBJECTS, core, d) - PM_BASE + VIRTUAL,
                    ..log
                });
            }
            Next::Write => {
                (script.next, script.waits) = (Next::Commit, self.devices);
                for (d, wire) in state.wires.iter_mut().enumerate() {
                    let line = line_of(self.line(OBJECTS, core, d));
                    let ack = Some(core as u8);
                    wire.push_back(Msg::Write { line, data: [transaction; 64], mask: Mask::MAX, ack });
                }
            }
            Next::Commit => {
                (script.next, script.waits) = (Next::Shadow, 1);
                let commit = self.request(NearKind::CommitLog, core);
                self.send(state, commit, |_, _| commit);
            }
            Next::Shadow => {
                (script.next, script.committed) = (Next::Read, transaction);
                let copy = NearRequest { size: 64, ..self.request(NearKind::ShadowCopy, core) };
                self.send(state, copy, |s, d| NearRequest {
                    source: s.line(OBJECTS, core, d) - PM_BASE + VIRTUAL,
                    destination: s.line(SHADOWS, core, d) - PM_BASE + VIRTUAL,
                    ..copy
                });
            }
            Next::Read => {
                let last = usize::from(transaction) == self.transactions;
                (script.next, script.waits) = (if last { Next::End } else { Next::Log }, self.devices);
                script.transaction += u8::from(!last);
                for (d, wire) in state.wires.iter_mut().enumerate() {
                    wire.push_back(Msg::Read { line: line_of(self.line(SHADOWS, core, d)) });
                }
            }
            Next::End => {}
        }
    }

    /// A command passes the port: each device gets its part.
    fn send(&self, state: &mut State, whole: NearRequest, part: impl Fn(&NearSpace, usize) -> NearRequest) {
        state.requests += 1;
        let number = state.requests;
        state.checker.sent(&NearRequest { number, ..whole });
        if whole.kind == NearKind::CommitLog {
            state.untaken.push((number, whole.core.into(), whole.devices.into()));
        }
        for (d, wire) in state.wires.iter_mut().enumerate() {
            wire.push_back(Msg::Near(NearRequest { number, ..part(self, d) }));
        }
    }

    /// What a device wants after it was called.
    fn settle(&self, state: &mut State, d: usize, mut effects: Vec<Effect>) {
        state.devices[d].advance(&mut effects);
        for effect in effects {
            match effect {
                Effect::Perform { msg: Msg::Write { line, data, mask, ack }, .. } => {
                    state.memories[d].write(line, &data, mask);
                    ack.into_iter().for_each(|core| state.answered(core.into()));
                }
                Effect::Perform { msg: Msg::Read { line }, .. } => self.read(state, d, line),
                Effect::Durable { core, .. } => state.answered(core.into()),
                Effect::Taken { number, refused } => {
                    if let Some(why) = refused {
                        state.wrong = Some(format!("device {d} refused request {number}: {why}"));
                    }
                    state.taken(number, d);
                }
                Effect::Tell { device, number } => {
                    state.completions.entry((d, device.into())).or_default().push_back(number);
                }
                Effect::Seen(seen) => state.checker.saw(d, &seen),
                _ => {}
            }
        }
    }

    /// A read of a shadow has to give the object's last contents.
    fn read(&self, state: &mut State, d: usize, line: Line) {
        let core = ((line.address() - SHADOWS) / 4096) as usize;
        let value = state.memories[d].read(line)[0];
        let wanted = state.scripts[core].committed;
        if value != wanted {
            let what = format!("core {core} reads {value} from its shadow on device {d}, not {wanted}");
            state.wrong.get_or_insert(what);
        }
        state.answered(core);
    }

    /// A core's object as recovery finds it, a byte for each device.
    fn recovered(&self, memories: &[Lines], core: usize) -> Vec<u8> {
        let area = self.layout().area(PM_BASE, core as u64);
        let whole = |d: usize| {
            let line = |offset| line_of(self.layout().address(area, d as u64, offset));
            let block = memories[d].read(line(0));
            let word = |i: usize| u64::from_le_bytes(block.as_chunks::<8>().0[i]);
            let header = LogHeader::decode([0, 1, 2, 3, 4].map(word))?;
            let data = memories[d].read(line(64));
            let mut sum = LogChecksum::new(header.address, header.size, header.transaction);
            sum.block(&data);
            (sum.value() == header.checksum).then_some(data[0])
        };
        let now = |d: usize| memories[d].read(line_of(self.line(OBJECTS, core, d)))[0];
        (0..self.devices).map(|d| whole(d).unwrap_or_else(|| now(d))).collect()
    }
}

impl State {
    fn answered(&mut self, core: usize) {
        self.scripts[core].waits -= 1;
    }

    fn taken(&mut self, number: u64, device: usize) {
        let Some(index) = self.untaken.iter().position(|u| u.0 == number) else { return };
        self.untaken[index].2 &= !(1 << device);
        if self.untaken[index].2 == 0 {
            let (_, core, _) = self.untaken.remove(index);
            self.answered(core);
        }
    }
}

impl System for NearSpace {
    type State = State;
    type Action = Step;

    fn start(&self) -> State {
        let script = Script { next: Next::Log, transaction: 1, waits: 0, committed: 0 };
        State {
            scripts: vec![script; self.cores],
            devices: (0..self.devices).map(|d| self.device(d)).collect(),
            memories: vec![Lines::default(); self.devices],
            wires: vec![VecDeque::new(); self.devices],
            completions: BTreeMap::new(),
            dark: vec![false; self.devices],
            untaken: Vec::new(),
            requests: 0,
            checker: Checker::new(self.devices),
            wrong: None,
        }
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        let ready = |s: &Script| s.waits == 0 && s.next != Next::End;
        actions.extend((0..self.cores).filter(|h| ready(&state.scripts[*h])).map(Step::Core));
        for d in (0..self.devices).filter(|d| !state.dark[*d]) {
            if !state.wires[d].is_empty() {
                actions.push(Step::Arrive(d));
            }
            let busy = |u: &usize| state.devices[d].is_busy(*u);
            actions.extend((0..self.units).filter(busy).map(|u| Step::Unit(d, u)));
            if self.devices > 1 && !state.dark.contains(&true) {
                actions.push(Step::PowerOff(d));
            }
        }
        let arrives = |(_, to): &&(usize, usize)| !state.dark[*to];
        actions.extend(state.completions.keys().filter(arrives).map(|(a, b)| Step::Complete(*a, *b)));
    }

    fn step(&self, state: &State, action: Step) -> State {
        let mut next = state.clone();
        let mut effects = Vec::new();
        match action {
            Step::Core(core) => self.go_on(&mut next, core),
            Step::PowerOff(d) => next.dark[d] = true,
            Step::Arrive(d) => {
                match next.wires[d].pop_front() {
                    Some(Msg::Near(request)) => next.devices[d].request(request, &mut effects),
                    Some(msg @ (Msg::Read { line } | Msg::Write { line, .. })) => {
                        let write = matches!(msg, Msg::Write { .. });
                        next.devices[d].host(engine::PortId(FROM_CORES), msg, line, write, &mut effects);
                    }
                    _ => {}
                }
                self.settle(&mut next, d, effects);
            }
            Step::Unit(d, unit) => {
                let State { devices, memories, .. } = &mut next;
                devices[d].step(unit, &mut memories[d], &mut effects);
                self.settle(&mut next, d, effects);
            }
            Step::Complete(from, to) => {
                if let Some(number) = next.completions.get_mut(&(from, to)).and_then(VecDeque::pop_front) {
                    next.devices[to].told(number, from as u8);
                }
                next.completions.retain(|_, queue| !queue.is_empty());
                self.settle(&mut next, to, effects);
            }
        }
        next
    }

    fn fingerprint(&self, state: &State, into: &mut Fingerprint) {
        (&state.scripts, &state.completions, &state.dark, &state.untaken, state.requests).hash(into);
        for (device, (memory, wire)) in state.devices.iter().zip(state.memories.iter().zip(&state.wires)) {
            device.fingerprint(into);
            memory.0.hash(into);
            for msg in wire {
                match msg {
                    Msg::Near(request) => request.hash(into),
                    Msg::Write { line, data, .. } => (1, line.0, data[0]).hash(into),
                    Msg::Read { line } => (2, line.0).hash(into),
                    _ => 3.hash(into),
                }
            }
        }
        (state.wrong.is_some() || state.checker.broken().is_some()).hash(into);
    }

    fn check(&self, state: &State) -> Result<(), String> {
        if let Some(broken) = state.checker.broken() {
            return Err(broken.to_string());
        }
        if let Some(wrong) = &state.wrong {
            return Err(wrong.clone());
        }
        let dumps: Vec<_> = state.devices.iter().map(Dispatcher::power_fail).collect();
        let mut memories = state.memories.clone();
        recover(&dumps, &mut memories)?;
        for (core, script) in state.scripts.iter().enumerate() {
            let object = self.recovered(&memories, core);
            if object.iter().any(|v| *v != object[0]) {
                return Err(format!("a power failure leaves core {core}'s object torn: {object:?}"));
            }
            if object[0] < script.committed || object[0] > script.transaction {
                let (value, committed) = (object[0], script.committed);
                return Err(format!(
                    "a power failure leaves core {core}'s object at transaction {value}, and {committed} was committed"
                ));
            }
        }
        Ok(())
    }

    fn is_final(&self, state: &State) -> bool {
        let done = state.scripts.iter().all(|s| s.next == Next::End && s.waits == 0);
        let idle = |d: &Dispatcher| d.waiting() == 0 && d.busy() == 0 && d.held() == 0;
        state.dark.contains(&true) || done && state.devices.iter().all(idle)
    }

    fn check_final(&self, state: &State) -> Result<(), String> {
        if state.dark.contains(&true) {
            return Ok(());
        }
        for core in 0..self.cores {
            let object = self.recovered(&state.memories, core);
            if object.iter().any(|v| usize::from(*v) != self.transactions) {
                return Err(format!(
                    "at the end core {core}'s object is {object:?}, not {}",
                    self.transactions
                ));
            }
        }
        Ok(())
    }
}
