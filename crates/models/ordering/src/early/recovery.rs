//! The recovery table: undo and delay records at one controller (§V-A to §V-E, Table I).

use super::Mutant;
use super::bloom::CountingBloom;
use super::stats::{EarlyStats, KeptStats, RecordStats};
use crate::path::DropStats;
use protocol::{
    Accepted, Block, ControllerOrdering, EpochId, Evicted, FlushRequest, Image, Line, LineWrite, Mask,
    Records, Retired, StatSink,
};
use std::hash::{Hash, Hasher};

/// Parameters of a recovery table.
#[derive(Clone, Copy, Debug)]
pub struct RecoverySpec {
    /// Undo and delay records that it holds together; 0 refuses every early flush.
    pub entries: usize,
    /// An early flush is written at once, with a record to undo it; otherwise it waits until its epoch commits.
    pub speculates: bool,
    /// Creating an undo record reads the media.
    pub undo_reads: bool,
    /// A delay record that commits is written to the media.
    pub delay_writes: bool,
    /// After a refusal, every early flush of that core is refused until the refused one has come back.
    pub nack_following: bool,
    /// What its records are called.
    pub records: Records,
    /// A seeded mistake; none in every machine.
    pub mutant: Option<Mutant>,
}

impl RecoverySpec {
    /// So many records, whose reads and writes of the media cost what they are.
    pub fn of(entries: usize, speculates: bool) -> RecoverySpec {
        RecoverySpec {
            entries,
            speculates,
            undo_reads: true,
            delay_writes: true,
            nack_following: false,
            records: if speculates { Records::UndoLog } else { Records::Held },
            mutant: None,
        }
    }
}

/// Whose record it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Owner {
    core: u8,
    epoch: EpochId,
}

/// Memory holds a speculative value; `old` is the line without it.
#[derive(Clone, Copy, Debug, Hash)]
struct Undo {
    owner: Owner,
    line: Line,
    speculated: Mask,
    old: Block,
}

/// A write that waits for its epoch to commit.
#[derive(Clone, Copy, Debug, Hash)]
struct Delay {
    owner: Owner,
    write: LineWrite,
}

/// The controller side of ASAP.
#[derive(Clone)]
pub struct RecoveryTable {
    spec: RecoverySpec,
    undo: Vec<Undo>,
    delay: Vec<Delay>,
    refused: CountingBloom,
    waiting_cores: u64,
    held: Vec<LineWrite>,
    stats: EarlyStats,
    records: RecordStats,
    stale_drops: u64,
}

/// What decides about the future, without counts.
impl Hash for RecoveryTable {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let RecoveryTable {
            spec: _,
            undo,
            delay,
            refused,
            waiting_cores,
            held,
            stats: _,
            records: _,
            stale_drops: _,
        } = self;
        (undo, delay, refused, waiting_cores, held).hash(into);
    }
}

impl RecoveryTable {
    /// An empty table.
    pub fn new(spec: RecoverySpec) -> RecoveryTable {
        RecoveryTable {
            undo: Vec::with_capacity(spec.entries),
            delay: Vec::with_capacity(spec.entries),
            refused: CountingBloom::new(),
            waiting_cores: 0,
            held: Vec::new(),
            stats: EarlyStats::default(),
            records: RecordStats::default(),
            stale_drops: 0,
            spec,
        }
    }

    /// Whether every early flush of a core is refused until one that was refused has come back.
    pub(crate) fn awaits(&self, core: u8) -> bool {
        self.spec.nack_following && self.waiting_cores >> core & 1 == 1
    }

    fn has_room(&self) -> bool {
        self.undo.len() + self.delay.len() < self.spec.entries
    }

    /// A write of an epoch that nothing before can undo: true when it reaches the media.
    fn apply_safe(&mut self, write: &LineWrite, image: &mut Image) -> bool {
        let mut direct = write.mask;
        if let Some(undo) = self.undo.iter_mut().find(|u| u.line == write.line) {
            let mut old = LineWrite { line: undo.line, mask: Mask::MAX, data: undo.old };
            old.merge(write);
            undo.old = old.data;
            direct &= !undo.speculated;
        }
        if direct != 0 {
            image.write(write.line, &write.data, direct);
        }
        direct != 0
    }

    fn early(&mut self, request: &FlushRequest, image: &mut Image) -> Accepted {
        self.stats.early_flushes += 1;
        let owner = Owner { core: request.core, epoch: request.epoch };
        let line = request.write.line;
        let waits = self.awaits(request.core);
        if let Some(d) = self.delay.iter_mut().find(|d| d.owner == owner && d.write.line == line) {
            d.write.merge(&request.write);
            self.stats.absorbed_flushes += 1;
            return Accepted::Absorbed;
        }
        if waits || !self.has_room() {
            self.stats.nacks += 1;
            self.waiting_cores |= 1 << request.core;
            self.refused.insert(line);
            return Accepted::Refused;
        }
        let collides = !self.spec.speculates || self.undo.iter().any(|u| u.line == line);
        if collides && self.spec.mutant == Some(Mutant::SkipDelay) {
            image.write(line, &request.write.data, request.write.mask);
            return Accepted::Write;
        }
        if collides {
            self.delay.push(Delay { owner, write: request.write });
            self.records.delay_records += 1;
            self.stats.absorbed_flushes += 1;
            return Accepted::Absorbed;
        }
        let old = image.read(line);
        self.undo.push(Undo { owner, line, speculated: request.write.mask, old });
        self.records.undo_records += 1;
        image.write(line, &request.write.data, request.write.mask);
        if self.spec.undo_reads { Accepted::ReadThenWrite } else { Accepted::Write }
    }

    /// The records of an epoch that has become safe: undo records go, delay records are applied in the order
    /// in which they came.
    fn release(&mut self, owner: Owner, image: &mut Image, mut retired: impl FnMut(Line)) {
        // An epoch has few records here: moving the rest together for each is cheaper than one by one.
        while let Some(index) = self.undo.iter().position(|u| u.owner == owner) {
            self.undo.remove(index);
        }
        let mut index = 0;
        while index < self.delay.len() {
            if self.delay[index].owner != owner {
                index += 1;
                continue;
            }
            let d = self.delay.remove(index);
            if self.apply_safe(&d.write, image) {
                retired(d.write.line);
            }
        }
        self.let_go(image);
    }

    fn must_hold(&self, line: Line) -> bool {
        self.refused.may_contain(line) || self.delay.iter().any(|d| d.write.line == line)
    }

    /// Held evictions whose writes have all arrived are dropped.
    fn let_go(&mut self, image: &Image) {
        let mut index = 0;
        while index < self.held.len() {
            if self.must_hold(self.held[index].line) {
                index += 1;
                continue;
            }
            let held = self.held.swap_remove(index);
            // Bytes that were flushed since are as new as the held ones, or newer.
            let memory = image.read(held.line);
            let mut expected = LineWrite { line: held.line, mask: Mask::MAX, data: memory };
            expected.overlay(&held.data, held.mask);
            self.stale_drops += u64::from(memory != expected.data);
        }
    }
}

impl ControllerOrdering for RecoveryTable {
    fn flush(&mut self, request: &FlushRequest, image: &mut Image, retired: &mut Retired) -> Accepted {
        for held in self.held.iter_mut().filter(|h| h.line == request.write.line) {
            held.mask &= !request.write.mask;
        }
        if request.early {
            return self.early(request, image);
        }
        // A safe flush tells that its epoch is safe: whatever that epoch left here earlier is settled first, as by its commit
        // (§V-C), or an older value of the same line would be applied after this one.
        self.commit(request.core, request.epoch, image, retired);
        if request.retry {
            self.refused.remove(request.write.line);
            self.waiting_cores &= !(1 << request.core);
        }
        let reaches_media = self.apply_safe(&request.write, image);
        self.let_go(image);
        if reaches_media {
            return Accepted::Write;
        }
        self.stats.absorbed_flushes += 1;
        Accepted::Absorbed
    }

    fn commit(&mut self, core: u8, epoch: EpochId, image: &mut Image, retired: &mut Retired) {
        let writes = self.spec.delay_writes;
        self.release(Owner { core, epoch }, image, |line| {
            if writes {
                retired.push(line);
            }
        });
    }

    fn evict(&mut self, write: &LineWrite, image: &mut Image) -> Evicted {
        if self.must_hold(write.line) {
            self.stats.held_evictions += 1;
            self.held.retain(|w| w.line != write.line);
            self.held.push(*write);
            return Evicted::Held;
        }
        self.stale_drops += u64::from(image.read(write.line) != write.data);
        Evicted::Dropped
    }

    fn held(&self, line: Line) -> Option<Block> {
        self.held.iter().find(|w| w.line == line).map(|w| w.data)
    }

    fn each_held(&self, visit: &mut dyn FnMut(&LineWrite)) {
        self.held.iter().for_each(visit);
    }

    fn level(&self) -> usize {
        self.undo.len() + self.delay.len()
    }

    fn records(&self) -> Option<Records> {
        Some(self.spec.records)
    }

    fn undo_level(&self) -> usize {
        self.undo.len()
    }

    /// Undo records are written back, delay records are forgotten (§V-E).
    fn power_fail(&self, image: &mut Image) {
        for undo in &self.undo {
            image.write(undo.line, &undo.old, Mask::MAX);
        }
    }

    fn stats(&self, sink: &mut dyn StatSink) {
        self.stats.hand_up(sink);
        match self.spec.records {
            Records::Held => KeptStats { kept_writes: self.records.delay_records }.hand_up(sink),
            Records::RecoveryTable | Records::UndoLog => self.records.hand_up(sink),
        }
        DropStats { stale_drops: self.stale_drops }.hand_up(sink);
    }
}
