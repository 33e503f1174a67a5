//! The core side of a persist path: what all of them do alike. A policy says which entry may go, what a message
//! means to it, and what commits.

use super::{
    Blocked, BufferStats, CAPABILITIES, DependenceStats, EpochStats, FlushStats, Pace, PersistBuffer,
    Regions, Tracker,
};
use crate::spec::PathSpec;
use protocol::{
    Capabilities, CoreOrdering, EpochId, EpochTag, FenceKind, FlushRequest, Line, LineWrite, Msg, Outbox,
    Peer, StatSink, WouldBlock,
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
    /// Where the epochs are not the program's.
    pub(crate) regions: Option<Regions>,
}

/// What decides about the future, without times and counts.
impl Hash for Path {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Path { spec: _, buffer, tracker, pace: _, draining, blocked: _, safe_flushes: _, regions } = self;
        (buffer, tracker, draining, regions).hash(into);
    }
}

impl Path {
    /// Sends an entry that nothing can undo any more to its controller, and gives its epoch.
    pub(crate) fn send(&mut self, now: Time, slot: u16, out: &mut Outbox) -> EpochId {
        let entry = self.buffer.send(slot);
        let (core, epoch, write) = (self.spec.core, entry.epoch, entry.write);
        let request = FlushRequest {
            core,
            slot,
            epoch,
            early: false,
            retry: false,
            after_core: 0,
            after_epoch: 0,
            write,
        };
        out.send(now, Peer::Controller(self.spec.map.controller(write.line)), Msg::Flush(request));
        self.safe_flushes += 1;
        epoch
    }

    /// Sends what waits of a line, oldest first, before the line goes to another core: both take the same time on the wire, so
    /// the controller sees the older write first.
    pub(crate) fn send_line(&mut self, now: Time, line: Line, out: &mut Outbox) {
        while let Some(slot) = self.buffer.oldest_on(line) {
            self.send(now, slot, out);
        }
    }
}

/// A line that another core asks for.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Which.
    pub line: Line,
    /// The epoch that wrote it last, 0 for none.
    pub written: EpochId,
    /// The epoch that released it last, 0 for none.
    pub released: EpochId,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// It goes, and who takes it depends on what this core wrote.
    Tracked,
    /// It goes, and nothing depends on it.
    Free,
    /// It stays until what this core wrote is durable.
    Stays,
}

/// What distinguishes one persist path from another.
pub trait Policy {
    /// Whether a store to `line` may join the open epoch now.
    fn admits(&self, path: &Path, line: Line) -> bool {
        let _ = (path, line);
        true
    }
    /// A store that is taken into what an older epoch wrote, of which it gives the number.
    fn joins(&mut self, path: &mut Path, now: Time, write: &LineWrite) -> Option<EpochId> {
        let _ = (path, now, write);
        None
    }
    /// A store to `line` has joined the open epoch.
    fn stored(&mut self, path: &mut Path, line: Line) {
        let _ = (path, line);
    }
    /// What the program stores next to `line` is a release; everything before is in a closed epoch.
    fn releases(&mut self, line: Line) {
        let _ = line;
    }
    /// A fence of the program has ended an epoch.
    fn fenced(&mut self, path: &Path) {
        let _ = path;
    }
    /// Whether nothing comes of a store that finds no room: then who asks again may as well not.
    fn refuses_quietly(&self) -> bool {
        false
    }
    /// A store to `line` was not admitted, or found no room. Whether entries may go now that could not.
    fn refused(&mut self, path: &mut Path, line: Line) -> bool {
        let _ = (path, line);
        false
    }
    /// Somebody waits until `epoch` is durable: a fence, a line that has to leave, a full epoch table. Whether entries may
    /// go now that could not.
    fn presses(&mut self, path: &mut Path, epoch: EpochId) -> bool {
        let _ = (path, epoch);
        false
    }
    /// Another core asks for a line.
    fn hands_over(&mut self, path: &mut Path, now: Time, asked: Asked, out: &mut Outbox) -> HandOver {
        let _ = (path, now, asked, out);
        HandOver::Tracked
    }
    /// The last epoch whose writes survive a power failure, with all before them.
    fn committed(&self, path: &Path) -> EpochId {
        path.tracker.epochs.committed()
    }
    /// Whether entries would go if order let them.
    fn would_send(&self, path: &Path) -> bool {
        let _ = path;
        true
    }
    /// The entry that may go next.
    fn sendable(&self, path: &Path) -> Option<u16>;
    /// Whether entries go without waiting for the trigger.
    fn drains_eagerly(&self, path: &Path) -> bool;
    /// Sends an entry; one that nothing can undo any more unless the policy says otherwise.
    fn flush(&mut self, path: &mut Path, now: Time, slot: u16, out: &mut Outbox) {
        path.send(now, slot, out);
    }
    /// Something changed: commits what may commit.
    fn advance(&mut self, path: &mut Path, now: Time, out: &mut Outbox);
    /// A message that only this policy knows.
    fn on(&mut self, path: &mut Path, now: Time, msg: &Msg, out: &mut Outbox);
    /// A timer of the policy's own.
    fn timer(&self) -> Time {
        Time::NEVER
    }
    /// As [`CoreOrdering::has_pending_replies`].
    fn has_pending_replies(&self) -> bool {
        false
    }
    /// That timer has come.
    fn on_timer(&mut self, path: &mut Path, now: Time, out: &mut Outbox) {
        let _ = (path, now, out);
    }
    /// Whether a program's fences and releases end epochs.
    fn follows_program(&self) -> bool {
        true
    }
    /// Whether a dfence waits until everything before it is acknowledged.
    fn drains_at_dfence(&self) -> bool {
        true
    }
    /// The power fails: gives the writes that this half saves.
    fn power_fail(&self, path: &Path, save: &mut dyn FnMut(Time, &LineWrite)) {
        let _ = (path, save);
    }
    /// Whether an epoch may have to wait for another core's.
    fn depends(&self) -> bool {
        true
    }
    /// Hands up what waits, and what only this policy counts.
    fn stats(&self, waits: &BufferStats, sink: &mut dyn StatSink) {
        waits.hand_up(sink);
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
            regions: None,
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
        let blocked = armed && self.sendable.is_none() && self.policy.would_send(&self.path);
        self.path.blocked.set(now, blocked);
    }

    /// The same, with an epoch that ends after so many stores.
    pub(crate) fn in_regions(mut self, stores: usize) -> PathCore<P> {
        self.path.regions = Some(Regions::new(stores));
        self
    }

    /// Ends a region that has all its stores.
    fn begin_region(&mut self, now: Time, out: &mut Outbox) -> Result<(), WouldBlock> {
        let Path { regions, tracker, .. } = &mut self.path;
        let Some(regions) = regions else { return Ok(()) };
        if regions.may_store(tracker.epochs.open()) {
            return Ok(());
        }
        let ended = tracker.epochs.close();
        let ended = self.pressed(ended);
        self.advance(now, out);
        ended
    }

    /// A full epoch table has room once its oldest epoch is durable.
    fn pressed<T>(&mut self, done: Result<T, WouldBlock>) -> Result<T, WouldBlock> {
        if done.is_err() {
            let oldest = self.path.tracker.epochs.oldest().id;
            self.policy.presses(&mut self.path, oldest);
        }
        done
    }

    /// A store that finds no room, or comes too early.
    fn refused(&mut self, now: Time, line: Line) {
        // A region that has ended may go.
        if self.policy.refused(&mut self.path, line) || self.path.regions.is_some() {
            self.look_again(now);
        }
    }

    fn next_flush(&self) -> Option<(u16, Time)> {
        let slot = self.sendable?;
        Some((slot, self.path.pace.next(self.path.buffer.unsent(), self.policy.drains_eagerly(&self.path))))
    }
}

impl<P: Policy> CoreOrdering for PathCore<P> {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn store(&mut self, now: Time, write: &LineWrite, out: &mut Outbox) -> Result<EpochId, WouldBlock> {
        self.begin_region(now, out)?;
        if self.path.tracker.counts_at_stores() {
            self.acquire(now, write.line, out)?;
        }
        if let Some(epoch) = self.policy.joins(&mut self.path, now, write) {
            return Ok(epoch);
        }
        let epoch = self.path.tracker.epochs.open();
        let admitted = self.policy.admits(&self.path, write.line);
        let inserted = if admitted { self.path.buffer.insert(now, write, epoch) } else { Err(WouldBlock) };
        let Ok(new) = inserted else {
            self.refused(now, write.line);
            return Err(WouldBlock);
        };
        self.path.pace.woken(now);
        self.path.tracker.epochs.write(new);
        if let Some(regions) = &mut self.path.regions {
            regions.stored(epoch);
        }
        self.policy.stored(&mut self.path, write.line);
        // A write into the open epoch lets no epoch commit.
        self.look_again(now);
        Ok(epoch)
    }

    fn refuses(&self) -> bool {
        let Path { buffer, tracker, regions, .. } = &self.path;
        regions.is_none() && self.policy.refuses_quietly() && buffer.is_closed(tracker.epochs.open())
    }

    fn fence(&mut self, now: Time, kind: FenceKind, out: &mut Outbox) -> Result<(), WouldBlock> {
        if !self.policy.follows_program() {
            return Ok(());
        }
        let closed = self.path.tracker.epochs.close();
        let closed = self.pressed(closed);
        if kind == FenceKind::Dfence {
            let last = self.path.tracker.epochs.last_closed_in_flight();
            self.policy.presses(&mut self.path, last);
        }
        self.advance(now, out);
        closed?;
        self.policy.fenced(&self.path);
        let waits = kind == FenceKind::Dfence && self.policy.drains_at_dfence();
        self.path.draining = waits && !self.path.tracker.epochs.is_drained();
        if self.path.draining { Err(WouldBlock) } else { Ok(()) }
    }

    fn release(&mut self, now: Time, line: Line, out: &mut Outbox) -> Result<EpochId, WouldBlock> {
        if !self.policy.follows_program() {
            return Ok(0);
        }
        let epoch = self.path.tracker.release();
        let epoch = self.pressed(epoch);
        if epoch.is_ok() {
            self.policy.releases(line);
        }
        self.advance(now, out);
        epoch
    }

    fn acquire(&mut self, now: Time, line: Line, out: &mut Outbox) -> Result<(), WouldBlock> {
        let acquired = self.path.tracker.acquire(line);
        // Of a line that nobody handed on with an epoch there is nothing to wait for, and nothing has changed.
        if let Ok(false) = acquired {
            return Ok(());
        }
        let acquired = self.pressed(acquired.map(drop));
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
        let received = self.pressed(received);
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
        let asked = Asked { line, written, released };
        let tag = match self.policy.hands_over(&mut self.path, now, asked, out) {
            HandOver::Tracked => {
                let tag = self.path.tracker.snooped(line, written, released);
                self.pressed(tag)
            }
            HandOver::Free => Ok(None),
            HandOver::Stays => Err(WouldBlock),
        };
        self.advance(now, out);
        tag
    }

    fn split(&mut self, now: Time, epoch: EpochId, out: &mut Outbox) {
        // A full table closes this epoch later: whoever waits asks again when the table moves.
        let closed = epoch == self.path.tracker.epochs.open() && self.path.tracker.epochs.close().is_ok();
        if self.policy.presses(&mut self.path, epoch) || closed {
            self.advance(now, out);
        }
    }

    fn holds(&self, line: Line) -> bool {
        self.path.buffer.holds(line)
    }

    fn committed(&self) -> EpochId {
        self.policy.committed(&self.path)
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

    /// Persist buffers are volatile, unless the policy says otherwise: what no controller has accepted is lost.
    fn power_fail(&self, save: &mut dyn FnMut(Time, &LineWrite)) {
        self.policy.power_fail(&self.path, save);
    }

    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        let path = &mut self.path;
        path.blocked.pass(now);
        path.buffer.stats.persist_buffer.pass(now);
        let epochs = &path.tracker.epochs;
        let counted = EpochStats { epochs: epochs.closed_count, blocked: path.blocked.total };
        counted.hand_up(sink);
        if self.policy.depends() {
            DependenceStats { cross_dependences: epochs.dependence_count }.hand_up(sink);
        }
        FlushStats { safe_flushes: path.safe_flushes }.hand_up(sink);
        self.policy.stats(&path.buffer.stats, sink);
    }
}
