//! A unit: its request register, and what it does a line at a time (paper §5.1, Fig. 9).

use crate::dispatcher::{Bytes, Effect, Event, Queued};
use protocol::{Line, LogChecksum, LogHeader, LogLayout, Mask, NearKind, NearRequest, line_of};
use std::hash::{Hash, Hasher};

/// How far a unit is with its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum UnitPhase {
    /// It never had one.
    #[default]
    Free,
    /// It works on it.
    Busy,
    /// Its part is done; other devices' are not.
    Waits,
    /// Done everywhere; the register keeps it until the next.
    Done,
}

/// A unit's request register and progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitState {
    pub(crate) request: NearRequest,
    pub(crate) stamp: u64,
    pub(crate) state: UnitPhase,
    pub(crate) area: u64,
    pub(crate) log_at: u64,
    layout: LogLayout,
    device: u8,
    /// Lines copied so far.
    lines: u64,
    checksum: LogChecksum,
}

impl Default for UnitState {
    fn default() -> UnitState {
        let request = NearRequest {
            number: 0,
            core: 0,
            kind: NearKind::MapPool,
            pool: 0,
            thread: 0,
            devices: 0,
            source: 0,
            destination: 0,
            size: 0,
        };
        let queued = Queued { request, stamp: 0, area: 0, log_at: 0 };
        let layout = LogLayout { devices: 1, interleave: 64 };
        UnitState { state: UnitPhase::Free, ..UnitState::start(queued, layout, 0) }
    }
}

impl UnitState {
    /// A request at its beginning.
    pub(crate) fn start(queued: Queued, layout: LogLayout, device: u8) -> UnitState {
        let r = queued.request;
        UnitState {
            request: r,
            stamp: queued.stamp,
            state: UnitPhase::Busy,
            area: queued.area,
            log_at: queued.log_at,
            layout,
            device,
            lines: 0,
            checksum: LogChecksum::new(r.source, r.size.into(), r.destination),
        }
    }

    /// The request as the FIFO had it.
    pub(crate) fn queued(&self) -> Queued {
        let UnitState { request, stamp, area, log_at, .. } = *self;
        Queued { request, stamp, area, log_at }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.state == UnitPhase::Busy
    }

    pub(crate) fn is_free(&self) -> bool {
        matches!(self.state, UnitPhase::Free | UnitPhase::Done)
    }

    /// What tells it from others, its place in the order of arrival being `rank`.
    pub(crate) fn tell(&self, rank: usize, into: &mut impl Hasher) {
        let UnitState { request, stamp: _, state, area, log_at, layout: _, device: _, lines, checksum } =
            self;
        (request, rank, state, area, log_at, lines, checksum.value()).hash(into);
    }

    fn log_line(&self, offset: u64) -> Line {
        line_of(self.layout.address(self.area, self.device.into(), self.log_at + offset))
    }

    /// Copies a line, or writes the metadata that ends the request. Whether that was the last step.
    pub(crate) fn step(&mut self, memory: &mut dyn Bytes, out: &mut Vec<Effect>) -> bool {
        let request = self.request;
        if request.kind == NearKind::CommitLog {
            // The log's first entry is none any more, and with it no later one is.
            let line = line_of(request.destination);
            memory.write(line, &[0; 64], Mask::MAX);
            out.push(Effect::Observed(Event::Write { number: request.number, line }));
            return true;
        }
        let (from, number) = (request.reads(), request.number);
        if self.lines < from.end - from.start {
            let source = Line(from.start + self.lines);
            let data = memory.read(source);
            out.push(Effect::Observed(Event::Read { number, line: source }));
            if request.kind.logs() {
                self.checksum.block(&data);
                memory.write(self.log_line(64 + 64 * self.lines), &data, Mask::MAX);
            } else {
                self.copy_line(&data, memory, out);
            }
            self.lines += 1;
            out.push(Effect::Copied);
            return !request.kind.logs() && self.lines == from.end - from.start;
        }
        let header = LogHeader {
            address: request.source,
            size: request.size.into(),
            transaction: request.destination,
            checksum: self.checksum.value(),
        };
        memory.write(self.log_line(0), &header.encode(), Mask::MAX);
        true
    }

    /// Copies work on whole lines: both ends begin at the same place of a line.
    fn copy_line(&self, data: &[u8; 64], memory: &mut dyn Bytes, out: &mut Vec<Effect>) {
        let to = Line(self.request.writes().start + self.lines);
        let first = (self.request.destination.saturating_sub(to.address())).min(63);
        let end = (self.request.destination + u64::from(self.request.size) - to.address()).min(64);
        let mask = protocol::mask_of(first as usize, (end - first) as usize);
        memory.write(to, data, mask);
        out.push(Effect::Observed(Event::Write { number: self.request.number, line: to }));
    }
}
