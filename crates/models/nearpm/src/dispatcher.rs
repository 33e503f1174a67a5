//! The device's state machine: request FIFO, dispatcher, in-flight table, units, host queue, multi-device handler.
//!
//! No clock: whoever drives it says which unit takes its next step, and which message arrives next. Every call appends
//! what follows from it to a list of [`Effect`]s.

use crate::spec::{DispatcherSpec, Mutant, Sync};
use crate::table::{AddressTable, Entry};
use crate::unit::{UnitPhase, UnitState};
use engine::PortId;
use protocol::{
    Block, LOG_BYTES, Line, LogHeader, LogLayout, Mask, Msg, NearKind, NearRefusal, NearRequest, PAGE_BYTES,
};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// The device's memory.
pub trait Bytes {
    /// The bytes of a line, which it may take time to read.
    fn read(&mut self, line: Line) -> Block;
    /// Changes masked bytes of a line; durable at once.
    fn write(&mut self, line: Line, data: &Block, mask: Mask);
}

impl Bytes for protocol::Image {
    fn read(&mut self, line: Line) -> Block {
        protocol::Image::read(self, line)
    }

    fn write(&mut self, line: Line, data: &Block, mask: Mask) {
        protocol::Image::write(self, line, data, mask);
    }
}

/// A request in the FIFO, with when it arrived among everything that did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Queued {
    /// The request, its addresses physical.
    pub request: NearRequest,
    /// Its place in the order of arrivals.
    pub stamp: u64,
    /// First address of its thread's log area.
    pub area: u64,
    /// Where in the device's part of the area its entry goes.
    pub log_at: u64,
}

/// A host access that has to wait.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Where it came from.
    pub port: PortId,
    /// The message: a read, or a write with its bytes.
    pub msg: Msg,
    /// Its line.
    pub line: Line,
    /// Whether it writes.
    pub write: bool,
    /// Its place in the order of arrivals.
    pub stamp: u64,
    /// Whether it is in the host queue, which is saved when the power fails.
    pub is_kept: bool,
}

/// What an observer of persist ordering sees.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A request arrived.
    Request(Queued),
    /// A host access arrived.
    Host { line: Line, write: bool, stamp: u64 },
    /// A host access was carried out.
    Performed { line: Line, write: bool, stamp: u64 },
    /// Whoever waits for a host write, and for those of its line before it, was told that they survive.
    Promised { line: Line, stamp: u64 },
    /// Memory has taken a host write that was carried out: it is durable there.
    Took { stamp: u64 },
    /// A unit read a line for a request.
    Read { number: u64, line: Line },
    /// A unit wrote a line that programs see for a request.
    Write { number: u64, line: Line },
    /// The device's part of a request is done and durable.
    Local { number: u64 },
    /// The logs of a request's thread were deleted.
    Deleted(NearRequest),
}

/// What follows from a call.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// A host access goes to memory.
    Perform { port: PortId, msg: Msg },
    /// A held write of `core` will survive.
    Durable { core: u8, line: Line },
    /// A unit has a request to work on.
    Started { unit: usize },
    /// A unit's step copied a line.
    Copied,
    /// The device keeps or refuses a request.
    Taken { number: u64, refused: Option<NearRefusal> },
    /// A place in the FIFO is free.
    Room,
    /// The device is done with a request.
    Done { number: u64 },
    /// Another device has to know.
    Tell { device: u8, number: u64 },
    /// For observers.
    Observed(Event),
}

/// How far each of a thread's logs is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ThreadLog {
    pub(crate) pool: u8,
    pub(crate) thread: u8,
    pub(crate) used: u64,
}

/// The state machine.
#[derive(Clone)]
pub struct Dispatcher {
    pub(crate) spec: DispatcherSpec,
    pub(crate) table: AddressTable,
    pub(crate) fifo: VecDeque<Queued>,
    /// The request at the FIFO's head waits for other devices, which know that this one is ready.
    pub(crate) announced: bool,
    pub(crate) unit_states: Vec<UnitState>,
    /// The first of these are in the host queue; others wait outside it.
    pub(crate) held: VecDeque<Held>,
    /// Writes that went to memory, which has no place for them yet. Those that were held stay in the host queue until then.
    pub(crate) handed: VecDeque<Held>,
    /// How many of these are in the host queue.
    pub(crate) kept: usize,
    pub(crate) logs: Vec<ThreadLog>,
    /// What other devices have said that they are done with.
    pub(crate) acknowledged: Vec<(u64, u16)>,
    pub(crate) stamps: u64,
    /// Requests not done, by core; for polling.
    pub(crate) pending: Vec<u8>,
}

/// What decides about the future. Places in the order of arrival count, not how many arrived; pools are mapped before
/// anything else happens; whom polling asks about stands in the requests.
impl Hash for Dispatcher {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Dispatcher {
            spec: _,
            table: _,
            fifo,
            announced,
            unit_states,
            held,
            handed,
            kept: _,
            logs,
            acknowledged,
            stamps: _,
            pending: _,
        } = self;
        let host = || held.iter().chain(handed);
        let live = fifo.iter().map(|q| q.stamp).chain(host().map(|h| h.stamp));
        let mut stamps: Vec<u64> = live.chain(unit_states.iter().map(|r| r.stamp)).collect();
        stamps.sort_unstable();
        let rank = |stamp: u64| stamps.partition_point(|s| *s < stamp);
        unit_states.iter().for_each(|register| register.tell(rank(register.stamp), into));
        for Queued { request, stamp, area, log_at } in fifo {
            (request, rank(*stamp), area, log_at).hash(into);
        }
        for Held { port, msg, line, write, stamp, is_kept } in host() {
            (port, msg, line, write, rank(*stamp), is_kept).hash(into);
        }
        (handed.len(), announced, logs, acknowledged).hash(into);
    }
}

impl Dispatcher {
    /// A device without any request.
    pub fn new(spec: DispatcherSpec) -> Dispatcher {
        Dispatcher {
            table: AddressTable::new(spec.table),
            fifo: VecDeque::with_capacity(spec.fifo),
            announced: false,
            unit_states: vec![UnitState::default(); spec.units],
            held: VecDeque::with_capacity(spec.host_queue),
            handed: VecDeque::new(),
            kept: 0,
            logs: Vec::new(),
            acknowledged: Vec::new(),
            stamps: 0,
            pending: Vec::with_capacity(spec.fifo + spec.units),
            spec,
        }
    }

    /// Requests that wait for a unit.
    pub fn waiting(&self) -> usize {
        self.fifo.len()
    }

    /// Host accesses that wait.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Host accesses in the host queue: those that wait there, and writes that keep their place until memory has one for them.
    pub fn in_host_queue(&self) -> usize {
        self.kept + self.held.len().min(self.room())
    }

    /// Whether a unit has a step to take.
    pub fn is_busy(&self, unit: usize) -> bool {
        self.unit_states[unit].is_busy()
    }

    /// Whether a unit's request is one for its load/store unit: no more than a line.
    pub fn is_fine(&self, unit: usize) -> bool {
        self.unit_states[unit].request.size <= 64
    }

    /// Units with a request that is not done yet.
    pub fn busy(&self) -> usize {
        self.unit_states.iter().filter(|r| r.is_busy()).count()
    }

    /// Whether any unit has one.
    pub fn works(&self) -> bool {
        self.unit_states.iter().any(UnitState::is_busy)
    }

    /// Requests of a core that the device is not done with.
    pub fn pending_of(&self, core: u8) -> u64 {
        self.pending.iter().filter(|h| **h == core).count() as u64
    }

    fn layout(&self) -> LogLayout {
        LogLayout { devices: self.spec.map.pm_controllers as u64, interleave: self.spec.map.interleave_bytes }
    }

    /// A command arrives; there is room for it in the FIFO.
    pub fn request(&mut self, request: NearRequest, out: &mut Vec<Effect>) {
        self.stamps += 1;
        let number = request.number;
        match self.decode(request) {
            Err(why) => {
                out.push(Effect::Taken { number, refused: Some(why) });
                out.push(Effect::Room);
            }
            Ok(None) => {
                out.extend([Effect::Taken { number, refused: None }, Effect::Room, Effect::Done { number }]);
            }
            Ok(Some(request)) => {
                let (area, log_at) = match self.reserve(&request) {
                    Ok(place) => place,
                    Err(why) => {
                        out.extend([Effect::Taken { number, refused: Some(why) }, Effect::Room]);
                        return;
                    }
                };
                let queued = Queued { request, stamp: self.stamps, area, log_at };
                self.fifo.push_back(queued);
                self.pending.push(request.core);
                out.push(Effect::Observed(Event::Request(queued)));
                out.push(Effect::Taken { number, refused: None });
            }
        }
    }

    /// Physical addresses for virtual ones; none for a command that fills the address mapping table.
    fn decode(&mut self, request: NearRequest) -> Result<Option<NearRequest>, NearRefusal> {
        if request.kind == NearKind::MapPool {
            let entry = Entry {
                pool: request.pool,
                thread: request.thread,
                virtual_page: request.source / PAGE_BYTES,
                page: request.destination / PAGE_BYTES,
                pages: request.size.into(),
            };
            return self.table.map(entry).map(|()| None);
        }
        let entry = self.table.find(request.pool, request.thread)?;
        if request.kind == NearKind::CommitLog {
            let area = self.layout().area(entry.base(), request.thread.into());
            let destination = self.layout().address(area, self.spec.index.into(), 0);
            return Ok(Some(NearRequest { destination, size: 64, ..request }));
        }
        if request.size == 0 {
            return Err(NearRefusal::NoCommand);
        }
        let source = entry.translate(request.source, request.size)?;
        let destination = if request.kind.copies() {
            entry.translate(request.destination, request.size)?
        } else {
            request.destination
        };
        let physical = NearRequest { source, destination, ..request };
        let (from, to) = (physical.reads(), physical.writes());
        if from.start < to.end && to.start < from.end {
            return Err(NearRefusal::Overlaps);
        }
        let mine = |l: u64| self.spec.map.controller(Line(l)) == usize::from(self.spec.index);
        let aligned = !request.kind.copies() || source % 64 == destination % 64;
        if aligned && physical.writes().chain(physical.reads()).all(mine) {
            Ok(Some(physical))
        } else {
            Err(NearRefusal::AcrossDevices)
        }
    }

    /// A host access arrives.
    pub fn host(&mut self, port: PortId, msg: Msg, line: Line, write: bool, out: &mut Vec<Effect>) {
        self.stamps += 1;
        let held = Held { port, msg, line, write, stamp: self.stamps, is_kept: false };
        out.push(Effect::Observed(Event::Host { line, write, stamp: held.stamp }));
        if self.held.len() < self.room() && !self.must_wait(&held, self.held.len()) {
            self.perform(held, out);
            return;
        }
        self.held.push_back(held);
        self.admit(out);
    }

    /// An access goes to memory. Until that has a place for it, a write is remembered, and keeps its place in the host
    /// queue if it had one.
    fn perform(&mut self, held: Held, out: &mut Vec<Effect>) {
        let Held { port, msg, line, write, stamp, is_kept } = held;
        out.push(Effect::Observed(Event::Performed { line, write, stamp }));
        out.push(Effect::Perform { port, msg });
        if matches!(msg, Msg::Write { .. } | Msg::Flush(_)) {
            self.kept += usize::from(is_kept);
            self.handed.push_back(held);
        }
    }

    /// All but `waiting` of the writes that went to memory have a place there; every [`Effect::Perform`] was carried out.
    pub fn took(&mut self, waiting: usize, out: &mut Vec<Effect>) {
        let taken = self.handed.len().saturating_sub(waiting);
        for Held { write, stamp, is_kept, .. } in self.handed.drain(..taken) {
            self.kept -= usize::from(is_kept);
            if write {
                out.push(Effect::Observed(Event::Took { stamp }));
            }
        }
        if taken > 0 {
            self.admit(out);
        }
    }

    /// Held accesses that the host queue has room for.
    fn room(&self) -> usize {
        self.spec.host_queue - self.kept
    }

    /// A held write inside the host queue is durable: whoever waits for that need not wait for the conflict. It has to if
    /// a write of the line before it is neither in the host queue nor in memory.
    fn admit(&mut self, out: &mut Vec<Effect>) {
        let room = self.room();
        let Dispatcher { held, handed, .. } = self;
        for Held { msg, line, stamp, is_kept, .. } in held.iter_mut().take(room) {
            *is_kept = true;
            let Msg::Write { ack: ack @ Some(_), .. } = msg else { continue };
            if handed.iter().any(|h| h.write && h.line == *line && !h.is_kept) {
                continue;
            }
            let (line, stamp) = (*line, *stamp);
            let durable = ack.take().map(|core| Effect::Durable { core, line });
            out.push(Effect::Observed(Event::Promised { line, stamp }));
            out.extend(durable);
        }
    }

    /// Whether an access has to wait for a request that came before it, or for one of the first `before` held ones.
    fn must_wait(&self, access: &Held, before: usize) -> bool {
        if self.spec.is(Mutant::NoOrdering) || self.spec.is(Mutant::UngatedReads) && !access.write {
            return false;
        }
        let blocks = |r: &NearRequest, stamp: u64| {
            stamp < access.stamp
                && (r.conflicts(access.line, access.write && !self.spec.is(Mutant::SourcesOnly))
                    || access.write && self.spec.writes_wait_for_all)
        };
        let in_flight = self.unit_states.iter().any(|r| r.is_busy() && blocks(&r.request, r.stamp));
        let same = |h: &Held| h.line == access.line && (h.write || access.write);
        in_flight
            || self.fifo.iter().any(|q| blocks(&q.request, q.stamp))
            || self.held.iter().take(before).any(same)
    }

    /// Another device is done with its part of a request, or ready for a synchronisation.
    pub fn acknowledge(&mut self, number: u64, device: u8) {
        match self.acknowledged.iter_mut().find(|(n, _)| *n == number) {
            Some((_, devices)) => *devices |= 1 << device,
            None => self.acknowledged.push((number, 1 << device)),
        }
    }

    fn all_acknowledged(&self, request: &NearRequest) -> bool {
        let others = request.devices & !(1 << self.spec.index);
        let acknowledged =
            self.acknowledged.iter().find(|(n, _)| *n == request.number).map_or(0, |(_, d)| *d);
        self.spec.sync != Sync::Delayed || self.spec.is(Mutant::NoSync) || others & !acknowledged == 0
    }

    fn tell(&self, request: &NearRequest, out: &mut Vec<Effect>) {
        if self.spec.sync != Sync::Delayed {
            return;
        }
        let others = (0..16).filter(|d| *d != self.spec.index && request.devices >> d & 1 == 1);
        out.extend(others.map(|device| Effect::Tell { device, number: request.number }));
    }

    /// The next line of a unit.
    pub fn step(&mut self, unit: usize, memory: &mut dyn Bytes, out: &mut Vec<Effect>) {
        let register = &mut self.unit_states[unit];
        if !register.is_busy() {
            return;
        }
        if register.step(memory, out) {
            let request = register.request;
            register.state = UnitPhase::Waits;
            out.push(Effect::Observed(Event::Local { number: request.number }));
            if request.kind == NearKind::CommitLog {
                out.push(Effect::Observed(Event::Deleted(request)));
            } else {
                self.tell(&request, out);
            }
        }
    }

    /// Does everything that can be done at once: frees units, releases host accesses, dispatches requests.
    pub fn advance(&mut self, out: &mut Vec<Effect>) {
        self.finish(out);
        while self.release(out) || self.dispatch(out) {}
    }

    /// A unit is free when every device is done with its request (paper §5.2).
    fn finish(&mut self, out: &mut Vec<Effect>) {
        for unit in 0..self.unit_states.len() {
            if self.unit_states[unit].state != UnitPhase::Waits {
                continue;
            }
            let request = self.unit_states[unit].request;
            if request.kind == NearKind::CommitLog || self.all_acknowledged(&request) {
                self.unit_states[unit].state = UnitPhase::Done;
                self.done(&request, out);
            }
        }
    }

    fn done(&mut self, request: &NearRequest, out: &mut Vec<Effect>) {
        self.acknowledged.retain(|(n, _)| *n != request.number);
        if let Some(index) = self.pending.iter().position(|h| *h == request.core) {
            self.pending.swap_remove(index);
        }
        out.push(Effect::Done { number: request.number });
    }

    /// The oldest held access that nothing stands before goes to memory.
    fn release(&mut self, out: &mut Vec<Effect>) -> bool {
        let inside = self.held.len().min(self.room());
        let free = (0..inside).find(|i| !self.must_wait(&self.held[*i], *i));
        let Some(held) = free.and_then(|i| self.held.remove(i)) else { return false };
        self.perform(held, out);
        self.admit(out);
        true
    }

    /// The FIFO's head goes to a unit, or waits: for a unit, a conflict, or the other devices.
    fn dispatch(&mut self, out: &mut Vec<Effect>) -> bool {
        let Some(head) = self.fifo.front().copied() else { return false };
        let free = self.unit_states.iter().position(UnitState::is_free);
        let Some(unit) = free.filter(|_| !self.is_blocked(&head)) else { return false };
        if head.request.kind == NearKind::CommitLog && !std::mem::replace(&mut self.announced, true) {
            self.tell(&head.request, out);
        }
        if head.request.kind == NearKind::CommitLog && !self.all_acknowledged(&head.request) {
            return false;
        }
        self.fifo.pop_front();
        self.announced = false;
        self.unit_states[unit] = UnitState::start(head, self.layout(), self.spec.index);
        out.extend([Effect::Room, Effect::Started { unit }]);
        true
    }

    /// Whether the head has to wait for a request under way, or a host access that came before it and is not in memory.
    fn is_blocked(&self, head: &Queued) -> bool {
        let request = &head.request;
        if request.kind == NearKind::CommitLog {
            let mine = |r: &NearRequest| (r.pool, r.thread) == (request.pool, request.thread);
            return self.unit_states.iter().any(|r| !r.is_free() && mine(&r.request));
        }
        // A deletion must not take a younger log with it.
        let deletes = |r: &UnitState| {
            let of_it = (r.request.pool, r.request.thread) == (request.pool, request.thread);
            r.is_busy() && r.request.kind == NearKind::CommitLog && of_it
        };
        if request.kind.logs() && self.unit_states.iter().any(deletes) {
            return true;
        }
        if self.spec.is(Mutant::NoOrdering) {
            return false;
        }
        let in_flight = |r: &UnitState| r.is_busy() && self.requests_conflict(&r.request, request);
        let host = |h: &Held| h.stamp < head.stamp && request.conflicts(h.line, h.write);
        let handed = self.handed.iter().filter(|_| !self.spec.is(Mutant::PassesReleased));
        self.unit_states.iter().any(in_flight)
            || !self.spec.is(Mutant::SourcesOnly) && self.held.iter().chain(handed).any(host)
    }

    fn requests_conflict(&self, earlier: &NearRequest, later: &NearRequest) -> bool {
        let overlap = |a: std::ops::Range<u64>, b: std::ops::Range<u64>| a.start < b.end && b.start < a.end;
        if self.spec.is(Mutant::SourcesOnly) {
            return overlap(earlier.reads(), later.reads());
        }
        overlap(earlier.writes(), later.reads())
            || overlap(earlier.reads(), later.writes())
            || overlap(earlier.writes(), later.writes())
    }

    /// The log area of a request's thread, and a place there for its entry: a log grows, and a deletion empties it.
    fn reserve(&mut self, request: &NearRequest) -> Result<(u64, u64), NearRefusal> {
        let pool = self.table.find(request.pool, request.thread)?.base();
        let area = self.layout().area(pool, request.thread.into());
        let same = |l: &ThreadLog| (l.pool, l.thread) == (request.pool, request.thread);
        let index = self.logs.iter().position(same).unwrap_or_else(|| {
            self.logs.push(ThreadLog { pool: request.pool, thread: request.thread, used: 0 });
            self.logs.len() - 1
        });
        let log = &mut self.logs[index];
        let at = log.used;
        if request.kind == NearKind::CommitLog {
            log.used = 0;
        } else if request.kind.logs() {
            log.used += LogHeader::entry_bytes(request.source, request.size.into());
            if log.used > LOG_BYTES {
                log.used = at;
                return Err(NearRefusal::LogFull);
            }
        }
        Ok((area, at))
    }
}
