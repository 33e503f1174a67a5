//! The core side of DPO: everything goes in order, and nothing waits for an answer from where it goes itself.

use super::Mutant;
use super::stats::DelegatedStats;
use crate::path::{Awaited, BufferStats, Path, PathCore, Policy};
use crate::spec::PathSpec;
use protocol::{Msg, Outbox, StatSink, messages};
use std::hash::{Hash, Hasher};
use units::Time;

/// The core side of DPO.
pub type DpoCore = PathCore<Delegated>;

/// Sends the oldest entry; its controller keeps the order.
#[derive(Clone)]
pub struct Delegated {
    /// A seeded mistake; none in every machine.
    mutant: Option<Mutant>,
    awaited: Awaited,
    stats: DelegatedStats,
}

impl PathCore<Delegated> {
    /// Nothing buffered, one epoch open.
    pub fn new(path: PathSpec) -> DpoCore {
        DpoCore::seeded(path, None)
    }

    /// The same with a mistake, for the explorer.
    pub fn seeded(path: PathSpec, mutant: Option<Mutant>) -> DpoCore {
        PathCore::with(
            path,
            Delegated { mutant, awaited: Awaited::default(), stats: DelegatedStats::default() },
        )
    }
}

/// Who is awaited stands in the epochs.
impl Hash for Delegated {
    fn hash<H: Hasher>(&self, _: &mut H) {
        let Delegated { mutant: _, awaited: _, stats: _ } = self;
    }
}

impl Delegated {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Whether the oldest epoch is durable, and nothing before it is not.
    fn may_commit(&self, path: &Path) -> bool {
        let oldest = path.tracker.epochs.oldest();
        let unacknowledged =
            self.is(Mutant::CommitsUnacknowledged) && oldest.closed && oldest.waits_on.is_none();
        oldest.may_commit() || unacknowledged
    }
}

impl Policy for Delegated {
    /// The oldest entry, if its epoch and those before it wait for nobody, and what came before its epoch is acknowledged or
    /// went where it goes.
    fn sendable(&self, path: &Path) -> Option<u16> {
        if self.is(Mutant::YoungestFirst) {
            return path.buffer.youngest();
        }
        let (slot, entry) = path.buffer.oldest()?;
        if path.tracker.epochs.waits_by(entry.epoch) && !self.is(Mutant::IgnoresDependence) {
            return None;
        }
        let controller = |line| path.spec.map.controller(line);
        let to = controller(entry.write.line);
        let elsewhere = path
            .buffer
            .entries()
            .any(|e| e.flying && e.epoch < entry.epoch && controller(e.write.line) != to);
        (!elsewhere || self.is(Mutant::PassesControllers)).then_some(slot)
    }

    fn drains_eagerly(&self, path: &Path) -> bool {
        path.draining
    }

    fn flush(&mut self, path: &mut Path, now: Time, slot: u16, out: &mut Outbox) {
        let epoch = path.send(now, slot, out);
        let behind = path.buffer.entries().any(|e| e.flying && e.epoch < epoch);
        self.stats.delegated_flushes += u64::from(behind);
    }

    fn advance(&mut self, path: &mut Path, now: Time, out: &mut Outbox) {
        while self.may_commit(path) && self.awaited.commit(path, now, out) {}
    }

    fn on(&mut self, path: &mut Path, now: Time, msg: &Msg, out: &mut Outbox) {
        match *msg {
            Msg::CrossDependencyResolved { tag } => path.tracker.epochs.resolve(tag),
            Msg::AddDependent { epoch, dependent } => self.awaited.add(path, now, epoch, dependent, out),
            messages!(timers | caches | memory | persists | acknowledgements | timestamps)
            | messages!(uncached | near) => protocol::unexpected("a persist buffer", msg),
        }
    }

    fn has_pending_replies(&self) -> bool {
        self.awaited.is_any()
    }

    fn stats(&self, waits: &BufferStats, sink: &mut dyn StatSink) {
        waits.hand_up(sink);
        self.stats.hand_up(sink);
    }
}
