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
//! Behind each device is a write pending queue of few places, which survives a power failure; a write of the host that finds none waits before
//! it, and does not. What units write passes it.
//!
//! What must hold: the checkers of partitioned persist ordering report nothing; a read gives what program order says;
//! and after recovery, first of the devices, then of the program, every object is whole, no committed transaction is
//! lost, and none that had not begun is there.

use crate::{Bytes, Checker, Dispatcher, DispatcherSpec, Effect, Mutant, Sync, recover};
use explore::{Bound, Explored, Mutants, Protocol, Wires};
use protocol::{
    AddressMap, Block, Line, LogChecksum, LogHeader, LogLayout, Mask, Msg, NearKind, NearRequest, PM_BASE,
    line_of,
};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::hash::{Hash, Hasher};

/// The size of what is explored.
#[derive(Clone, Copy, Debug)]
pub struct NearSpace {
    /// Cores.
    pub cores: usize,
    /// Devices: a power of two.
    pub devices: usize,
    /// Transactions of each core.
    pub transactions: usize,
    /// Units of each device.
    pub units: usize,
    /// Entries of a host queue.
    pub host_queue: usize,
    /// Entries of the write pending queue behind each device.
    pub write_queue: usize,
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
    /// A write leaves the full write pending queue of a device, so that one that waits for that has a place.
    Drain(usize),
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
            Step::Drain(d) => write!(f, "device {d}: its write pending queue has room again"),
            Step::Complete(a, b) => write!(f, "device {b} learns what device {a} has completed"),
            Step::PowerOff(d) => write!(f, "device {d} loses its power"),
        }
    }
}

/// The lines of a device that were ever written.
#[derive(Clone, Default, Hash)]
struct Lines(BTreeMap<u64, Block>);

impl Lines {
    fn at(&self, line: Line) -> Block {
        self.0.get(&line.0).copied().unwrap_or([0; 64])
    }
}

impl Bytes for Lines {
    fn read(&mut self, line: Line) -> Block {
        self.at(line)
    }

    fn write(&mut self, line: Line, data: &Block, _: Mask) {
        self.0.insert(line.0, *data);
    }
}

/// A write of the host on its way into a write pending queue, and the core that waits for it.
#[derive(Clone, Hash)]
struct HostWrite {
    line: Line,
    data: Block,
    ack: Option<u8>,
}

/// What is behind a device.
#[derive(Clone, Default, Hash)]
struct Memory {
    /// What survives: with what is in the write pending queue, which nobody has to tell apart.
    lines: Lines,
    /// Entries of the write pending queue.
    queued: usize,
    /// Writes that it has no room for.
    outside: VecDeque<HostWrite>,
}

impl Memory {
    /// Lets in those writes that there is room for; gives the cores that waited for them.
    fn admit(&mut self, room: usize) -> Vec<u8> {
        let mut answered = Vec::new();
        while self.queued < room
            && let Some(HostWrite { line, data, ack }) = self.outside.pop_front()
        {
            self.queued += 1;
            self.lines.write(line, &data, Mask::MAX);
            answered.extend(ack);
        }
        answered
    }
}

impl Bytes for Memory {
    fn read(&mut self, line: Line) -> Block {
        let waits = self.outside.iter().rev().find(|w| w.line == line);
        waits.map_or_else(|| self.lines.at(line), |w| w.data)
    }

    fn write(&mut self, line: Line, data: &Block, mask: Mask) {
        self.lines.write(line, data, mask);
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

/// Two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Wire {
    /// From the port to a device: requests, and accesses of the host.
    Port(usize),
    /// From a device to a device: what it has completed.
    Completed(usize, usize),
}

/// The checkers: a history, of which only what is broken decides about anything.
#[derive(Clone)]
struct Watcher(Checker);

impl Hash for Watcher {
    fn hash<H: Hasher>(&self, into: &mut H) {
        self.0.broken().is_some().hash(into);
    }
}

/// Where everything stands.
#[derive(Clone, Hash)]
pub struct State {
    scripts: Vec<Script>,
    devices: Vec<Dispatcher>,
    memories: Vec<Memory>,
    wires: Wires<Wire, Msg>,
    powered_off: Vec<bool>,
    /// Requests that are not taken by all devices: number, core, devices left.
    untaken: Vec<(u64, usize, u32)>,
    requests: u64,
    checker: Watcher,
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
    pub const SMALL: NearSpace = NearSpace {
        cores: 1,
        devices: 2,
        transactions: 2,
        units: 2,
        host_queue: 2,
        write_queue: 1,
        mutant: None,
    };

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
            mutants: [self.mutant, None],
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
                for d in 0..self.devices {
                    let line = line_of(self.line(OBJECTS, core, d));
                    let ack = Some(core as u8);
                    let write =
                        Msg::Write { line, data: [transaction; 64], mask: Mask::MAX, ack, is_owned: true };
                    state.wires.send(Wire::Port(d), write);
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
                for d in 0..self.devices {
                    let line = line_of(self.line(SHADOWS, core, d));
                    state.wires.send(Wire::Port(d), Msg::Read { line });
                }
            }
            Next::End => {}
        }
    }

    /// A command passes the port: each device gets its part.
    fn send(&self, state: &mut State, whole: NearRequest, part: impl Fn(&NearSpace, usize) -> NearRequest) {
        state.requests += 1;
        let number = state.requests;
        state.checker.0.sent(&NearRequest { number, ..whole });
        if whole.kind == NearKind::CommitLog {
            state.untaken.push((number, whole.core.into(), whole.devices.into()));
        }
        for d in 0..self.devices {
            state.wires.send(Wire::Port(d), Msg::Near(NearRequest { number, ..part(self, d) }));
        }
    }

    /// What a device wants after it was called.
    fn settle(&self, state: &mut State, d: usize, mut effects: Vec<Effect>) {
        loop {
            self.carry_out(state, d, std::mem::take(&mut effects));
            let memory = &mut state.memories[d];
            let answered = memory.admit(self.write_queue);
            state.devices[d].took(memory.outside.len(), &mut effects);
            answered.into_iter().for_each(|core| state.answered(core.into()));
            state.devices[d].advance(&mut effects);
            if effects.is_empty() {
                return;
            }
        }
    }

    fn carry_out(&self, state: &mut State, d: usize, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Perform { msg: Msg::Write { line, data, ack, .. }, .. } => {
                    state.memories[d].outside.push_back(HostWrite { line, data, ack });
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
                    state.wires.send(
                        Wire::Completed(d, device.into()),
                        Msg::NearComplete { number, device: d as u8 },
                    );
                }
                Effect::Observed(event) => state.checker.0.saw(d, &event),
                // Nobody waits for these: answers to cores come at once, and the FIFO has room.
                Effect::Started { .. } | Effect::Copied | Effect::Room | Effect::Done { .. } => {}
                Effect::Perform { msg, .. } => {
                    protocol::unexpected("the memory behind a near-data device", &msg)
                }
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
            let block = memories[d].at(line(0));
            let word = |i: usize| u64::from_le_bytes(block.as_chunks::<8>().0[i]);
            let header = LogHeader::decode([0, 1, 2, 3, 4].map(word))?;
            let data = memories[d].at(line(64));
            let mut sum = LogChecksum::new(header.address, header.size, header.transaction);
            sum.block(&data);
            (sum.value() == header.checksum).then_some(data[0])
        };
        let now = |d: usize| memories[d].at(line_of(self.line(OBJECTS, core, d)))[0];
        (0..self.devices).map(|d| whole(d).unwrap_or_else(|| now(d))).collect()
    }
}

impl State {
    /// What of the devices' memories survives.
    fn lines(&self) -> Vec<Lines> {
        self.memories.iter().map(|m| m.lines.clone()).collect()
    }

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

impl Protocol for NearSpace {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        let script = Script { next: Next::Log, transaction: 1, waits: 0, committed: 0 };
        State {
            scripts: vec![script; self.cores],
            devices: (0..self.devices).map(|d| self.device(d)).collect(),
            memories: vec![Memory::default(); self.devices],
            wires: Wires::new(),
            powered_off: vec![false; self.devices],
            untaken: Vec::new(),
            requests: 0,
            checker: Watcher(Checker::new(self.devices)),
            wrong: None,
        }
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        let ready = |s: &Script| s.waits == 0 && s.next != Next::End;
        steps.extend((0..self.cores).filter(|h| ready(&state.scripts[*h])).map(Step::Core));
        for d in (0..self.devices).filter(|d| !state.powered_off[*d]) {
            if state.wires.is_waiting(Wire::Port(d)) {
                steps.push(Step::Arrive(d));
            }
            let busy = |u: &usize| state.devices[d].is_busy(*u);
            steps.extend((0..self.units).filter(busy).map(|u| Step::Unit(d, u)));
            // A write that leaves a full queue before anybody waits is the same as one that leaves when somebody does.
            if !state.memories[d].outside.is_empty() {
                steps.push(Step::Drain(d));
            }
            if self.devices > 1 && !state.powered_off.contains(&true) {
                steps.push(Step::PowerOff(d));
            }
        }
        steps.extend(state.wires.ends().filter_map(|wire| match wire {
            Wire::Completed(a, b) if !state.powered_off[b] => Some(Step::Complete(a, b)),
            Wire::Completed(..) | Wire::Port(_) => None,
        }));
    }

    fn step(&self, state: &State, step: Step) -> State {
        let mut next = state.clone();
        let mut effects = Vec::new();
        match step {
            Step::Core(core) => self.go_on(&mut next, core),
            Step::PowerOff(d) => next.powered_off[d] = true,
            Step::Arrive(d) => {
                match next.wires.take(Wire::Port(d)) {
                    Some(Msg::Near(request)) => next.devices[d].request(request, &mut effects),
                    Some(msg @ (Msg::Read { line } | Msg::Write { line, .. })) => {
                        let write = matches!(msg, Msg::Write { .. });
                        next.devices[d].host(engine::PortId(FROM_CORES), msg, line, write, &mut effects);
                    }
                    Some(msg) => protocol::unexpected("a near-data device", &msg),
                    None => panic!("nothing is on its way to device {d}"),
                }
                self.settle(&mut next, d, effects);
            }
            Step::Unit(d, unit) => {
                let State { devices, memories, .. } = &mut next;
                devices[d].step(unit, &mut memories[d], &mut effects);
                self.settle(&mut next, d, effects);
            }
            Step::Drain(d) => {
                next.memories[d].queued -= 1;
                self.settle(&mut next, d, effects);
            }
            Step::Complete(from, to) => {
                if let Some(Msg::NearComplete { number, device }) = next.wires.take(Wire::Completed(from, to))
                {
                    next.devices[to].acknowledge(number, device);
                }
                self.settle(&mut next, to, effects);
            }
        }
        next
    }

    fn check(&self, state: &State) -> Result<(), String> {
        let broken = state.checker.0.broken().map(ToString::to_string);
        broken.or_else(|| state.wrong.clone()).map_or(Ok(()), Err)
    }

    fn check_power_failure(&self, state: &State) -> Result<(), String> {
        let dumps: Vec<_> = state.devices.iter().map(Dispatcher::power_fail).collect();
        let mut memories = state.lines();
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
        let empty = |m: &Memory| m.outside.is_empty();
        state.powered_off.contains(&true)
            || done && state.devices.iter().all(idle) && state.memories.iter().all(empty)
    }

    fn check_final(&self, state: &State) -> Result<(), String> {
        if state.powered_off.contains(&true) {
            return Ok(());
        }
        for core in 0..self.cores {
            let object = self.recovered(&state.lines(), core);
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

const CORES: Bound = Bound::number("cores", 1, 1, 3, "Cores");
const DEVICES: Bound = Bound::among("controllers", 2, &[1, 2, 4], "Devices, interleaved");
const TRANSACTIONS: Bound = Bound::number("epochs", 2, 1, 4, "Transactions of each core");
const UNITS: Bound = Bound::number("units", 2, 1, 4, "Units of each device");
const HOST_QUEUE: Bound = Bound::number("host-queue", 2, 1, 8, "Entries of each host queue");
const WRITE_QUEUE: Bound =
    Bound::number("write-queue", 1, 1, 8, "Entries of the write pending queue behind each device");

impl Explored for NearSpace {
    const NAME: &'static str = "nearpm";
    const MEANING: &'static str = "NearPM: devices that log and copy, their order and their recovery";
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;

    explore::bounded!(NearSpace {
        cores: number(CORES),
        devices: number(DEVICES),
        transactions: number(TRANSACTIONS),
        units: number(UNITS),
        host_queue: number(HOST_QUEUE),
        write_queue: number(WRITE_QUEUE),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use explore::Held;

    #[test]
    fn devices_neither_get_stuck_nor_lose_anything_and_every_mutant_is_caught() {
        Held {
            clean: vec![
                (NearSpace::SMALL, 76_137),
                (NearSpace { units: 1, ..NearSpace::SMALL }, 6_813),
                (NearSpace { units: 1, host_queue: 1, ..NearSpace::SMALL }, 6_813),
                (NearSpace { devices: 1, transactions: 4, ..NearSpace::SMALL }, 600),
                (NearSpace { devices: 1, cores: 2, transactions: 1, ..NearSpace::SMALL }, 54_809),
                (NearSpace { devices: 1, cores: 2, write_queue: 8, ..NearSpace::SMALL }, 938_951),
            ],
            seeded: |mutant| NearSpace { mutant: Some(mutant), ..NearSpace::SMALL },
            wrong: &["a power failure", "PPO invariant ", "deadlock"],
        }
        .holds();
    }
}
