//! The core side: eager flushing, commits in order, dependents told by message.

use super::EarlySpec;
use super::Mutant;
use crate::path::{Awaited, Epoch, Path, PathCore, Policy};
use crate::spec::PathSpec;
use protocol::{EpochId, FlushRequest, Msg, Outbox, Peer};
use std::hash::{Hash, Hasher};
use units::{Time, bits};

/// The core side of early flushes.
pub type EarlyCore = PathCore<Eager>;

/// Flushes whatever is there, marking what is not safe yet.
#[derive(Clone)]
pub struct Eager {
    spec: EarlySpec,
    /// The youngest epoch of which a controller refused a flush: no early flushes until it has committed (§V-D).
    refused_until: EpochId,
    awaited: Awaited,
}

impl PathCore<Eager> {
    /// Nothing buffered, one epoch open.
    pub fn new(path: PathSpec, spec: EarlySpec) -> EarlyCore {
        PathCore::with(path, Eager { spec, refused_until: 0, awaited: Awaited::default() })
    }
}

/// Who is awaited stands in the epochs too.
impl Hash for Eager {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Eager { spec: _, refused_until, awaited: _ } = self;
        refused_until.hash(into);
    }
}

impl Eager {
    fn is_safe(&self, path: &Path, epoch: EpochId) -> bool {
        let oldest = self.next_to_commit(path);
        let waits = oldest.waits_on.is_some() && self.spec.mutant != Some(Mutant::IgnoreDependence);
        epoch == oldest.id && !waits
    }

    /// Only safe flushes, after a refusal.
    fn has_fallen_back(&self, path: &Path) -> bool {
        path.tracker.epochs.oldest().id <= self.refused_until
    }

    /// What is over says nothing any more.
    fn resume(&mut self, path: &Path) {
        if !self.has_fallen_back(path) {
            self.refused_until = 0;
        }
    }

    /// The epoch that commits next: the oldest, or with pipelined commits the oldest whose commit is not out.
    fn next_to_commit<'p>(&self, path: &'p Path) -> &'p Epoch {
        if self.spec.commit_pipelined {
            path.tracker.epochs.oldest_uncommitting()
        } else {
            path.tracker.epochs.oldest()
        }
    }
}

/// Tells the controllers that have early flushes of an epoch.
fn send_commits(path: &mut Path, now: Time, id: EpochId, out: &mut Outbox) {
    let Some(epoch) = path.tracker.epochs.get_mut(id) else { return };
    for controller in bits(epoch.early) {
        out.send(now, Peer::Controller(controller as usize), Msg::Commit { epoch: id });
    }
    epoch.committing = true;
    epoch.commits_left = epoch.early.count_ones();
}

impl Policy for Eager {
    /// The oldest entry, or after a refusal the oldest of the safe epoch.
    fn sendable(&self, path: &Path) -> Option<u16> {
        if self.spec.eager && !self.has_fallen_back(path) {
            return path.buffer.oldest().map(|(slot, _)| slot);
        }
        let oldest = path.tracker.epochs.oldest_uncommitting().id;
        if self.is_safe(path, oldest) { path.buffer.oldest_of(oldest) } else { None }
    }

    fn refuses_quietly(&self) -> bool {
        true
    }

    fn drains_eagerly(&self, path: &Path) -> bool {
        path.draining || self.has_fallen_back(path)
    }

    fn flush(&mut self, path: &mut Path, now: Time, slot: u16, out: &mut Outbox) {
        let entry = path.buffer.send(slot);
        let early = !self.is_safe(path, entry.epoch);
        let controller = path.spec.map.controller(entry.write.line);
        if early && let Some(epoch) = path.tracker.epochs.get_mut(entry.epoch) {
            epoch.early |= 1 << controller;
        }
        path.safe_flushes += u64::from(!early);
        let core = path.spec.core;
        let request = FlushRequest {
            core,
            slot,
            epoch: entry.epoch,
            early,
            retry: entry.refused,
            after_core: 0,
            after_epoch: 0,
            write: entry.write,
        };
        out.send(now, Peer::Controller(controller), Msg::Flush(request));
    }

    /// Commits whatever may commit, oldest first.
    fn advance(&mut self, path: &mut Path, now: Time, out: &mut Outbox) {
        loop {
            let oldest = path.tracker.epochs.oldest();
            if oldest.committing && oldest.commits_left == 0 {
                self.awaited.commit(path, now, out);
                self.resume(path);
                continue;
            }
            if self.spec.mutant == Some(Mutant::UndoOnComplete)
                && let Some(id) = path.tracker.epochs.complete()
            {
                send_commits(path, now, id, out);
                continue;
            }
            let next = self.next_to_commit(path);
            if next.committing || !next.may_commit() {
                break;
            }
            send_commits(path, now, next.id, out);
        }
    }

    fn on(&mut self, path: &mut Path, now: Time, msg: &Msg, out: &mut Outbox) {
        let forgets = self.spec.mutant == Some(Mutant::NoNackFallback);
        if let Some(refused) = self.awaited.hears(path, forgets, now, msg, out) {
            self.refused_until = self.refused_until.max(refused);
        }
    }

    fn has_pending_replies(&self) -> bool {
        self.awaited.is_any()
    }
}
