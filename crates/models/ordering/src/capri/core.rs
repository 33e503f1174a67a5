//! The core side of Capri: what ended is durable.

use super::Mutant;
use super::stats::RegionStats;
use crate::path::{Asked, BufferStats, HandOver, Path, PathCore, Policy};
use crate::spec::PathSpec;
use protocol::{EpochId, Line, LineWrite, Msg, Outbox, StatSink};
use std::hash::{Hash, Hasher};
use units::Time;

/// The core side of Capri.
pub type CapriCore = PathCore<Atomic>;

/// Sends what belongs to regions that ended, and saves it.
#[derive(Clone)]
pub struct Atomic {
    /// A seeded mistake; none in every machine.
    mutant: Option<Mutant>,
    stats: RegionStats,
}

impl PathCore<Atomic> {
    /// Nothing buffered, a region open that ends after so many stores; `mutant` is none on every machine.
    pub fn new(path: PathSpec, region_stores: usize, mutant: Option<Mutant>) -> CapriCore {
        PathCore::with(path, Atomic { mutant, stats: RegionStats::default() }).in_regions(region_stores)
    }
}

/// A policy without state of its own.
impl Hash for Atomic {
    fn hash<H: Hasher>(&self, _: &mut H) {
        let Atomic { mutant: _, stats: _ } = self;
    }
}

impl Atomic {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn has_ended(path: &Path, epoch: EpochId) -> bool {
        epoch < path.tracker.epochs.open()
    }
}

impl Policy for Atomic {
    /// A region is no longer than the buffer.
    fn refused(&mut self, path: &mut Path, _: Line) -> bool {
        let before = path.tracker.epochs.open();
        let ended = path.tracker.epochs.close().is_ok() && path.tracker.epochs.open() > before;
        self.stats.full_regions += u64::from(ended);
        ended
    }

    /// The region ends, and the line's stores go first.
    fn hands_over(&mut self, path: &mut Path, now: Time, asked: Asked, out: &mut Outbox) -> HandOver {
        let is_open = !Atomic::has_ended(path, asked.written.max(asked.released));
        if is_open && !self.is(Mutant::RegionStaysOpen) {
            if path.tracker.epochs.close().is_err() {
                return HandOver::Stays;
            }
            self.stats.taken_regions += 1;
        }
        if !self.is(Mutant::SnoopedLineStays) && !self.is(Mutant::RegionStaysOpen) {
            path.send_line(now, asked.line, out);
        }
        HandOver::Free
    }

    fn committed(&self, path: &Path) -> EpochId {
        path.tracker.epochs.open() - 1
    }

    fn drains_at_dfence(&self) -> bool {
        false
    }

    fn would_send(&self, _: &Path) -> bool {
        false
    }

    fn sendable(&self, path: &Path) -> Option<u16> {
        let (slot, entry) = path.buffer.oldest()?;
        (Atomic::has_ended(path, entry.epoch) || self.is(Mutant::SendsOpenRegion)).then_some(slot)
    }

    fn drains_eagerly(&self, _: &Path) -> bool {
        false
    }

    fn advance(&mut self, path: &mut Path, _: Time, _: &mut Outbox) {
        while path.tracker.epochs.oldest().may_commit() && path.tracker.epochs.pop().is_some() {}
    }

    fn on(&mut self, _: &mut Path, _: Time, msg: &Msg, _: &mut Outbox) {
        protocol::unexpected("a buffer of regions", msg);
    }

    /// The battery drains what belongs to regions that ended.
    fn power_fail(&self, path: &Path, save: &mut dyn FnMut(Time, &LineWrite)) {
        let none = self.is(Mutant::NoBattery);
        let saved = path.buffer.entries().filter(|e| !none && Atomic::has_ended(path, e.epoch));
        saved.for_each(|entry| save(entry.at, &entry.write));
    }

    fn depends(&self) -> bool {
        false
    }

    fn stats(&self, waits: &BufferStats, sink: &mut dyn StatSink) {
        waits.hand_up(sink);
        self.stats.hand_up(sink);
    }
}
