//! BBB: a battery-backed buffer beside each core. A store is durable once it is in the buffer.
//!
//! ```text
//!   stores -> battery-backed buffer --Flush--> controller -> WPQ
//! ```
//!
//! Modelled: ASAP's optimistic version (§VII): fences cost nothing, stores wait only when the buffer is full, a
//! line that another core asks for leaves the buffer first. On a power failure the buffer drains.
//!
//! Not modelled: the battery, and BBB's choice of which entries to drain first (oldest first here).
//!
//! Source: Alshboul et al., BBB: Simplifying Persistent Programming using Battery-Backed Buffers, HPCA 2021.

use crate::path::{FlushStats, Pace, PersistBuffer};
use crate::spec::PathSpec;
use protocol::{
    Capabilities, CoreOrdering, EpochId, EpochTag, FenceKind, FlushRequest, Line, LineWrite, Msg, Outbox,
    Peer, StatSink, WouldBlock,
};
use std::hash::{Hash, Hasher};
use units::Time;

mod explore;
mod mutant;
mod plug;
#[cfg(test)]
mod tests;

pub use explore::Bbb;
pub use mutant::Mutant;
pub use plug::MODEL;

const CAPABILITIES: Capabilities =
    Capabilities { persist_path: true, orders_stores: true, ..Capabilities::NONE };

/// The core side of BBB. It has no epochs: every write is durable at once.
#[derive(Clone)]
pub struct BatteryBuffer {
    spec: PathSpec,
    /// A seeded mistake; none in every machine.
    mutant: Option<Mutant>,
    buffer: PersistBuffer,
    pace: Pace,
    flushes: u64,
}

/// The one epoch that all writes are in.
const ONE: EpochId = 1;

impl BatteryBuffer {
    /// An empty buffer.
    pub fn new(spec: PathSpec) -> BatteryBuffer {
        BatteryBuffer::seeded(spec, None)
    }

    /// The same with a mistake, for the explorer.
    pub fn seeded(spec: PathSpec, mutant: Option<Mutant>) -> BatteryBuffer {
        let buffer = PersistBuffer::new(spec.persist_buffer);
        BatteryBuffer { buffer, pace: Pace::new(&spec), flushes: 0, mutant, spec }
    }

    fn flush(&mut self, now: Time, slot: u16, out: &mut Outbox) {
        let write = self.buffer.send(slot).write;
        let core = self.spec.core;
        let request = FlushRequest {
            core,
            slot,
            epoch: ONE,
            early: false,
            retry: false,
            after_core: 0,
            after_epoch: 0,
            write,
        };
        out.send(now, Peer::Controller(self.spec.map.controller(write.line)), Msg::Flush(request));
        self.flushes += 1;
    }
}

/// What decides about the future, without times and counts.
impl Hash for BatteryBuffer {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let BatteryBuffer { spec: _, mutant: _, buffer, pace: _, flushes: _ } = self;
        buffer.hash(into);
    }
}

impl CoreOrdering for BatteryBuffer {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn store(&mut self, now: Time, write: &LineWrite, _: &mut Outbox) -> Result<EpochId, WouldBlock> {
        let joins = self.mutant == Some(Mutant::ForgetsJoined) && self.buffer.oldest_on(write.line).is_some();
        if !joins {
            self.buffer.insert(now, write, ONE)?;
        }
        self.pace.woken(now);
        self.pace.not_before(now);
        Ok(0)
    }

    fn fence(&mut self, _: Time, _: FenceKind, _: &mut Outbox) -> Result<(), WouldBlock> {
        Ok(())
    }

    /// The line's entry goes to its controller before the line goes to the other core: both take the same
    /// time on the wire, so the controller sees the older write first.
    fn snooped(
        &mut self,
        now: Time,
        line: Line,
        _: EpochId,
        _: EpochId,
        out: &mut Outbox,
    ) -> Result<Option<EpochTag>, WouldBlock> {
        let stays = self.mutant == Some(Mutant::SnoopedLineStays);
        if let Some(slot) = self.buffer.oldest_on(line).filter(|_| !stays) {
            self.flush(now, slot, out);
        }
        Ok(None)
    }

    fn holds(&self, line: Line) -> bool {
        self.buffer.holds(line)
    }

    fn committed(&self) -> EpochId {
        EpochId::MAX
    }

    fn on(&mut self, now: Time, _: Peer, msg: &Msg, _: &mut Outbox) {
        if let Msg::Ack { slot } = *msg {
            self.buffer.acknowledge(now, slot);
        } else {
            protocol::unexpected("a battery-backed buffer", msg);
        }
    }

    fn next(&self) -> Time {
        self.pace.next(self.buffer.unsent(), false)
    }

    fn tick(&mut self, now: Time, out: &mut Outbox) {
        if self.next() <= now
            && let Some((slot, _)) = self.buffer.oldest()
        {
            self.flush(now, slot, out);
            self.pace.sent(now);
        }
    }

    fn level(&self) -> usize {
        self.buffer.used()
    }

    /// The battery drains every entry.
    fn power_fail(&self, save: &mut dyn FnMut(Time, &LineWrite)) {
        let drains = |flying: bool| match self.mutant {
            Some(Mutant::NoBattery) => false,
            Some(Mutant::SentCountsAsSafe) => !flying,
            Some(Mutant::SnoopedLineStays | Mutant::ForgetsJoined) | None => true,
        };
        for entry in self.buffer.entries().filter(|e| drains(e.flying)) {
            save(entry.at, &entry.write);
        }
    }

    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        self.buffer.stats.persist_buffer.pass(now);
        FlushStats { safe_flushes: self.flushes }.hand_up(sink);
        self.buffer.stats.hand_up(sink);
    }
}
