//! The core side of HOPS: one epoch after the other, dependences resolved by polling.

use crate::path::{Path, PathCore, Policy};
use crate::spec::{HopsSpec, PathSpec};
use protocol::{FlushRequest, Msg, Outbox, Peer};
use units::Time;

/// The core side of HOPS.
pub type HopsCore = PathCore<Conservative>;

/// Flushes the oldest epoch alone.
pub struct Conservative {
    spec: HopsSpec,
    /// When the register is looked at next, while an epoch waits for another core.
    poll_at: Time,
    polling: bool,
}

impl PathCore<Conservative> {
    /// Nothing buffered, one epoch open.
    pub fn new(path: PathSpec, spec: HopsSpec) -> HopsCore {
        PathCore::with(path, Conservative { spec, poll_at: Time::NEVER, polling: false })
    }
}

impl Conservative {
    /// The register is polled at whole multiples of the period while somebody waits.
    fn schedule_poll(&mut self, path: &Path, now: Time) {
        if !self.polling && self.poll_at == Time::NEVER && path.tracker.epochs.first_wait().is_some() {
            let period = self.spec.poll.as_ps();
            self.poll_at = Time::from_ps((now.ps() / period + 1) * period);
        }
    }
}

impl Policy for Conservative {
    /// The oldest entry, if its epoch is the oldest and waits for nobody.
    fn sendable(&self, path: &Path) -> Option<u16> {
        let oldest = path.tracker.epochs.oldest();
        let (slot, entry) = path.buffer.oldest()?;
        (entry.epoch == oldest.id && oldest.waits_on.is_none()).then_some(slot)
    }

    fn drains_eagerly(&self, path: &Path) -> bool {
        path.draining
    }

    fn flush(&mut self, path: &mut Path, now: Time, slot: u16, out: &mut Outbox) {
        let entry = path.buffer.send(slot);
        let (core, epoch, write) = (path.spec.core, entry.epoch, entry.write);
        let request = FlushRequest { core, slot, epoch, early: false, retry: false, write };
        out.send(now, Peer::Controller(path.spec.map.controller(write.line)), Msg::Flush(request));
        path.safe_flushes += 1;
    }

    fn advance(&mut self, path: &mut Path, now: Time, out: &mut Outbox) {
        while path.tracker.epochs.oldest().may_commit() {
            let Some(epoch) = path.tracker.epochs.pop() else { break };
            out.send(now, Peer::Register, Msg::Publish { epoch: epoch.id });
            path.tracker.untag(now, epoch.id, out);
        }
        self.schedule_poll(path, now);
    }

    fn on(&mut self, path: &mut Path, _: Time, msg: &Msg, _: &mut Outbox) {
        match *msg {
            Msg::Timestamp { tag } => {
                self.polling = false;
                path.tracker.epochs.resolve(tag);
            }
            // HOPS resolves dependences by polling; nobody is told.
            Msg::Register { .. } => {}
            _ => debug_assert!(false, "no message for a persist buffer: {msg:?}"),
        }
    }

    fn timer(&self) -> Time {
        self.poll_at
    }

    /// Nobody is told: others look at the register.
    fn has_pending_replies(&self) -> bool {
        false
    }

    fn on_timer(&mut self, path: &mut Path, now: Time, out: &mut Outbox) {
        self.poll_at = Time::NEVER;
        if let Some(tag) = path.tracker.epochs.first_wait() {
            self.polling = true;
            out.send(now, Peer::Register, Msg::Poll { core: tag.core });
        }
    }
}
