//! A DIMM: its buffer of blocks, and the media behind it.

use crate::DimmSpec;
use crate::mutant::Mutant;
use crate::stats::DimmStats;
use crate::translation::Translation;
use crate::wear::Wear;
use memory::controller::blocks::{BLOCK_BYTES, Block, BlockBuffer, Entered, WHOLE, bit_of, lines_of};
use memory::{Cost, Media};
use protocol::{Line, StatSink};
use std::hash::{Hash, Hasher};
use units::{Dur, Time};

/// A block that was whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    /// When its former contents are there: until then it waits for them, and who reads it waits too.
    former: Time,
    /// When it sets out for the media: until then, what is written to it goes with it.
    pub(crate) joined_until: Time,
    /// When it is in the media: until then the buffer has its lines.
    pub(crate) settled: Time,
    /// The buffer has them no more.
    forgotten: bool,
}

impl Default for Leaving {
    fn default() -> Leaving {
        let never = Time::ZERO;
        Leaving { former: never, joined_until: never, settled: never, forgotten: true }
    }
}

/// Of the blocks that leave and have no new lines, the first to be in the media: when, and its place; never, where none leaves.
fn first_settling(leaving: &[Leaving], blocks: &[Block]) -> (Time, usize) {
    let places = leaving.iter().zip(blocks).enumerate();
    let leave = places.filter(|(_, (leaving, block))| !leaving.forgotten && block.dirty == 0);
    leave.map(|(place, (leaving, _))| (leaving.settled, place)).min().unwrap_or((Time::NEVER, 0))
}

/// A DIMM, seen from its controller: it tells when a line is there and when the next request may come.
#[derive(Clone, Debug)]
pub struct Dimm {
    spec: DimmSpec,
    buffer: BlockBuffer,
    /// When the block that was read from the media is there, by its place in the buffer.
    ready: Vec<Time>,
    /// Blocks on their way to the media, by their places in the buffer.
    leaving: Vec<Leaving>,
    /// Before this none of them is there.
    first_settled: Time,
    /// When the media has done what it has begun.
    media_free: Time,
    /// Blocks that are to be written when no read wants the media.
    backlog: usize,
    /// When the buffer has taken the lines that were written to it.
    buffer_free: Time,
    translation: Translation,
    wear: Wear,
    stats: DimmStats,
    mutant: Option<Mutant>,
}

impl Dimm {
    /// A DIMM with nothing in its buffer.
    pub fn new(spec: DimmSpec) -> Dimm {
        Dimm {
            spec,
            buffer: BlockBuffer::new(spec.buffer_blocks),
            ready: vec![Time::ZERO; spec.buffer_blocks],
            leaving: vec![Leaving::default(); spec.buffer_blocks],
            first_settled: Time::NEVER,
            media_free: Time::ZERO,
            backlog: 0,
            buffer_free: Time::ZERO,
            translation: Translation::new(spec.translation),
            wear: Wear::new(spec.wear),
            stats: DimmStats::default(),
            mutant: None,
        }
    }

    /// The same with a mistake in it.
    pub(crate) fn seeded(spec: DimmSpec, mutant: Option<Mutant>) -> Dimm {
        Dimm { mutant, ..Dimm::new(spec) }
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// The blocks in its buffer, place by place: the number, what the buffer has of it, and what is on its way to the media.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u64, Block, Leaving)> + '_ {
        self.buffer.blocks().zip(&self.leaving).map(|((number, block), leaving)| (number, block, *leaving))
    }

    /// All that what it does next hangs on, where the media take no time and translations and wear cost nothing.
    pub(crate) fn hash_at<H: Hasher>(&self, now: Time, into: &mut H) {
        let Dimm { spec: _, buffer, ready, leaving, media_free, backlog: _, buffer_free, .. } = self;
        let Dimm { first_settled: _, translation: _, wear: _, stats: _, mutant: _, .. } = self;
        let until = |at: &Time| at.since(now);
        buffer.hash(into);
        ready.iter().chain([media_free, buffer_free]).for_each(|at| until(at).hash(into));
        for Leaving { former, joined_until, settled, forgotten } in leaving {
            ([former, joined_until, settled].map(until), forgotten).hash(into);
        }
    }

    /// A line's block in the buffer: a new one has waited for nothing yet. It takes a place whose block is in the media, before
    /// one that has a block.
    fn enter(&mut self, now: Time, line: Line) -> Entered {
        let Dimm { buffer, leaving, first_settled, .. } = self;
        let entered = buffer.enter(line, |blocks| {
            if now < *first_settled {
                return None;
            }
            let (settled, place) = first_settling(leaving, blocks);
            *first_settled = settled;
            (settled <= now).then_some(place)
        });
        if !entered.found && !self.is(Mutant::InheritsPlace) {
            self.ready[entered.index] = Time::ZERO;
            self.leaving[entered.index] = Leaving::default();
        }
        entered
    }

    /// A block is whole, and sets out for the media: when its former contents are there, where these are still on their way.
    fn leaves(&mut self, now: Time, index: usize) {
        let former = self.leaving[index].settled;
        let joined_until = former.max(now + self.spec.linger);
        let settled = joined_until + self.spec.settle;
        self.leaving[index] = Leaving { former, joined_until, settled, forgotten: false };
        self.first_settled = self.first_settled.min(settled);
    }

    /// What is in the media is in the buffer no more.
    fn forget(&mut self, now: Time, index: usize) {
        let is_early = self.is(Mutant::ReadsUnsettled);
        let leaving = &mut self.leaving[index];
        if !leaving.forgotten && now >= if is_early { leaving.joined_until } else { leaving.settled } {
            leaving.forgotten = true;
            let own = self.buffer.at(index);
            own.valid = own.dirty;
        }
    }

    /// The media writes what waits, as far as it has begun with that before `now`.
    fn catch_up(&mut self, now: Time) {
        while self.backlog > 0 && self.media_free < now {
            self.write_one(self.media_free);
        }
    }

    /// The media begins with the write of a block at `at`, at the earliest.
    fn write_one(&mut self, at: Time) {
        self.backlog -= 1;
        self.media_free = self.media_free.max(at) + self.spec.write_service;
        self.stats.media_time += self.spec.write_service;
    }

    /// Work of the writes that wait.
    fn waiting(&self) -> Dur {
        self.spec.write_service * self.backlog as u64
    }

    /// The media reads a block, before writes that wait, unless these are too many; gives when it begins.
    fn read_block(&mut self, now: Time, cost: &mut Cost) -> Time {
        self.catch_up(now);
        if self.waiting() > self.spec.writes_ahead {
            self.write_one(now);
        }
        self.stats.block_reads += 1;
        cost.bytes_read += BLOCK_BYTES;
        let begins = self.media_free.max(now);
        self.stats.media_time += self.spec.read_service;
        self.media_free = begins + self.spec.read_service;
        begins
    }

    /// A block that is whole, or leaves the buffer, is to be written, where anything of it was.
    fn write_block(&mut self, now: Time, block: Block, cost: &mut Cost) {
        if block.dirty == 0 || block.dirty != WHOLE && self.is(Mutant::DropsPartial) {
            return;
        }
        self.catch_up(now);
        self.media_free = self.media_free.max(now);
        self.stats.block_writes += 1;
        self.stats.partial_writes += u64::from(block.dirty != WHOLE);
        cost.bytes_written += BLOCK_BYTES;
        cost.bytes_noted += block.bytes_noted();
        self.backlog += 1;
    }

    /// A line is changed, in its block by `change`.
    fn put(&mut self, now: Time, line: Line, change: impl Fn(&mut Block, Line)) -> Cost {
        let mut cost = Cost::default();
        let Entered { index, found, evicted } = self.enter(now, line);
        self.forget(now, index);
        if let Some(block) = evicted {
            self.write_block(now, block, &mut cost);
        }
        let Leaving { joined_until, settled, .. } = self.leaving[index];
        let joins = now < if self.is(Mutant::JoinsLate) { settled } else { joined_until };
        let own = self.buffer.at(index);
        if joins {
            own.valid |= bit_of(line);
        } else {
            change(own, line);
        }
        if own.dirty == WHOLE {
            let block = std::mem::replace(own, Block { dirty: 0, noted: 0, ..*own });
            self.write_block(now, block, &mut cost);
            self.leaves(now, index);
        }
        let stall = self.wear.written(line);
        if stall > Dur::ZERO {
            self.stats.wear_moves += 1;
            self.media_free = self.media_free.max(now) + stall;
        }
        cost.hit = Some(found);
        self.buffer_free = self.buffer_free.max(now) + self.spec.line;
        self.catch_up(now);
        let media = self.busy(self.media_free.since(now) + self.waiting(), self.spec.writes_ahead);
        cost.busy = media.max(self.busy(self.buffer_free.since(now), self.spec.ahead)).max(stall);
        cost
    }

    /// How long the controller sends nothing else: while the line is on the bus, and while there is more `work` than `ahead`.
    fn busy(&self, work: Dur, ahead: Dur) -> Dur {
        self.spec.bus.max(Dur::ps(work.as_ps().saturating_sub(ahead.as_ps())))
    }
}

impl Media for Dimm {
    fn read(&mut self, now: Time, line: Line) -> Cost {
        let mut cost = Cost::default();
        let Entered { index, found, evicted } = self.enter(now, line);
        self.forget(now, index);
        let is_here = self.buffer.at(index).valid & bit_of(line) != 0;
        if !is_here {
            let translated = self.translation.look_up(line);
            self.stats.translation_misses += u64::from(translated > Dur::ZERO);
            let begins = self.read_block(now, &mut cost);
            self.ready[index] = begins + translated + self.spec.array;
            self.buffer.at(index).valid = WHOLE;
            if self.is(Mutant::FillsOver) {
                self.buffer.at(index).dirty = 0;
            }
        }
        if let Some(block) = evicted {
            self.write_block(now, block, &mut cost);
        }
        let there = self.ready[index].max(self.leaving[index].former);
        // Lines of one block leave the buffer one after the other.
        self.ready[index] = there.max(now) + self.spec.line;
        cost.latency = there.since(now) + self.spec.hit;
        cost.hit = Some(found && is_here);
        cost.busy = self.busy(self.media_free.since(now), self.spec.ahead);
        cost
    }

    fn write(&mut self, now: Time, line: Line) -> Cost {
        self.put(now, line, Block::write)
    }

    fn note(&mut self, now: Time, line: Line) -> Cost {
        self.put(now, line, Block::note)
    }

    fn least_read(&self) -> Dur {
        self.spec.hit
    }

    /// What has been pushed out of the buffer counts as in the media.
    fn each_unwritten(&self, now: Time, each: &mut dyn FnMut(Line)) {
        for (number, block, leaving) in self.blocks() {
            let on_its_way = if now < leaving.settled { WHOLE } else { 0 };
            lines_of(number, block.dirty | on_its_way).for_each(&mut *each);
        }
    }

    fn has_buffer(&self) -> bool {
        true
    }

    fn stats(&self, sink: &mut dyn StatSink) {
        self.stats.hand_up(sink);
    }
}
