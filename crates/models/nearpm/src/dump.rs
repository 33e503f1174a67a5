//! What a device saves when the power fails, and how it goes on from that (paper §5.3.3).
//!
//! Saved are exactly four structures: the request FIFO, the address mapping table, the in-flight request registers and
//! the host queue. Each has entries of a fixed size, so that what they need together is known beforehand.

use crate::dispatcher::{Bytes, Dispatcher, Effect, Held, Queued};
use crate::spec::{DispatcherSpec, Mutant, Sync};
use crate::table::ENTRY_BYTES;
use crate::unit::{UnitPhase, UnitState};
use protocol::{LINE_BYTES, LineWrite, Msg, NearKind};
use units::Time;

/// Bytes of a saved request, in the FIFO or in a register.
pub const REQUEST_BYTES: usize = 64;
/// Bytes of a saved host access: line, mask and data.
pub const HOST_BYTES: usize = 80;

/// What one device saved.
#[derive(Clone)]
pub struct Dump {
    spec: DispatcherSpec,
    fifo: Vec<Queued>,
    unit_states: Vec<UnitState>,
    held: Vec<Held>,
    table: usize,
}

impl DispatcherSpec {
    /// Bytes that the structures in the persistence domain take at most: what has to be saved on a power failure.
    pub fn persistence_domain_bytes(&self) -> usize {
        self.fifo * REQUEST_BYTES
            + self.table * ENTRY_BYTES
            + self.units * REQUEST_BYTES
            + self.host_queue * HOST_BYTES
    }
}

impl Dump {
    /// Bytes that were saved.
    pub fn bytes(&self) -> usize {
        let unit_states = self.unit_states.iter().filter(|r| r.state != UnitPhase::Free).count();
        (self.fifo.len() + unit_states) * REQUEST_BYTES
            + self.held.len() * HOST_BYTES
            + self.table * ENTRY_BYTES
    }

    /// The same in lines, begun ones whole.
    pub fn lines(&self) -> u64 {
        (self.bytes() as u64).div_ceil(LINE_BYTES)
    }

    /// Whether a host write was saved, by its place in the order of arrivals.
    pub(crate) fn has(&self, stamp: u64) -> bool {
        self.held.iter().any(|h| h.stamp == stamp)
    }

    /// The last request that the device has received, as its structures show it.
    fn received(&self) -> u64 {
        let queued = self.fifo.iter().map(|q| q.request.number);
        queued.chain(self.unit_states.iter().map(|r| r.request.number)).max().unwrap_or(0)
    }
}

impl Dispatcher {
    /// The power fails: what is saved.
    pub fn power_fail(&self) -> Dump {
        let lost = self.spec.is(Mutant::FifoLost);
        // A flush of a persist buffer has not been acknowledged: its sender still answers for its order.
        let saved = |h: &&Held| h.write && matches!(h.msg, Msg::Write { .. });
        let handed = self.handed.iter().filter(|_| !self.spec.is(Mutant::ForgetsReleased));
        let kept = handed.chain(&self.held).filter(|h| h.is_kept);
        let mut held: Vec<Held> = kept.filter(saved).copied().collect();
        held.sort_by_key(|h| h.stamp);
        Dump {
            spec: self.spec,
            fifo: if lost { Vec::new() } else { self.fifo.iter().copied().collect() },
            unit_states: self.unit_states.clone(),
            held,
            table: self.table.entries().len(),
        }
    }

    /// Every write that waits for a conflict, inside the host queue or not.
    pub fn each_held_write(&self, visit: &mut dyn FnMut(Time, &LineWrite)) {
        for held in &self.held {
            if let Some(write) = written(&held.msg) {
                visit(Time::from_ps(held.stamp), &write);
            }
        }
    }
}

fn written(msg: &Msg) -> Option<LineWrite> {
    if let Msg::Write { line, data, mask, .. } = *msg {
        return (mask != 0).then_some(LineWrite { line, mask, data });
    }
    if let Msg::Flush(request) = *msg { Some(request.write) } else { None }
}

/// Every device loads what it saved and replays requests and host accesses up to the last synchronisation that all of
/// them had reached. Gives what does not hold afterwards.
///
/// # Errors
/// A request that could not be replayed.
pub fn recover<B: Bytes>(dumps: &[Dump], memories: &mut [B]) -> Result<(), String> {
    let received: Vec<u64> = dumps.iter().map(Dump::received).collect();
    for (dump, memory) in dumps.iter().zip(memories) {
        let capacity = dump.spec.persistence_domain_bytes();
        if dump.bytes() > capacity {
            return Err(format!("device {} saved {} bytes of {capacity}", dump.spec.index, dump.bytes()));
        }
        let reached = |r: &protocol::NearRequest| {
            let misses = |d: usize| r.devices >> d & 1 == 1 && received[d] < r.number;
            r.kind != NearKind::CommitLog || dump.spec.sync != Sync::Delayed || !(0..dumps.len()).any(misses)
        };
        replay(dump, memory, &reached)?;
    }
    Ok(())
}

/// One device: the dispatcher goes on with what was saved. What follows a synchronisation that others had not reached is
/// dropped, with the host accesses that wait for it.
fn replay(
    dump: &Dump,
    memory: &mut dyn Bytes,
    reached: &dyn Fn(&protocol::NearRequest) -> bool,
) -> Result<(), String> {
    let mut dispatcher =
        Dispatcher::new(DispatcherSpec { sync: Sync::None, mutants: [None; 2], ..dump.spec });
    let mut dropped: Vec<Queued> = Vec::new();
    for register in &dump.unit_states {
        // A register whose part is done has only to wait for others, and these replay their own.
        if register.is_busy() {
            dispatcher.fifo.push_back(register.queued());
        }
    }
    dispatcher.fifo.make_contiguous().sort_by_key(|q| q.stamp);
    for queued in &dump.fifo {
        let of = |q: &Queued| (q.request.pool, q.request.thread);
        if !dropped.iter().any(|d| of(d) == of(queued)) && reached(&queued.request) {
            dispatcher.fifo.push_back(*queued);
        } else {
            dropped.push(*queued);
        }
    }
    let follows =
        |h: &&Held| dropped.iter().any(|q| q.stamp < h.stamp && q.request.conflicts(h.line, h.write));
    dispatcher.held.extend(dump.held.iter().filter(|h| !follows(h)).copied());
    if dump.spec.is(Mutant::ReplaysLate) {
        dispatcher
            .held
            .drain(..)
            .filter_map(|h| written(&h.msg))
            .for_each(|w| memory.write(w.line, &w.data, w.mask));
    }
    let mut effects = Vec::new();
    loop {
        dispatcher.advance(&mut effects);
        for effect in effects.drain(..) {
            if let Effect::Perform { msg, .. } = effect
                && let Some(w) = written(&msg)
            {
                memory.write(w.line, &w.data, w.mask);
            }
        }
        if !dispatcher.handed.is_empty() {
            dispatcher.took(0, &mut effects);
            continue;
        }
        let Some(unit) = (0..dispatcher.spec.units).find(|u| dispatcher.is_busy(*u)) else { break };
        dispatcher.step(unit, memory, &mut effects);
    }
    let left = dispatcher.fifo.front().map(|q| q.request);
    left.map_or(Ok(()), |r| Err(format!("device {} could not replay {r}", dump.spec.index)))
}
