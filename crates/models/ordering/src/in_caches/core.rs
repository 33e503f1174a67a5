//! The core side: which lines may go.

use super::{LineStats, Mutant};
use crate::path::{Asked, Awaited, BufferStats, HandOver, Path, PathCore, Policy};
use crate::spec::{CrossCore, PathSpec};
use protocol::{EpochId, Line, LineWrite, Msg, Outbox, StatSink, messages};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use units::Time;

/// The core side of epochs in caches.
pub type LinesCore = PathCore<InCaches>;

/// What distinguishes designs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// A complete epoch goes on its own; otherwise when somebody waits for it.
    pub proactive: bool,
    /// A line goes to another core at once, whose epoch then depends on this core's; otherwise it stays until it is durable.
    pub tracks: bool,
    /// Under release persistency a release comes after what the core stored before, and nothing comes after the release but what
    /// other cores store that acquire it; otherwise what is stored after it does, too.
    pub one_sided: bool,
}

/// Sends the oldest epoch once it is complete.
#[derive(Clone)]
pub struct InCaches {
    rules: Rules,
    /// A seeded mistake; none in every machine.
    mutant: Option<Mutant>,
    /// Somebody waits for every epoch up to this one.
    wanted: EpochId,
    /// Where releases are one-sided: epochs that end in a fence, oldest first, and the line of the release that is under way.
    fences: VecDeque<EpochId>,
    releasing: Option<Line>,
    /// The stores and requests that wait, each counted once.
    conflict: Option<(Line, EpochId)>,
    held: EpochId,
    awaited: Awaited,
    stats: LineStats,
}

impl PathCore<InCaches> {
    /// Nothing in the caches, one epoch open; `mutant` is none on every machine.
    pub fn new(path: PathSpec, rules: Rules, mutant: Option<Mutant>) -> LinesCore {
        let (awaited, stats) = (Awaited::default(), LineStats::default());
        let (fences, releasing, conflict) = (VecDeque::new(), None, None);
        let policy =
            InCaches { rules, mutant, wanted: 0, fences, releasing, conflict, held: 0, awaited, stats };
        PathCore::with(path, policy)
    }
}

/// Who is awaited stands in the epochs, and what was counted decides nothing.
impl Hash for InCaches {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let InCaches { rules: _, mutant: _, wanted, fences, releasing, .. } = self;
        (wanted, fences, releasing).hash(into);
    }
}

impl InCaches {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Whether the oldest epoch is durable, and nothing before it is not.
    fn may_commit(&self, path: &Path) -> bool {
        let oldest = path.tracker.epochs.oldest();
        let waits = oldest.waits_on.is_some() && !self.is(Mutant::IgnoresDependence);
        oldest.closed && !waits && (oldest.pending == 0 || self.is(Mutant::CommitsUnacknowledged))
    }

    /// Whether the oldest epoch is complete, and goes on its own or because somebody waits.
    fn is_due(&self, path: &Path) -> bool {
        let oldest = path.tracker.epochs.oldest();
        oldest.closed && (self.rules.proactive || oldest.id <= self.wanted)
    }

    /// Whether releases order one way alone.
    fn is_one_sided(&self, path: &Path) -> bool {
        self.rules.one_sided && path.spec.cross_core == CrossCore::Acquires
    }

    /// The last epoch that no fence keeps back.
    fn unfenced(&self) -> EpochId {
        self.fences.front().copied().unwrap_or(EpochId::MAX)
    }

    /// The entry that may go next where releases are one-sided: they alone, and what follows a fence, wait for what came before.
    fn next_unordered(&self, path: &Path) -> Option<u16> {
        let unfenced = if self.is(Mutant::PassesFences) { EpochId::MAX } else { self.unfenced() };
        let last = self.wanted.min(unfenced);
        let oldest = path.tracker.epochs.oldest().id;
        let mut waiting = path.buffer.waiting().take_while(|(_, entry)| entry.epoch <= last);
        waiting.find(|(_, entry)| !entry.released || entry.epoch == oldest).map(|(slot, _)| slot)
    }

    /// The older epoch that a line still belongs to.
    fn older(path: &Path, line: Line) -> Option<EpochId> {
        path.buffer.oldest_epoch_on(line).filter(|epoch| *epoch < path.tracker.epochs.open())
    }
}

impl Policy for InCaches {
    /// What is stored after a release may go with what was stored before.
    fn joins(&mut self, path: &mut Path, now: Time, write: &LineWrite) -> Option<EpochId> {
        if !self.is_one_sided(path) {
            return None;
        }
        let releases = self.releasing == Some(write.line);
        let epoch = path.buffer.oldest_epoch_on(write.line)?;
        let fenced = self.fences.back().is_some_and(|fence| epoch <= *fence);
        let may =
            (!releases || self.is(Mutant::JoinsReleases)) && (!fenced || self.is(Mutant::JoinsOverFences));
        if may { path.buffer.join(now, write) } else { None }
    }

    /// A release has an epoch of its own, so that who acquires it waits for nothing that was stored later. Where the table has
    /// no room it shares one: that orders more, never less.
    fn stored(&mut self, path: &mut Path, line: Line) {
        if self.releasing.take() == Some(line) && self.is_one_sided(path) {
            path.buffer.released();
            _ = path.tracker.epochs.close();
        }
    }

    fn releases(&mut self, line: Line) {
        self.releasing = Some(line);
    }

    fn fenced(&mut self, path: &Path) {
        let last = path.tracker.epochs.last_closed_in_flight();
        if self.is_one_sided(path) && last > 0 && self.fences.back() != Some(&last) {
            self.fences.push_back(last);
        }
    }

    fn admits(&self, path: &Path, line: Line) -> bool {
        InCaches::older(path, line).is_none()
    }

    fn refused(&mut self, path: &mut Path, line: Line) -> bool {
        let older = InCaches::older(path, line);
        if let Some(epoch) = older
            && self.conflict != Some((line, epoch))
        {
            self.conflict = Some((line, epoch));
            self.stats.line_conflicts += 1;
        }
        let epoch = older.unwrap_or_else(|| path.tracker.epochs.oldest().id);
        self.presses(path, epoch)
    }

    /// An open epoch that somebody waits for ends here: splitting it orders more, never less. Where the table has no room
    /// for the next, the oldest goes first, and who waits asks again.
    fn presses(&mut self, path: &mut Path, epoch: EpochId) -> bool {
        if self.is(Mutant::HearsNobody) {
            return false;
        }
        let epochs = &mut path.tracker.epochs;
        let closed = epoch < epochs.open() || epochs.close().is_ok();
        self.wanted = self.wanted.max(if closed { epoch } else { epochs.oldest().id });
        true
    }

    fn hands_over(&mut self, path: &mut Path, _: Time, asked: Asked, _: &mut Outbox) -> HandOver {
        if self.is(Mutant::HandsOverEarly) {
            return HandOver::Free;
        }
        // The shared cache keeps a line in its place until what was written here is durable.
        if let Some(epoch) = path.buffer.oldest_epoch_on(asked.line) {
            self.presses(path, epoch);
        }
        if self.rules.tracks {
            return HandOver::Tracked;
        }
        let Asked { line: _, written, released } = asked;
        let last = match path.spec.cross_core {
            CrossCore::Acquires if released == 0 || self.is_one_sided(path) => released,
            CrossCore::Conflicts | CrossCore::Acquires => written.max(released),
        };
        if last <= path.tracker.epochs.committed() {
            return HandOver::Free;
        }
        self.stats.held_lines += u64::from(last > self.held);
        self.held = self.held.max(last);
        self.presses(path, last);
        HandOver::Stays
    }

    fn would_send(&self, path: &Path) -> bool {
        if self.is_one_sided(path) {
            return path.buffer.oldest().is_some_and(|(_, entry)| entry.epoch <= self.wanted);
        }
        self.is_due(path)
    }

    fn sendable(&self, path: &Path) -> Option<u16> {
        let (slot, entry) = path.buffer.oldest()?;
        if self.is(Mutant::PassesEpochs) {
            return Some(slot);
        }
        if self.is_one_sided(path) {
            return self.next_unordered(path);
        }
        let oldest = path.tracker.epochs.oldest();
        let waits = oldest.waits_on.is_some() && !self.is(Mutant::IgnoresDependence);
        (entry.epoch == oldest.id && self.is_due(path) && !waits).then_some(slot)
    }

    fn drains_eagerly(&self, path: &Path) -> bool {
        path.draining
    }

    fn advance(&mut self, path: &mut Path, now: Time, out: &mut Outbox) {
        while self.may_commit(path) && self.awaited.commit(path, now, out) {}
        while self.fences.front().is_some_and(|fence| *fence <= path.tracker.epochs.committed()) {
            self.fences.pop_front();
        }
    }

    fn on(&mut self, path: &mut Path, now: Time, msg: &Msg, out: &mut Outbox) {
        match *msg {
            Msg::CrossDependencyResolved { tag } => path.tracker.epochs.resolve(tag),
            Msg::AddDependent { epoch, dependent } => {
                self.awaited.add(path, now, epoch, dependent, out);
                self.presses(path, epoch);
            }
            messages!(timers | caches | memory | persists | acknowledgements | timestamps)
            | messages!(uncached | near) => protocol::unexpected("the epochs of a core's lines", msg),
        }
    }

    fn has_pending_replies(&self) -> bool {
        self.awaited.is_any()
    }

    fn depends(&self) -> bool {
        self.rules.tracks
    }

    fn stats(&self, waits: &BufferStats, sink: &mut dyn StatSink) {
        let BufferStats { entries, coalesced_stores, persist_buffer } = waits.clone();
        let (epoch_lines, joined_stores) = (entries, coalesced_stores);
        LineStats { epoch_lines, joined_stores, unfinished_lines: persist_buffer, ..self.stats.clone() }
            .hand_up(sink);
    }
}
