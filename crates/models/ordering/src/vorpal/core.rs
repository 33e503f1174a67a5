//! The core side of Vorpal: everything leaves at once, and controllers decide.

use super::Mutant;
use crate::path::{Awaited, Path, PathCore, Policy};
use crate::spec::PathSpec;
use protocol::{EpochId, FlushRequest, Msg, Outbox, Peer};
use std::hash::{Hash, Hasher};
use units::Time;

/// The core side of Vorpal.
pub type ClockedCore = PathCore<Clocked>;

/// Flushes whatever is there, with what it comes after.
#[derive(Clone)]
pub struct Clocked {
    /// A seeded mistake; none in every machine.
    mutant: Option<Mutant>,
    /// Entries that a controller had no room for and that have not gone again: until then only what is certain goes.
    refused: usize,
    /// The last epoch of which controllers were told that it is complete.
    told: EpochId,
    awaited: Awaited,
}

impl PathCore<Clocked> {
    /// Nothing buffered, one epoch open; `mutant` is none on every machine.
    pub fn new(path: PathSpec, mutant: Option<Mutant>) -> ClockedCore {
        PathCore::with(path, Clocked { mutant, refused: 0, told: 0, awaited: Awaited::default() })
    }
}

/// Who is awaited, and what was told, stands in the epochs too.
impl Hash for Clocked {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Clocked { mutant: _, refused, told: _, awaited: _ } = self;
        refused.hash(into);
    }
}

/// Whether everything before `epoch` is known here to be durable.
fn is_safe(path: &Path, epoch: EpochId) -> bool {
    let oldest = path.tracker.epochs.oldest();
    epoch == oldest.id && oldest.waits_on.is_none()
}

impl Policy for Clocked {
    /// The oldest entry, or after a refusal the oldest of the safe epoch: a full controller has no room to keep it.
    fn sendable(&self, path: &Path) -> Option<u16> {
        if self.refused == 0 {
            return path.buffer.oldest().map(|(slot, _)| slot);
        }
        let oldest = path.tracker.epochs.oldest().id;
        if is_safe(path, oldest) { path.buffer.oldest_of(oldest) } else { None }
    }

    fn refuses_quietly(&self) -> bool {
        true
    }

    fn drains_eagerly(&self, path: &Path) -> bool {
        path.draining || self.refused > 0
    }

    fn flush(&mut self, path: &mut Path, now: Time, slot: u16, out: &mut Outbox) {
        let entry = path.buffer.send(slot);
        let (core, epoch, write, retry) = (path.spec.core, entry.epoch, entry.write, entry.refused);
        path.safe_flushes += u64::from(is_safe(path, epoch));
        // Controllers compare, but for what goes only because it is safe.
        let early = self.refused == 0;
        self.refused -= usize::from(retry);
        let after = path.tracker.epochs.get_mut(epoch).and_then(|e| e.waits_on);
        let request = FlushRequest { core, slot, epoch, early, retry, after_core: 0, after_epoch: 0, write }
            .behind(after);
        out.send(now, Peer::Controller(path.spec.map.controller(write.line)), Msg::Flush(request));
    }

    /// Tells every controller of epochs whose writes are all there, oldest first, and forgets what is durable at all of them.
    fn advance(&mut self, path: &mut Path, now: Time, out: &mut Outbox) {
        let controllers = path.spec.map.pm_controllers;
        loop {
            let oldest = path.tracker.epochs.oldest();
            if oldest.committing && oldest.commits_left == 0 {
                self.awaited.commit(path, now, out);
                continue;
            }
            let Some(next) = path.tracker.epochs.get_mut(self.told + 1) else { break };
            if !next.closed || next.pending > 0 {
                break;
            }
            (next.committing, next.commits_left) = (true, controllers as u32);
            self.told = next.id;
            let complete = Msg::Complete { epoch: next.id, after: next.waits_on };
            (0..controllers).for_each(|c| out.send(now, Peer::Controller(c), complete));
        }
    }

    fn on(&mut self, path: &mut Path, now: Time, msg: &Msg, out: &mut Outbox) {
        let forgets = self.mutant == Some(Mutant::ForgetsRefused);
        self.refused += usize::from(self.awaited.hears(path, forgets, now, msg, out).is_some());
    }

    fn has_pending_replies(&self) -> bool {
        self.awaited.is_any()
    }
}
