//! The core side of PMEM-Spec: the persist path.

use super::params::CAPABILITIES;
use super::stats::PathStats;
use super::{Mutant, SpecParameters};
use protocol::{
    AddressMap, Capabilities, Checkpoints, CoreOrdering, EpochId, EpochTag, FenceKind, FlushRequest, Line,
    LineWrite, Msg, Outbox, Peer, StatSink, WouldBlock,
};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use units::Time;

/// A store that is not acknowledged.
#[derive(Clone, Copy, Debug, Hash)]
struct Entry {
    slot: u16,
    /// The controller of its line.
    to: u16,
    write: LineWrite,
    /// Another core may take what it says for a release.
    publishes: bool,
    /// It was stored while the core made up for what was wrong: its line stays, so nobody reads it too early.
    careful: bool,
}

/// The persist path of one core.
#[derive(Clone)]
pub struct SpecCore {
    core: u8,
    map: AddressMap,
    spec: SpecParameters,
    mutant: Option<Mutant>,
    /// In the order in which they became visible.
    path: VecDeque<Entry>,
    /// How many have gone, the oldest ones.
    gone: usize,
    /// A bit for each slot of `path`.
    taken: Vec<u64>,
    /// How many of its stores may be taken for releases.
    published: usize,
    /// The line that is about to be released on.
    releases: Option<Line>,
    /// The core makes up for what was wrong: its lines stay until their stores are durable.
    careful: bool,
    /// When the next store may go.
    free_at: Time,
    stats: PathStats,
}

/// What decides about the future, without times and counts.
impl Hash for SpecCore {
    fn hash<H: Hasher>(&self, into: &mut H) {
        // Which slots are taken, and how many stores publish, follows from the path.
        let SpecCore { core: _, map: _, spec: _, mutant: _, path, gone, .. } = self;
        let SpecCore { taken: _, published: _, releases, careful, free_at: _, stats: _, .. } = self;
        (path, gone, releases, careful).hash(into);
    }
}

/// The one epoch that all writes are in: each is ordered by itself.
const ONE: EpochId = 1;

impl SpecCore {
    /// Nothing under way; `mutant` is none on every machine.
    pub fn new(core: u8, map: AddressMap, spec: SpecParameters, mutant: Option<Mutant>) -> SpecCore {
        SpecCore {
            core,
            map,
            spec,
            mutant,
            path: VecDeque::with_capacity(spec.persist_path_entries),
            gone: 0,
            taken: vec![0; spec.persist_path_entries.div_ceil(64)],
            published: 0,
            releases: None,
            careful: false,
            free_at: Time::ZERO,
            stats: PathStats::default(),
        }
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// The oldest store that has not gone, if what is under way, all of it to one controller, goes where it goes: one
    /// controller keeps the order, two do not.
    fn sendable(&self) -> Option<usize> {
        let next = self.path.get(self.gone)?;
        let alone = self.gone == 0 || self.path[0].to == next.to;
        (alone || self.is(Mutant::PassesControllers)).then_some(self.gone)
    }

    /// Something changed at `now`: nothing goes earlier.
    fn changed(&mut self, now: Time) {
        self.free_at = self.free_at.max(now);
        self.stats.persist_path.set(now, self.path.len());
    }

    /// Whether every store is durable: then nothing that this core has read of its own can turn out to be wrong.
    fn drained(&mut self) -> Result<(), WouldBlock> {
        if self.path.is_empty() || self.is(Mutant::ReleasesEarly) {
            self.stats.releases += 1;
            return Ok(());
        }
        Err(WouldBlock)
    }

    /// The lowest slot that no store has; there is room.
    fn take_slot(&mut self) -> u16 {
        let word = self.taken.iter().position(|w| *w != u64::MAX).expect("there is room");
        let bit = self.taken[word].trailing_ones();
        self.taken[word] |= 1 << bit;
        (word * 64) as u16 + bit as u16
    }

    fn publishes(&self, line: Line) -> bool {
        self.published > 0
            && self.path.iter().any(|e| e.write.line == line && e.publishes)
            && !self.is(Mutant::HandsReleaseOver)
    }
}

impl CoreOrdering for SpecCore {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn checkpoints(&self) -> Option<Checkpoints> {
        let SpecParameters { region_operations: operations, misspeculation_ns: interrupt, .. } = self.spec;
        Some(Checkpoints { operations, interrupt })
    }

    fn goes_back(&mut self, _: Time, on: bool) {
        self.careful = on;
    }

    fn store(&mut self, now: Time, write: &LineWrite, _: &mut Outbox) -> Result<EpochId, WouldBlock> {
        if self.path.len() == self.spec.persist_path_entries {
            return Err(WouldBlock);
        }
        let publishes = self.releases.take() == Some(write.line);
        let (slot, careful) = (self.take_slot(), self.careful);
        let to = self.map.controller(write.line) as u16;
        self.published += usize::from(publishes);
        self.path.push_back(Entry { slot, to, write: *write, publishes, careful });
        self.stats.persists += 1;
        self.changed(now);
        Ok(0)
    }

    fn refuses(&self) -> bool {
        self.path.len() == self.spec.persist_path_entries
    }

    fn fence(&mut self, _: Time, kind: FenceKind, _: &mut Outbox) -> Result<(), WouldBlock> {
        match kind {
            FenceKind::Dfence | FenceKind::Mfence => self.drained(),
            // Every store comes after the one before it.
            FenceKind::Ofence | FenceKind::Sfence | FenceKind::NewStrand | FenceKind::JoinStrand => Ok(()),
        }
    }

    fn release(&mut self, _: Time, line: Line, _: &mut Outbox) -> Result<EpochId, WouldBlock> {
        self.drained()?;
        self.releases = Some(line);
        Ok(0)
    }

    /// What is released is durable before another core sees it, and so before all that comes of it.
    fn snooped(
        &mut self,
        _: Time,
        line: Line,
        _: EpochId,
        _: EpochId,
        _: &mut Outbox,
    ) -> Result<Option<EpochTag>, WouldBlock> {
        if self.publishes(line) { Err(WouldBlock) } else { Ok(None) }
    }

    /// A line may leave once its stores are under way: the controller hears of it no sooner than of the stores, less
    /// the time for which it watches.
    fn holds(&self, line: Line) -> bool {
        let mut stay = self.path.iter().skip(if self.careful { 0 } else { self.gone });
        let early = self.is(Mutant::LeavesBeforeStore);
        self.publishes(line) || !early && stay.any(|e| e.write.line == line)
    }

    fn committed(&self) -> EpochId {
        EpochId::MAX
    }

    fn on(&mut self, now: Time, _: Peer, msg: &Msg, _: &mut Outbox) {
        let Msg::Ack { slot } = *msg else { protocol::unexpected("a persist path", msg) };
        let index = self.path.iter().position(|e| e.slot == slot).expect("an acknowledged store was sent");
        self.published -= usize::from(self.path[index].publishes);
        self.path.remove(index);
        self.gone -= 1;
        self.taken[usize::from(slot) / 64] &= !(1 << (slot % 64));
        self.changed(now);
    }

    fn next(&self) -> Time {
        self.sendable().map_or(Time::NEVER, |_| self.free_at)
    }

    fn tick(&mut self, now: Time, out: &mut Outbox) {
        if self.free_at > now {
            return;
        }
        if let Some(index) = self.sendable() {
            self.gone += 1;
            let Entry { slot, to, write, careful: retry, .. } = self.path[index];
            let request = FlushRequest {
                core: self.core,
                slot,
                epoch: ONE,
                early: false,
                retry,
                after_core: 0,
                after_epoch: 0,
                write,
            };
            out.send(now + self.spec.persist_path_ns, Peer::Controller(to.into()), Msg::Flush(request));
            self.free_at = now + self.spec.persist_path_issue_ns;
        }
    }

    fn level(&self) -> usize {
        self.path.len()
    }

    /// The path is volatile: what no controller has accepted is lost.
    fn power_fail(&self, _: &mut dyn FnMut(Time, &LineWrite)) {}

    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        self.stats.persist_path.pass(now);
        self.stats.hand_up(sink);
    }
}
