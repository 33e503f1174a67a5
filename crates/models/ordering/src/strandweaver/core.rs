//! The core side of StrandWeaver.

use super::spec::CAPABILITIES;
use super::unit::Unit;
use super::{Mutant, StrandSpec};
use params::{Occupancy, Statistics};
use protocol::{
    Capabilities, CoreOrdering, EpochId, EpochTag, FenceKind, Flushed, Line, LineWrite, Msg, Outbox, Peer,
    StatSink, WouldBlock,
};
use std::hash::{Hash, Hasher};
use units::{Dur, Time};

/// What a core side counts.
#[derive(Clone, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(super) struct Counts {
    /// strands begun
    strands: u64,
    /// barriers within strands
    persist_barriers: u64,
    /// joins of all strands, those of dfences included
    joins: u64,
    /// lines that core sides asked caches to write back
    write_backs: u64,
    /// flushes that joined one of the same line that was still waiting
    joined_flushes: u64,
    /// flushes of strands on their way, those in the persist queue among them
    strand_flushes: Occupancy,
}

/// Persist queue and strand buffers of one core.
#[derive(Clone)]
pub struct StrandCore {
    unit: Unit,
    /// Lines stored to behind a barrier: the strand, and the last flush before that barrier. Whatever strand persists such a
    /// line, that flush comes first.
    behind: Vec<(Line, u64, EpochId)>,
    /// The present strand, and the last flush before its last barrier; none before its first.
    strand: u64,
    barred: EpochId,
    issue: Dur,
    /// When the next flush may go.
    free_at: Time,
    mutant: Option<Mutant>,
    counts: Counts,
}

/// An instruction that is tried again counts once.
fn counted<T>(count: &mut u64, done: Result<T, WouldBlock>) -> Result<T, WouldBlock> {
    *count += u64::from(done.is_ok());
    done
}

impl StrandCore {
    /// Nothing under way; `mutant` is none on every machine.
    pub fn new(spec: &StrandSpec, mutant: Option<Mutant>) -> StrandCore {
        let mut unit = Unit::new(spec.persist_queue, spec.strand_buffers, spec.strand_entries);
        unit.ignores_barriers = mutant == Some(Mutant::IgnoreBarrier);
        StrandCore {
            unit,
            behind: Vec::new(),
            strand: 0,
            barred: 0,
            issue: spec.strand_issue_ns,
            free_at: Time::ZERO,
            mutant,
            counts: Counts::default(),
        }
    }

    /// A store to a line behind a barrier.
    fn stored(&mut self, line: Line) {
        if self.barred > self.unit.durable() {
            self.behind.retain(|(l, ..)| *l != line);
            self.behind.push((line, self.strand, self.barred));
        }
    }

    /// Whether a flush of a line, on this strand, would pass what a store of another strand comes after.
    fn passes(&self, line: Line) -> bool {
        let other = |b: &&(Line, u64, EpochId)| b.0 == line && b.1 != self.strand;
        self.behind.iter().any(|b| other(&b)) && !self.is(Mutant::PassOldStore)
    }

    /// Something changed at `now`: what may go, goes no earlier.
    fn changed(&mut self, now: Time) {
        let durable = self.unit.durable();
        self.behind.retain(|(.., after)| *after > durable);
        self.free_at = self.free_at.max(now);
        self.counts.strand_flushes.set(now, self.unit.level());
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn join(&mut self) -> Result<(), WouldBlock> {
        if !self.unit.is_empty() && !self.is(Mutant::JoinNothing) {
            return Err(WouldBlock);
        }
        self.unit.ordered = self.unit.last;
        Ok(())
    }
}

/// What decides about the future, without times and counts.
impl Hash for StrandCore {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let StrandCore { unit, behind, strand, barred, issue: _, free_at: _, mutant: _, counts: _ } = self;
        // Of a strand counts which of the stores are its own.
        let own = |(line, of, after): &(Line, u64, EpochId)| (*line, of == strand, *after);
        (unit, behind.iter().map(own).collect::<Vec<_>>(), barred).hash(into);
    }
}

impl CoreOrdering for StrandCore {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    /// Gives the last flush that this store comes after: its line stays until that has arrived.
    fn store(&mut self, _: Time, write: &LineWrite, _: &mut Outbox) -> Result<EpochId, WouldBlock> {
        if self.unit.awaits_behind(write.line) && !self.is(Mutant::OverwriteWaiting) {
            return Err(WouldBlock);
        }
        self.stored(write.line);
        Ok(self.unit.ordered)
    }

    fn flush(
        &mut self,
        now: Time,
        line: Line,
        changed: bool,
        drop: bool,
        _: &mut Outbox,
    ) -> Result<Flushed, WouldBlock> {
        // What takes the line out of the caches cannot be held back there.
        if drop && (self.unit.awaits(line) || self.unit.ordered > self.unit.durable()) {
            return Err(WouldBlock);
        }
        if drop || !changed {
            return Ok(Flushed::ByCaches);
        }
        if self.passes(line) {
            return Err(WouldBlock);
        }
        let new = self.unit.flush(line)?;
        self.counts.joined_flushes += u64::from(!new);
        self.changed(now);
        Ok(Flushed::Taken)
    }

    fn fence(&mut self, now: Time, kind: FenceKind, _: &mut Outbox) -> Result<(), WouldBlock> {
        let done = match kind {
            FenceKind::Ofence | FenceKind::Sfence => {
                let done = self.unit.barrier();
                self.barred = if done.is_ok() { self.unit.last } else { self.barred };
                counted(&mut self.counts.persist_barriers, done)
            }
            FenceKind::NewStrand => {
                let done = self.unit.new_strand();
                if done.is_ok() {
                    (self.strand, self.barred) = (self.strand + 1, 0);
                }
                counted(&mut self.counts.strands, done)
            }
            FenceKind::Dfence | FenceKind::Mfence | FenceKind::JoinStrand => {
                let done = self.join();
                counted(&mut self.counts.joins, done)
            }
        };
        self.changed(now);
        done
    }

    /// What is released comes after every flush so far: whoever takes the line waits for them.
    fn release(&mut self, _: Time, _: Line, _: &mut Outbox) -> Result<EpochId, WouldBlock> {
        Ok(self.unit.last)
    }

    fn snooped(
        &mut self,
        _: Time,
        line: Line,
        written: EpochId,
        released: EpochId,
        _: &mut Outbox,
    ) -> Result<Option<EpochTag>, WouldBlock> {
        let stays = written.max(released) > self.committed() || self.holds(line);
        if stays { Err(WouldBlock) } else { Ok(None) }
    }

    fn holds(&self, line: Line) -> bool {
        self.unit.awaits(line)
    }

    fn committed(&self) -> EpochId {
        if self.is(Mutant::LeaveEarly) { EpochId::MAX } else { self.unit.durable() }
    }

    fn on(&mut self, now: Time, _: Peer, msg: &Msg, _: &mut Outbox) {
        if let Msg::CleanAck { line } = *msg {
            self.unit.arrived(line);
        } else {
            protocol::unexpected("a strand buffer unit", msg);
        }
        self.changed(now);
    }

    fn next(&self) -> Time {
        self.unit.sendable().map_or(Time::NEVER, |_| self.free_at)
    }

    fn tick(&mut self, now: Time, out: &mut Outbox) {
        if self.free_at > now {
            return;
        }
        if let Some((sequence, line)) = self.unit.sendable() {
            self.unit.sent(sequence);
            self.counts.write_backs += 1;
            out.send(now, Peer::Caches, Msg::WriteBack { line, data: [0; 64] });
            self.free_at = now + self.issue;
        }
    }

    fn level(&self) -> usize {
        self.unit.level()
    }

    /// Queue and buffers are volatile, and hold no bytes.
    fn power_fail(&self, _: &mut dyn FnMut(Time, &LineWrite)) {}

    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        self.counts.strand_flushes.pass(now);
        self.counts.hand_up(sink);
    }
}
