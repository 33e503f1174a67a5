//! The core side of HOPS: one epoch after the other, dependences resolved by polling.

use super::HopsSpec;
use super::Mutant;
use crate::path::{Path, PathCore, Policy};
use crate::spec::PathSpec;
use protocol::{Msg, Outbox, Peer, messages};
use std::hash::{Hash, Hasher};
use units::Time;

/// The core side of HOPS.
pub type HopsCore = PathCore<Conservative>;

/// Flushes the oldest epoch alone.
#[derive(Clone)]
pub struct Conservative {
    spec: HopsSpec,
    /// A seeded mistake; none in every machine.
    mutant: Option<Mutant>,
    /// When the register is looked at next, while an epoch waits for another core.
    poll_at: Time,
    polling: bool,
}

impl PathCore<Conservative> {
    /// Nothing buffered, one epoch open.
    pub fn new(path: PathSpec, spec: HopsSpec) -> HopsCore {
        HopsCore::seeded(path, spec, None)
    }

    /// The same with a mistake, for the explorer.
    pub fn seeded(path: PathSpec, spec: HopsSpec, mutant: Option<Mutant>) -> HopsCore {
        PathCore::with(path, Conservative { spec, mutant, poll_at: Time::NEVER, polling: false })
    }

    /// When the register is asked next; [`Time::NEVER`] while nobody waits, or for its answer.
    pub fn poll_at(&self) -> Time {
        self.policy.poll_at
    }
}

/// Whether a poll is due some time, not when.
impl Hash for Conservative {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Conservative { spec: _, mutant: _, poll_at, polling } = self;
        (*poll_at == Time::NEVER, polling).hash(into);
    }
}

impl Conservative {
    /// Whether the oldest epoch is durable, and nothing before it is not.
    fn may_commit(&self, path: &Path) -> bool {
        let oldest = path.tracker.epochs.oldest();
        let ignored = self.mutant == Some(Mutant::IgnoresDependence);
        let unacknowledged = self.mutant == Some(Mutant::PublishesUnacknowledged);
        let waits = oldest.waits_on.is_some() && !ignored;
        oldest.closed && !waits && (oldest.pending == 0 || unacknowledged)
    }

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
        let of_oldest = entry.epoch == oldest.id || self.mutant == Some(Mutant::FlushesPastEpochs);
        let waits = oldest.waits_on.is_some() && self.mutant != Some(Mutant::IgnoresDependence);
        (of_oldest && !waits).then_some(slot)
    }

    fn drains_eagerly(&self, path: &Path) -> bool {
        path.draining
    }

    fn advance(&mut self, path: &mut Path, now: Time, out: &mut Outbox) {
        while self.may_commit(path) {
            let Some(epoch) = path.tracker.epochs.pop() else { break };
            out.send(now, Peer::TimestampRegister, Msg::Publish { epoch: epoch.id });
            path.tracker.untag(now, epoch.id, out);
        }
        self.schedule_poll(path, now);
    }

    fn on(&mut self, path: &mut Path, _: Time, msg: &Msg, _: &mut Outbox) {
        match *msg {
            Msg::Timestamp { tag } => {
                self.polling = false;
                match path.tracker.epochs.first_wait() {
                    Some(wanted) if self.mutant == Some(Mutant::TakesAnyTimestamp) => {
                        path.tracker.epochs.resolve(wanted);
                    }
                    _ => path.tracker.epochs.resolve(tag),
                }
            }
            // HOPS resolves dependences by polling; nobody is told.
            Msg::AddDependent { .. } => {}
            Msg::CrossDependencyResolved { .. }
            | Msg::Publish { .. }
            | Msg::Poll { .. }
            | messages!(timers | caches | memory | persists | acknowledgements | uncached | near) => {
                protocol::unexpected("a persist buffer", msg)
            }
        }
    }

    fn timer(&self) -> Time {
        self.poll_at
    }

    fn on_timer(&mut self, path: &mut Path, now: Time, out: &mut Outbox) {
        self.poll_at = Time::NEVER;
        if let Some(tag) = path.tracker.epochs.first_wait() {
            self.polling = true;
            out.send(now, Peer::TimestampRegister, Msg::Poll { core: tag.core });
        }
    }
}
