//! The core side of PPA: everything goes in order, and a region's end waits for it.

use super::Mutant;
use super::stats::KeptStats;
use crate::path::{Asked, BufferStats, HandOver, Path, PathCore, Policy};
use crate::spec::PathSpec;
use protocol::{EpochId, Line, LineWrite, Msg, Outbox, StatSink};
use std::hash::{Hash, Hasher};
use units::Time;

/// The core side of PPA.
pub type PpaCore = PathCore<Kept>;

/// Sends the oldest entry, and keeps what a region's stores need.
#[derive(Clone)]
pub struct Kept {
    /// A seeded mistake; none in every machine.
    mutant: Option<Mutant>,
    stats: KeptStats,
}

impl PathCore<Kept> {
    /// Nothing under way, a region open that ends after so many stores; `mutant` is none on every machine.
    pub fn new(path: PathSpec, region_stores: usize, mutant: Option<Mutant>) -> PpaCore {
        PathCore::with(path, Kept { mutant, stats: KeptStats::default() }).in_regions(region_stores)
    }
}

/// A policy without state of its own.
impl Hash for Kept {
    fn hash<H: Hasher>(&self, _: &mut H) {
        let Kept { mutant: _, stats: _ } = self;
    }
}

impl Kept {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// A region has ended that is not durable.
    fn drains(path: &Path) -> bool {
        path.tracker.epochs.last_closed_in_flight() > 0
    }
}

impl Policy for Kept {
    fn admits(&self, path: &Path, _: Line) -> bool {
        !Kept::drains(path) || self.is(Mutant::BeginsEarly)
    }

    /// What a store waits for goes without waiting for more.
    fn refused(&mut self, _: &mut Path, _: Line) -> bool {
        true
    }

    /// The line's stores go first.
    fn hands_over(&mut self, path: &mut Path, now: Time, asked: Asked, out: &mut Outbox) -> HandOver {
        if !self.is(Mutant::SnoopedLineStays) {
            path.send_line(now, asked.line, out);
        }
        HandOver::Free
    }

    fn committed(&self, _: &Path) -> EpochId {
        EpochId::MAX
    }

    fn follows_program(&self) -> bool {
        false
    }

    fn would_send(&self, _: &Path) -> bool {
        false
    }

    fn sendable(&self, path: &Path) -> Option<u16> {
        path.buffer.oldest().map(|(slot, _)| slot)
    }

    fn drains_eagerly(&self, path: &Path) -> bool {
        Kept::drains(path)
    }

    fn advance(&mut self, path: &mut Path, _: Time, _: &mut Outbox) {
        while path.tracker.epochs.oldest().may_commit() && path.tracker.epochs.pop().is_some() {
            self.stats.drained_regions += 1;
        }
    }

    fn on(&mut self, _: &mut Path, _: Time, msg: &Msg, _: &mut Outbox) {
        protocol::unexpected("a path that keeps its stores", msg);
    }

    /// The stores of the last region are done again: registers of an older one have been taken for other things.
    fn power_fail(&self, path: &Path, save: &mut dyn FnMut(Time, &LineWrite)) {
        let last = path.buffer.entries().map(|e| e.epoch).max();
        let forgets = |flying| self.is(Mutant::SavesNothing) || flying && self.is(Mutant::SentCountsAsSafe);
        let kept = path.buffer.entries().filter(|e| Some(e.epoch) == last && !forgets(e.flying));
        kept.for_each(|entry| save(entry.at, &entry.write));
    }

    fn depends(&self) -> bool {
        false
    }

    fn stats(&self, waits: &BufferStats, sink: &mut dyn StatSink) {
        waits.hand_up(sink);
        self.stats.hand_up(sink);
    }
}
