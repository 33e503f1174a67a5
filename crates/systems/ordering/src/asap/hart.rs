//! The hart side: persist buffer and epoch table.

use crate::path::{Blocked, Epoch, Pace, PersistBuffer, Tracker};
use crate::spec::{AsapSpec, PathSpec};
use protocol::{
    EpochId, EpochTag, FenceKind, FlushRequest, Full, HartOrdering, Line, LineWrite, Msg, Outbox, Peer,
    StatSink, Traits,
};
use units::Time;

/// The hart side of ASAP.
pub struct AsapHart {
    spec: PathSpec,
    asap: AsapSpec,
    buffer: PersistBuffer,
    tracker: Tracker,
    pace: Pace,
    /// Entries that a controller refused and that have not gone again: no early flushes meanwhile.
    refused: usize,
    /// A dfence waits.
    draining: bool,
    blocked: Blocked,
    safe_flushes: u64,
}

impl AsapHart {
    /// Nothing buffered, one epoch open.
    pub fn new(spec: PathSpec, asap: AsapSpec) -> AsapHart {
        AsapHart {
            buffer: PersistBuffer::new(spec.persist_buffer),
            tracker: Tracker::new(spec),
            pace: Pace::new(&spec),
            refused: 0,
            draining: false,
            blocked: Blocked::default(),
            safe_flushes: 0,
            spec,
            asap,
        }
    }

    fn is_safe(&self, epoch: EpochId) -> bool {
        let oldest = if self.asap.commit_pipelined {
            self.tracker.epochs.oldest_uncommitting()
        } else {
            self.tracker.epochs.oldest()
        };
        epoch == oldest.id && oldest.waits_on.is_none()
    }

    /// The entry that may go next: any in order, or after a refusal only those of the safe epoch.
    fn sendable(&self) -> Option<u16> {
        if self.asap.eager && self.refused == 0 {
            return self.buffer.oldest().map(|(slot, _)| slot);
        }
        let oldest = self.tracker.epochs.oldest_uncommitting().id;
        if self.is_safe(oldest) { self.buffer.oldest_of(oldest) } else { None }
    }

    fn flush(&mut self, now: Time, slot: u16, out: &mut Outbox) {
        let entry = self.buffer.send(slot);
        let early = !self.is_safe(entry.epoch);
        let controller = self.spec.map.controller(entry.write.line);
        if early && let Some(epoch) = self.tracker.epochs.get_mut(entry.epoch) {
            epoch.early |= 1 << controller;
        }
        self.safe_flushes += u64::from(!early);
        let retry = entry.refused;
        self.refused -= usize::from(retry);
        let hart = self.spec.hart;
        let request = FlushRequest { hart, slot, epoch: entry.epoch, early, retry, write: entry.write };
        out.send(now, Peer::Controller(controller), Msg::Flush(request));
        self.pace.sent(now);
    }

    /// Commits whatever may commit, oldest first.
    fn advance(&mut self, now: Time, out: &mut Outbox) {
        loop {
            let oldest = *self.tracker.epochs.oldest();
            if oldest.committing && oldest.commits_left == 0 {
                self.committed(now, out);
                continue;
            }
            let next =
                if self.asap.commit_pipelined { *self.tracker.epochs.oldest_uncommitting() } else { oldest };
            if next.committing || !next.may_commit() {
                break;
            }
            self.send_commits(now, &next, out);
        }
        self.pace.not_before(now);
        // Without a refusal an eager buffer is never blocked: the common case needs no search.
        let may_block = self.refused > 0 || !self.asap.eager;
        self.blocked.set(now, may_block && self.buffer.unsent() > 0 && self.sendable().is_none());
    }

    fn send_commits(&mut self, now: Time, epoch: &Epoch, out: &mut Outbox) {
        for controller in (0..self.spec.map.pm_controllers).filter(|c| epoch.early >> c & 1 == 1) {
            out.send(now, Peer::Controller(controller), Msg::Commit { epoch: epoch.id });
        }
        if let Some(e) = self.tracker.epochs.get_mut(epoch.id) {
            e.committing = true;
            e.commits_left = epoch.early.count_ones();
        }
    }

    fn committed(&mut self, now: Time, out: &mut Outbox) {
        let Some(epoch) = self.tracker.epochs.pop() else { return };
        for hart in (0..64).filter(|h| epoch.dependents >> h & 1 == 1) {
            self.tell(now, hart, epoch.id, out);
        }
        self.tracker.untag(now, epoch.id, out);
    }

    fn tell(&self, now: Time, dependent: u8, epoch: EpochId, out: &mut Outbox) {
        let tag = EpochTag { hart: self.spec.hart, epoch };
        out.send(now, Peer::Hart(dependent), Msg::CrossDependencyResolved { tag });
    }

    fn register(&mut self, now: Time, epoch: EpochId, dependent: u8, out: &mut Outbox) {
        match self.tracker.epochs.get_mut(epoch) {
            Some(e) => e.dependents |= 1 << dependent,
            None => self.tell(now, dependent, epoch, out),
        }
    }
}

impl HartOrdering for AsapHart {
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
            Msg::Nack { slot } => {
                self.buffer.refuse(slot);
                self.refused += 1;
            }
            Msg::CommitAck { epoch } => {
                if let Some(e) = self.tracker.epochs.get_mut(epoch) {
                    e.commits_left -= 1;
                }
            }
            Msg::CrossDependencyResolved { tag } => self.tracker.epochs.resolve(tag),
            Msg::Register { epoch, dependent } => self.register(now, epoch, dependent, out),
            _ => debug_assert!(false, "no message for a persist buffer: {msg:?}"),
        }
        self.advance(now, out);
    }

    fn next(&self) -> Time {
        match self.sendable() {
            Some(_) => self.pace.next(self.buffer.unsent(), self.draining || self.refused > 0),
            None => Time::NEVER,
        }
    }

    fn tick(&mut self, now: Time, out: &mut Outbox) {
        let drain = self.draining || self.refused > 0;
        if let Some(slot) = self.sendable()
            && self.pace.next(self.buffer.unsent(), drain) <= now
        {
            self.flush(now, slot, out);
            self.advance(now, out);
        }
    }

    fn idle(&self) -> bool {
        self.buffer.used() == 0 && self.tracker.epochs.oldest().commits_left == 0
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
        sink.count("ordering.safe_flushes", self.safe_flushes);
        sink.count("ordering.entries", self.buffer.inserted);
        sink.count("ordering.coalesced_stores", self.buffer.coalesced);
        sink.time("ordering.blocked", self.blocked.total);
        sink.occupancy("ordering.persist_buffer", &self.buffer.occupancy);
    }
}
