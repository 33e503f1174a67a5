//! The core side of StrandWeaver.

use super::plug::CAPABILITIES;
use super::unit::Unit;
use super::{Mutant, StrandSpec};
use params::{Occupancy, Statistics};
use protocol::{
    Capabilities, CoreOrdering, EpochId, EpochTag, FenceKind, Flushed, Line, LineWrite, Msg, Outbox, Peer,
    StatSink, WouldBlock,
};
use std::hash::Hasher;
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
    /// flushes of strands on their way
    strand_flushes: Occupancy,
}

/// Persist queue and strand buffers of one core.
#[derive(Clone)]
pub struct StrandCore {
    unit: Unit,
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
            issue: spec.strand_issue_ns,
            free_at: Time::ZERO,
            mutant,
            counts: Counts::default(),
        }
    }

    /// Everything that decides about the future, without times and counts: for explorers.
    pub fn fingerprint(&self, into: &mut impl Hasher) {
        self.unit.fingerprint(into);
    }

    /// Something changed at `now`: what may go, goes no earlier.
    fn changed(&mut self, now: Time) {
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

impl CoreOrdering for StrandCore {
    fn traits(&self) -> Capabilities {
        CAPABILITIES
    }

    /// Gives the last flush that this store comes after: its line stays until that has arrived.
    fn store(&mut self, _: Time, write: &LineWrite, _: &mut Outbox) -> Result<EpochId, WouldBlock> {
        if self.unit.awaits_behind(write.line) && !self.is(Mutant::OverwriteWaiting) {
            return Err(WouldBlock);
        }
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
        let new = self.unit.flush(line)?;
        self.counts.joined_flushes += u64::from(!new);
        self.changed(now);
        Ok(Flushed::Taken)
    }

    fn fence(&mut self, now: Time, kind: FenceKind, _: &mut Outbox) -> Result<(), WouldBlock> {
        let done = match kind {
            FenceKind::Ofence | FenceKind::Sfence => {
                let done = self.unit.barrier();
                counted(&mut self.counts.persist_barriers, done)
            }
            FenceKind::NewStrand => {
                let done = self.unit.new_strand();
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
