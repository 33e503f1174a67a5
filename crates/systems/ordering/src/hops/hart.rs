//! The hart side of HOPS.

use crate::path::{Blocked, Pace, PersistBuffer, Tracker};
use crate::spec::{HopsSpec, PathSpec};
use protocol::{
    EpochId, EpochTag, FenceKind, FlushRequest, Full, HartOrdering, Line, LineWrite, Msg, Outbox, Peer,
    StatSink, Traits,
};
use units::Time;

/// The hart side of HOPS.
pub struct HopsHart {
    spec: PathSpec,
    hops: HopsSpec,
    buffer: PersistBuffer,
    tracker: Tracker,
    pace: Pace,
    draining: bool,
    /// When the register is looked at next, while an epoch waits for another hart.
    poll_at: Time,
    polling: bool,
    blocked: Blocked,
    flushes: u64,
}

impl HopsHart {
    /// Nothing buffered, one epoch open.
    pub fn new(spec: PathSpec, hops: HopsSpec) -> HopsHart {
        HopsHart {
            buffer: PersistBuffer::new(spec.persist_buffer),
            tracker: Tracker::new(spec),
            pace: Pace::new(&spec),
            draining: false,
            poll_at: Time::NEVER,
            polling: false,
            blocked: Blocked::default(),
            flushes: 0,
            spec,
            hops,
        }
    }

    /// The oldest entry, if its epoch is the oldest and waits for nobody.
    fn sendable(&self) -> Option<u16> {
        let oldest = self.tracker.epochs.oldest();
        let (slot, entry) = self.buffer.oldest()?;
        (entry.epoch == oldest.id && oldest.waits_on.is_none()).then_some(slot)
    }

    fn advance(&mut self, now: Time, out: &mut Outbox) {
        while self.tracker.epochs.oldest().may_commit() {
            let Some(epoch) = self.tracker.epochs.pop() else { break };
            out.send(now, Peer::Register, Msg::Publish { epoch: epoch.id });
            self.tracker.untag(now, epoch.id, out);
        }
        self.schedule_poll(now);
        self.pace.not_before(now);
        self.blocked.set(now, self.buffer.unsent() > 0 && self.sendable().is_none());
    }

    /// The register is polled at whole multiples of the period while somebody waits.
    fn schedule_poll(&mut self, now: Time) {
        if self.polling || self.tracker.epochs.first_wait().is_none() {
            return;
        }
        if self.poll_at == Time::NEVER {
            let period = self.hops.poll.as_ps();
            self.poll_at = Time::from_ps((now.ps() / period + 1) * period);
        }
    }

    fn poll(&mut self, now: Time, out: &mut Outbox) {
        self.poll_at = Time::NEVER;
        if let Some(tag) = self.tracker.epochs.first_wait() {
            self.polling = true;
            out.send(now, Peer::Register, Msg::Poll { hart: tag.hart });
        }
    }

    fn flush(&mut self, now: Time, slot: u16, out: &mut Outbox) {
        let entry = self.buffer.send(slot);
        let (hart, epoch, write) = (self.spec.hart, entry.epoch, entry.write);
        let request = FlushRequest { hart, slot, epoch, early: false, retry: false, write };
        out.send(now, Peer::Controller(self.spec.map.controller(write.line)), Msg::Flush(request));
        self.flushes += 1;
        self.pace.sent(now);
    }
}

impl HartOrdering for HopsHart {
    fn traits(&self) -> Traits {
        Traits { persist_path: true, flush_instructions: false, caches_persist: false, fences: true }
    }

    fn store(&mut self, now: Time, write: &LineWrite, out: &mut Outbox) -> Result<EpochId, Full> {
        let epoch = self.tracker.epochs.open();
        let new = self.buffer.insert(now, write, epoch)?;
        self.pace.woken(now);
        self.tracker.epochs.write(new);
        self.advance(now, out);
        Ok(epoch)
    }

    fn fence(&mut self, now: Time, kind: FenceKind, out: &mut Outbox) -> Result<(), Full> {
        let closed = self.tracker.epochs.close();
        self.advance(now, out);
        closed?;
        self.draining = kind == FenceKind::Dfence && !self.tracker.epochs.is_drained();
        if self.draining { Err(Full) } else { Ok(()) }
    }

    fn release(&mut self, now: Time, _: Line, out: &mut Outbox) -> Result<EpochId, Full> {
        let epoch = self.tracker.release();
        self.advance(now, out);
        epoch
    }

    fn acquire(&mut self, now: Time, line: Line, out: &mut Outbox) -> Result<(), Full> {
        let acquired = self.tracker.acquire(line);
        self.advance(now, out);
        acquired
    }

    fn received(
        &mut self,
        now: Time,
        line: Line,
        tag: EpochTag,
        modify: bool,
        out: &mut Outbox,
    ) -> Result<(), Full> {
        let received = self.tracker.received(line, tag, modify);
        self.advance(now, out);
        received
    }

    fn snooped(
        &mut self,
        now: Time,
        line: Line,
        written: EpochId,
        released: EpochId,
        out: &mut Outbox,
    ) -> Result<Option<EpochTag>, Full> {
        let tag = self.tracker.snooped(line, written, released);
        self.advance(now, out);
        tag
    }

    fn split(&mut self, now: Time, epoch: EpochId, out: &mut Outbox) {
        // A full table closes this epoch later: whoever waits asks again when the table moves.
        if epoch == self.tracker.epochs.open() && self.tracker.epochs.close().is_ok() {
            self.advance(now, out);
        }
    }

    fn holds(&self, line: Line) -> bool {
        self.buffer.holds(line)
    }

    fn committed(&self) -> EpochId {
        self.tracker.epochs.committed()
    }

    fn on(&mut self, now: Time, _: Peer, msg: &Msg, out: &mut Outbox) {
        match *msg {
            Msg::Ack { slot } => {
                let epoch = self.buffer.acknowledge(now, slot);
                if let Some(e) = self.tracker.epochs.get_mut(epoch) {
                    e.pending -= 1;
                }
            }
            Msg::Timestamp { tag } => {
                self.polling = false;
                self.tracker.epochs.resolve(tag);
            }
            // HOPS resolves dependences by polling; nobody is told.
            Msg::Register { .. } => {}
            _ => debug_assert!(false, "no message for a persist buffer: {msg:?}"),
        }
        self.advance(now, out);
    }

    fn next(&self) -> Time {
        let flush = match self.sendable() {
            Some(_) => self.pace.next(self.buffer.unsent(), self.draining),
            None => Time::NEVER,
        };
        flush.min(self.poll_at)
    }

    fn tick(&mut self, now: Time, out: &mut Outbox) {
        if self.poll_at <= now {
            self.poll(now, out);
        }
        if let Some(slot) = self.sendable()
            && self.pace.next(self.buffer.unsent(), self.draining) <= now
        {
            self.flush(now, slot, out);
        }
        self.advance(now, out);
    }

    fn idle(&self) -> bool {
        self.buffer.used() == 0
    }

    fn level(&self) -> usize {
        self.buffer.used()
    }

    /// Persist buffers are volatile: what no controller has accepted is lost.
    fn power_fail(&self, _: &mut dyn FnMut(Time, &LineWrite)) {}

    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        self.blocked.pass(now);
        self.buffer.occupancy.pass(now);
        self.tracker.hand_up(sink);
        sink.count("ordering.safe_flushes", self.flushes);
        sink.count("ordering.entries", self.buffer.inserted);
        sink.count("ordering.coalesced_stores", self.buffer.coalesced);
        sink.time("ordering.blocked", self.blocked.total);
        sink.occupancy("ordering.persist_buffer", &self.buffer.occupancy);
    }
}
