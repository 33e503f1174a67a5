//! The controller side of Vorpal: writes stand here until clocks allow them.

use super::Mutant;
use super::clock::Clock;
use crate::early::{RecoverySpec, RecoveryTable};
use protocol::{
    Accepted, Among, Block, Clocks, ControllerOrdering, EpochId, EpochTag, Evicted, FlushRequest, Image,
    Line, LineWrite, Records, Retired, StatSink,
};
use std::hash::{Hash, Hasher};
use units::Dur;

/// Held writes of an epoch.
#[derive(Clone, Copy, Debug, Hash)]
struct Kept {
    tag: EpochTag,
    after: Option<EpochTag>,
}

/// Compares what comes with what is durable, here and elsewhere.
#[derive(Clone)]
pub struct ClockedTable {
    interval: Dur,
    clock: Clock,
    /// The writes that are held: delay records of which nothing is undone.
    table: RecoveryTable,
    kept: Vec<Kept>,
    /// For each core the oldest of these.
    oldest: Vec<Option<EpochId>>,
}

/// What decides about the future.
impl Hash for ClockedTable {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let ClockedTable { interval: _, clock, table, kept, oldest: _ } = self;
        (clock, table, kept).hash(into);
    }
}

impl ClockedTable {
    /// A controller by itself with room for so many writes, whose clock is told at whole multiples of `interval`; `mutant` is
    /// none on every machine.
    pub fn new(held_writes: usize, interval: Dur, mutant: Option<Mutant>) -> ClockedTable {
        // A line's writes stay in order: what follows a refused one is refused.
        let spec = RecoverySpec { nack_following: true, ..RecoverySpec::of(held_writes, false) };
        let table = RecoveryTable::new(spec);
        ClockedTable { interval, clock: Clock::new(mutant), table, kept: Vec::new(), oldest: Vec::new() }
    }

    /// Passes what is durable, and writes what may be written then, until nothing moves.
    fn settle(&mut self, image: &mut Image, retired: &mut Retired) {
        loop {
            let oldest = &self.oldest;
            self.clock.advance(|core| oldest.get(usize::from(core)).copied().flatten());
            if !self.clock.risen() {
                return;
            }
            self.write_allowed(image, retired);
        }
    }

    fn find_oldest(&mut self, core: u8) {
        let index = usize::from(core);
        self.oldest.resize(self.oldest.len().max(index + 1), None);
        self.oldest[index] = self.kept.iter().filter(|k| k.tag.core == core).map(|k| k.tag.epoch).min();
    }

    fn write_allowed(&mut self, image: &mut Image, retired: &mut Retired) {
        let mut index = 0;
        while let Some(kept) = self.kept.get(index).copied() {
            if self.clock.allows(kept.tag, kept.after) {
                self.kept.remove(index);
                self.find_oldest(kept.tag.core);
                self.table.commit(kept.tag.core, kept.tag.epoch, image, retired);
            } else {
                index += 1;
            }
        }
    }
}

impl ControllerOrdering for ClockedTable {
    fn among(&mut self, among: Among) {
        self.clock.join(among);
    }

    fn clocks(&mut self) -> Option<&mut dyn Clocks> {
        Some(self)
    }

    fn flush(&mut self, request: &FlushRequest, image: &mut Image, retired: &mut Retired) -> Accepted {
        let tag = EpochTag { core: request.core, epoch: request.epoch };
        let allowed = !self.table.awaits(request.core) && self.clock.allows(tag, request.after());
        let early = request.early && !allowed;
        let accepted = self.table.flush(&FlushRequest { early, ..*request }, image, retired);
        if !early {
            // The table has settled whatever this epoch left here.
            if let Some(index) = self.kept.iter().position(|k| k.tag == tag) {
                self.kept.remove(index);
                self.find_oldest(tag.core);
            }
        } else if accepted == Accepted::Absorbed && !self.kept.iter().any(|k| k.tag == tag) {
            self.kept.push(Kept { tag, after: request.after() });
            self.find_oldest(tag.core);
        }
        accepted
    }

    /// Cores tell of complete epochs, and clocks commit them.
    fn commit(&mut self, _: u8, _: EpochId, _: &mut Image, _: &mut Retired) {}

    fn evict(&mut self, write: &LineWrite, image: &mut Image) -> Evicted {
        self.table.evict(write, image)
    }

    fn held(&self, line: Line) -> Option<Block> {
        self.table.held(line)
    }

    fn each_held(&self, visit: &mut dyn FnMut(&LineWrite)) {
        self.table.each_held(visit);
    }

    fn level(&self) -> usize {
        self.table.level()
    }

    fn records(&self) -> Option<Records> {
        self.table.records()
    }

    fn undo_level(&self) -> usize {
        self.table.undo_level()
    }

    /// What is held is lost.
    fn power_fail(&self, image: &mut Image) {
        self.table.power_fail(image);
    }

    fn stats(&self, sink: &mut dyn StatSink) {
        self.table.stats(sink);
    }
}

impl Clocks for ClockedTable {
    fn interval(&self) -> Dur {
        self.interval
    }

    fn place(&self) -> Among {
        self.clock.among()
    }

    fn complete(&mut self, tag: EpochTag, after: Option<EpochTag>, image: &mut Image, retired: &mut Retired) {
        self.clock.complete(tag, after);
        self.settle(image, retired);
    }

    fn hears(&mut self, from: usize, tag: EpochTag, image: &mut Image, retired: &mut Retired) {
        self.clock.hears(from, tag);
        if self.clock.risen() {
            self.write_allowed(image, retired);
            self.settle(image, retired);
        }
    }

    fn durable(&mut self) -> Option<EpochTag> {
        self.clock.durable()
    }

    fn has_news(&self) -> bool {
        self.clock.has_news()
    }

    fn untold(&mut self) -> Option<EpochTag> {
        self.clock.untold()
    }
}
