//! The core side of a persist path: what HOPS and ASAP do alike. A policy says which entry may go, what a message
//! means to it, and what commits.

use super::{Blocked, CAPABILITIES, EpochStats, FlushStats, Pace, PersistBuffer, Tracker};
use crate::spec::PathSpec;
use protocol::{
    Capabilities, CoreOrdering, EpochId, EpochTag, FenceKind, Line, LineWrite, Msg, Outbox, Peer, StatSink,
    WouldBlock,
};
use std::hash::{Hash, Hasher};
use units::Time;

/// Buffer, epochs and pace of one core.
#[derive(Clone)]
pub struct Path {
    pub(crate) spec: PathSpec,
    pub(crate) buffer: PersistBuffer,
    pub(crate) tracker: Tracker,
    pub(crate) pace: Pace,
    /// A dfence waits.
    pub(crate) draining: bool,
    pub(crate) blocked: Blocked,
    pub(crate) safe_flushes: u64,
}

/// What decides about the future, without times and counts.
impl Hash for Path {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Path { spec: _, buffer, tracker, pace: _, draining, blocked: _, safe_flushes: _ } = self;
        (buffer, tracker, draining).hash(into);
    }
}

/// What distinguishes one persist path from another.
pub trait Policy {
    /// The entry that may go next.
    fn sendable(&self, path: &Path) -> Option<u16>;
    /// Whether entries go without waiting for the trigger.
    fn drains_eagerly(&self, path: &Path) -> bool;
    /// Sends an entry.
    fn flush(&mut self, path: &mut Path, now: Time, slot: u16, out: &mut Outbox);
    /// Something changed: commits what may commit.
    fn advance(&mut self, path: &mut Path, now: Time, out: &mut Outbox);
    /// A message that only this policy knows.
    fn on(&mut self, path: &mut Path, now: Time, msg: &Msg, out: &mut Outbox);
    /// A timer of the policy's own.
    fn timer(&self) -> Time;
    /// As [`CoreOrdering::has_pending_replies`].
    fn has_pending_replies(&self) -> bool;
    /// That timer has come.
    fn on_timer(&mut self, path: &mut Path, now: Time, out: &mut Outbox);
    /// Hands up what only this policy counts.
    fn stats(&self, sink: &mut dyn StatSink) {
        let _ = sink;
    }
}

/// The core side of a persist path under a policy.
#[derive(Clone)]
pub struct PathCore<P> {
    pub(crate) path: Path,
    pub(crate) policy: P,
    /// The entry that may go next, found once for every change.
    sendable: Option<u16>,
}

/// The entry that may go next follows from the rest.
impl<P: Hash> Hash for PathCore<P> {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let PathCore { path, policy, sendable: _ } = self;
        (path, policy).hash(into);
    }
}

impl<P: Policy> PathCore<P> {
    pub(crate) fn with(spec: PathSpec, policy: P) -> PathCore<P> {
        let path = Path {
            buffer: PersistBuffer::new(spec.persist_buffer),
            tracker: Tracker::new(spec),
            pace: Pace::new(&spec),
            draining: false,
            blocked: Blocked::default(),
            safe_flushes: 0,
            spec,
        };
        PathCore { path, policy, sendable: None }
    }

    fn advance(&mut self, now: Time, out: &mut Outbox) {
        self.policy.advance(&mut self.path, now, out);
        self.look_again(now);
    }

    /// Finds the entry that may go next.
    fn look_again(&mut self, now: Time) {
        self.path.pace.not_before(now);
        self.sendable = self.policy.sendable(&self.path);
        let armed =
            self.path.pace.is_armed(self.path.buffer.unsent(), self.policy.drains_eagerly(&self.path));
        let blocked = armed && self.sendable.is_none();
        self.path.blocked.set(now, blocked);
    }

    fn next_flush(&self) -> Option<(u16, Time)> {
        let slot = self.sendable?;
        Some((slot, self.path.pace.next(self.path.buffer.unsent(), self.policy.drains_eagerly(&self.path))))
    }
}

impl<P: Policy> CoreOrdering for PathCore<P> {
    fn traits(&self) -> Capabilities {
        CAPABILITIES
    }

    fn store(&mut self, now: Time, write: &LineWrite, _: &mut Outbox) -> Result<EpochId, WouldBlock> {
        let epoch = self.path.tracker.epochs.open();
        let new = self.path.buffer.insert(now, write, epoch)?;
        self.path.pace.woken(now);
        self.path.tracker.epochs.write(new);
        // A write into the open epoch lets no epoch commit.
        self.look_again(now);
        Ok(epoch)
    }

    fn fence(&mut self, now: Time, kind: FenceKind, out: &mut Outbox) -> Result<(), WouldBlock> {
        let closed = self.path.tracker.epochs.close();
        self.advance(now, out);
        closed?;
        self.path.draining = kind == FenceKind::Dfence && !self.path.tracker.epochs.is_drained();
        if self.path.draining { Err(WouldBlock) } else { Ok(()) }
    }

    fn release(&mut self, now: Time, _: Line, out: &mut Outbox) -> Result<EpochId, WouldBlock> {
        let epoch = self.path.tracker.release();
        self.advance(now, out);
        epoch
    }

    fn acquire(&mut self, now: Time, line: Line, out: &mut Outbox) -> Result<(), WouldBlock> {
        let acquired = self.path.tracker.acquire(line);
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
    ) -> Result<(), WouldBlock> {
        let received = self.path.tracker.received(line, tag, modify);
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
    ) -> Result<Option<EpochTag>, WouldBlock> {
        let tag = self.path.tracker.snooped(line, written, released);
        self.advance(now, out);
        tag
    }

    fn split(&mut self, now: Time, epoch: EpochId, out: &mut Outbox) {
        // A full table closes this epoch later: whoever waits asks again when the table moves.
        if epoch == self.path.tracker.epochs.open() && self.path.tracker.epochs.close().is_ok() {
            self.advance(now, out);
        }
    }

    fn holds(&self, line: Line) -> bool {
        self.path.buffer.holds(line)
    }

    fn committed(&self) -> EpochId {
        self.path.tracker.epochs.committed()
    }

    fn on(&mut self, now: Time, _: Peer, msg: &Msg, out: &mut Outbox) {
        if let Msg::Ack { slot } = *msg {
            let epoch = self.path.buffer.acknowledge(now, slot);
            if let Some(e) = self.path.tracker.epochs.get_mut(epoch) {
                e.pending -= 1;
            }
        } else {
            self.policy.on(&mut self.path, now, msg, out);
        }
        self.advance(now, out);
    }

    fn next(&self) -> Time {
        self.next_flush().map_or(Time::NEVER, |(_, at)| at).min(self.policy.timer())
    }

    fn tick(&mut self, now: Time, out: &mut Outbox) {
        if self.policy.timer() <= now {
            self.policy.on_timer(&mut self.path, now, out);
        }
        if let Some((slot, at)) = self.next_flush()
            && at <= now
        {
            self.policy.flush(&mut self.path, now, slot, out);
            self.path.pace.sent(now);
        }
        self.advance(now, out);
    }

    fn has_pending_replies(&self) -> bool {
        self.policy.has_pending_replies()
    }

    fn level(&self) -> usize {
        self.path.buffer.used()
    }

    /// Persist buffers are volatile: what no controller has accepted is lost.
    fn power_fail(&self, _: &mut dyn FnMut(Time, &LineWrite)) {}

    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        let path = &mut self.path;
        path.blocked.pass(now);
        path.buffer.stats.persist_buffer.pass(now);
        let epochs = &path.tracker.epochs;
        let counted = EpochStats {
            epochs: epochs.closed_count,
            cross_dependences: epochs.dependence_count,
            blocked: path.blocked.total,
        };
        counted.hand_up(sink);
        FlushStats { safe_flushes: path.safe_flushes }.hand_up(sink);
        path.buffer.stats.hand_up(sink);
        self.policy.stats(sink);
    }
}
