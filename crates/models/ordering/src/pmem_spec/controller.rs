//! The controller side of PMEM-Spec: lines that were evicted lately, and whether they were read too early.

use super::Mutant;
use super::stats::WatchStats;
use protocol::{
    Accepted, Block, ControllerOrdering, EpochId, Evicted, FlushRequest, Image, Line, LineWrite, Mask,
    Retired, StatSink,
};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use units::{Dur, Time};

/// An evicted line.
#[derive(Clone, Copy, Debug, Hash)]
struct Watched {
    line: Line,
    /// Its bytes, as the caches had them: what memory has once every store to it has arrived.
    data: Block,
    /// It was read since.
    read: bool,
}

/// The speculation buffer of one controller.
#[derive(Clone)]
pub struct SpeculationBuffer {
    window: Dur,
    mutant: Option<Mutant>,
    now: Time,
    /// Oldest first, with the time up to which a store to it may still come.
    watched: Vec<(Watched, Time)>,
    /// Flushes that wait at the controller, oldest first.
    waiting: VecDeque<FlushRequest>,
    stats: WatchStats,
}

/// What decides about the future, without times and counts.
impl Hash for SpeculationBuffer {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let SpeculationBuffer { window: _, mutant: _, now: _, watched, waiting, stats: _ } = self;
        watched.iter().for_each(|(watched, _)| watched.hash(into));
        waiting.hash(into);
    }
}

impl SpeculationBuffer {
    /// Watches nothing yet; `mutant` is none on every machine.
    pub fn new(window: Dur, mutant: Option<Mutant>) -> SpeculationBuffer {
        SpeculationBuffer {
            window,
            mutant,
            now: Time::ZERO,
            watched: Vec::new(),
            waiting: VecDeque::new(),
            stats: WatchStats::default(),
        }
    }

    fn of(&mut self, line: Line) -> Option<&mut Watched> {
        self.watched.iter_mut().map(|(watched, _)| watched).find(|w| w.line == line)
    }

    /// Forgets a line that no store can be under way to.
    fn forget(&mut self, index: usize) {
        let (_, until) = self.watched.remove(index);
        self.stats.speculation_buffer.set(until, self.watched.len());
    }

    /// A line's window has passed.
    pub(super) fn expires(&mut self, line: Line) {
        if let Some(index) = self.watched.iter().position(|(w, _)| w.line == line) {
            self.forget(index);
        }
    }

    /// The lines that are watched.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line> + '_ {
        self.watched.iter().map(|(w, _)| w.line)
    }

    /// What a read of a line would give by the image and what waits here: a controller answers from its own queue.
    pub(super) fn reads(&self, line: Line, image: &Image) -> Block {
        let mut whole = LineWrite { line, mask: Mask::MAX, data: image.read(line) };
        self.waiting.iter().filter(|f| f.write.line == line).for_each(|f| whole.merge(&f.write));
        whole.data
    }
}

impl ControllerOrdering for SpeculationBuffer {
    fn watches_reads(&self) -> bool {
        true
    }

    fn passes(&mut self, now: Time) {
        self.now = now;
        let mut index = 0;
        while index < self.watched.len() {
            let (watched, until) = self.watched[index];
            // What waits here has come in time, and is not in memory yet.
            if until < now && self.waiting.iter().all(|f| f.write.line != watched.line) {
                self.forget(index);
            } else {
                index += 1;
            }
        }
    }

    fn read(&mut self, line: Line, image: &Image) {
        let (given, ignores) = (self.reads(line, image), self.mutant == Some(Mutant::IgnoresReads));
        let Some(watched) = self.of(line) else { return };
        watched.read = !ignores;
        let stale = given != watched.data;
        self.stats.watched_reads += 1;
        self.stats.stale_reads += u64::from(stale);
    }

    fn arrives(&mut self, request: &FlushRequest) -> bool {
        self.waiting.push_back(*request);
        // One message for each read. A store that is repeated has kept its line: whoever has read that had what was before.
        let marked = |watched: &mut Watched| std::mem::take(&mut watched.read);
        let found = !request.retry && self.of(request.write.line).is_some_and(marked);
        self.stats.misspeculations += u64::from(found);
        found
    }

    fn flush(&mut self, request: &FlushRequest, image: &mut Image, _: &mut Retired) -> Accepted {
        let same = |f: &FlushRequest| (f.core, f.slot) == (request.core, request.slot);
        if let Some(index) = self.waiting.iter().position(same) {
            self.waiting.remove(index);
        }
        image.write(request.write.line, &request.write.data, request.write.mask);
        Accepted::Write
    }

    fn commit(&mut self, _: u8, _: EpochId, _: &mut Image, _: &mut Retired) {}

    /// The bytes are dropped, since the persist path carries them; the line is watched.
    fn evict(&mut self, write: &LineWrite, _: &mut Image) -> Evicted {
        self.stats.watched_lines += 1;
        // Evicted once more before the store that an earlier read missed has come: that read is still wrong.
        let forgets = self.mutant == Some(Mutant::ForgetsReads);
        let read = self.of(write.line).is_some_and(|w| w.read) && !forgets;
        self.watched.retain(|(w, _)| w.line != write.line);
        if self.mutant != Some(Mutant::WatchesNothing) {
            let watched = Watched { line: write.line, data: write.data, read };
            self.watched.push((watched, self.now + self.window));
        }
        self.stats.speculation_buffer.set(self.now, self.watched.len());
        Evicted::Held
    }

    fn held(&self, line: Line) -> Option<Block> {
        self.watched.iter().find(|(w, _)| w.line == line).map(|(w, _)| w.data)
    }

    fn each_held(&self, visit: &mut dyn FnMut(&LineWrite)) {
        for (w, _) in &self.watched {
            visit(&LineWrite { line: w.line, mask: Mask::MAX, data: w.data });
        }
    }

    /// What has not been accepted is lost.
    fn power_fail(&self, _: &mut Image) {}

    fn stats(&self, sink: &mut dyn StatSink) {
        let mut stats = self.stats.clone();
        stats.speculation_buffer.pass(self.now);
        stats.hand_up(sink);
    }
}
