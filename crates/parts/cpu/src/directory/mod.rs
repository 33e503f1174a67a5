//! The shared cache and the directory of the private ones: three-level MESI, inclusive, one line at a time.
//!
//! ```text
//!   cores --GetS, GetM, PutM, LineFlush--> [transactions, one a line] --Read, Write--> controllers
//!     ^            |  Snoop                 |
//!     +---- Data <-+------ tags, bytes, sharers, owner, epoch tag, pins
//! ```
//!
//! Modelled: requests for one line are served in order of arrival; a line that is modified elsewhere is fetched
//! from its owner; evicting a line recalls every private copy; flush instructions reach memory from wherever the
//! line is dirty, and wait for its last write-back where that is not durable yet, whoever flushed it. For ordering
//! models with a persist path, a line remembers the epoch that wrote or released it last (until told that it
//! committed, be it that the line leaves meanwhile), so that a later reader is made dependent; and a line handed over
//! while a persist buffer still holds writes of it is pinned, since memory does not have them yet.
//!
//! Not modelled: banks and ports of the cache (its bandwidth is not a limit), and the difference between a tag
//! and a data access.
//!
//! Sources: Sorin, Hill and Wood, A Primer on Memory Consistency and Cache Coherence, chapter 8 (blocking
//! directory); ASAP (HPCA 2022) §IV-E and §V-F.

mod mutant;
mod spec;
mod state;
mod stats;
#[cfg(test)]
mod tests;

/// What the directory reports.
pub const STATISTICS: &[StatisticInfo] = stats::Stats::TABLE;

pub use mutant::Mutant;
pub use spec::{DirectorySpec, Replacement};

use engine::{Device, Out, PortId};
use params::{StatisticInfo, Statistics};
use protocol::{
    AddressMap, Block, Depth, EpochTag, Line, LineWrite, Mask, Msg, Node, PostCrash, Snoop, StatSink, View,
    messages, ports,
};
use state::{Phase, Request, Slot, State};
use std::hash::{Hash, Hasher};
use units::{Dur, Time};

/// Something that the directory waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// The bytes of a line, from a controller that was sent a read at `since`.
    Read { line: Line, controller: usize, since: Time },
    /// Cores' answers to snoops.
    Snoops { line: Line, left: u32 },
    /// A place in its set, for a line that is not there.
    Room { line: Line },
    /// Word of a controller that a write is durable.
    Write { line: Line, controller: usize },
}

/// The shared cache and its directory.
#[derive(Clone)]
pub struct Directory {
    spec: DirectorySpec,
    map: AddressMap,
    state: State,
    /// When the last message to each controller leaves: none overtakes another.
    leaves: Vec<Time>,
    stats: stats::Stats,
    /// A seeded mistake; none in every machine.
    mutant: Option<Mutant>,
}

/// What decides about the future, without times and counts.
impl Hash for Directory {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Directory { spec: _, map: _, state, leaves: _, stats: _, mutant: _ } = self;
        state.hash(into);
    }
}

impl Directory {
    /// A directory for `spec.cores` cores.
    pub fn new(spec: DirectorySpec, map: AddressMap) -> Directory {
        Directory::seeded(spec, map, None)
    }

    /// The same with a mistake, for the explorer.
    pub fn seeded(spec: DirectorySpec, map: AddressMap, mutant: Option<Mutant>) -> Directory {
        let leaves = vec![Time::ZERO; map.controllers()];
        Directory { state: State::new(&spec), spec, map, leaves, stats: stats::Stats::default(), mutant }
    }

    fn submit(&mut self, line: Line, request: Request, out: &mut Out<'_, Msg>) {
        if self.state.enqueue(line, request) {
            self.begin(line, out);
        }
    }

    /// The request at the head of the line's queue starts.
    fn begin(&mut self, line: Line, out: &mut Out<'_, Msg>) {
        let Some(request) = self.state.current(line) else { return };
        match (request, self.state.find(line)) {
            (&Request::Get { core, modify }, Some(slot)) => {
                self.state.touch(slot);
                self.snoop_for_get(line, slot, core, modify, out);
            }
            (Request::Get { .. }, None) => self.fetch(line, out),
            (&Request::LineFlush { core, invalidate }, Some(slot)) => {
                self.begin_flush(line, slot, core, invalidate, out)
            }
            (&Request::LineFlush { core, .. }, None) => {
                // Its last bytes may be on their way to memory: an empty write comes after them where that matters.
                let behind = LineWrite { line, data: [0; 64], mask: 0 };
                let waits = line.is_pm() && self.mutant != Some(Mutant::AcknowledgesAbsent);
                self.write_through(waits.then_some(behind), line, core, out);
                self.finish(line, out);
            }
            (Request::NonTemporal { .. }, Some(slot)) => {
                self.snoop_all(line, slot, None, Snoop::Invalidate, out)
            }
            (&Request::NonTemporal { core, write }, None) => {
                self.write_to_memory(write, core, false, out);
                self.finish(line, out);
            }
            (Request::Recall | Request::Surrender, Some(slot)) => {
                self.snoop_all(line, slot, None, Snoop::Invalidate, out);
            }
            (Request::Recall, None) => self.finish(line, out),
            (Request::Surrender, None) => self.surrendered(line, out),
        }
    }

    /// The line is not here: makes room, and reads memory.
    fn fetch(&mut self, line: Line, out: &mut Out<'_, Msg>) {
        let Some(slot) = self.state.victim(line) else {
            // Every line of the set is busy or pinned: look again soon.
            self.stats.set_waits += 1;
            // One timer serves all that are stuck.
            if self.state.stuck.is_empty() {
                out.wake(out.now() + self.spec.retry, Msg::Wake);
            }
            self.state.stuck.push(line);
            return;
        };
        if let Some(old) = self.state.line(slot) {
            if self.state.has_copies(slot) {
                self.stats.recalls += 1;
                self.state.wait_for_recall(old, line);
                self.submit(old, Request::Recall, out);
                return;
            }
            self.evict(slot, out);
        }
        self.stats.misses += 1;
        self.state.reserve(slot, line);
        self.read(line, self.spec.latency, out);
    }

    fn evict(&mut self, slot: Slot, out: &mut Out<'_, Msg>) {
        let Some(line) = self.state.line(slot) else { return };
        if self.state.is_dirty(slot) && self.mutant != Some(Mutant::DropsVictim) {
            self.stats.write_backs += 1;
            let msg =
                Msg::Write { line, data: *self.state.data(slot), mask: Mask::MAX, ack: None, is_owned: true };
            self.send_to_memory(line, self.spec.latency, msg, out);
        }
        self.state.leave(slot);
    }

    fn snoop_for_get(&mut self, line: Line, slot: Slot, core: u8, modify: bool, out: &mut Out<'_, Msg>) {
        match self.state.owner(slot) {
            Some(owner) if owner != core => {
                let kind = if modify { Snoop::Invalidate } else { Snoop::Share };
                self.snoop(line, owner, kind, out);
                self.state.set_phase(line, Phase::Snoops { left: 1 });
            }
            _ if modify => self.snoop_all(line, slot, Some(core), Snoop::Invalidate, out),
            _ => self.serve_get(line, slot, self.spec.latency, out),
        }
    }

    /// The bytes are here, or have to come from memory although the line is known.
    fn serve_get(&mut self, line: Line, slot: Slot, think: Dur, out: &mut Out<'_, Msg>) {
        if self.spec.keeps_data || self.state.is_dirty(slot) {
            self.stats.hits += 1;
            return self.finish_get(line, slot, think, out);
        }
        self.stats.misses += 1;
        self.read(line, think, out);
    }

    fn begin_flush(&mut self, line: Line, slot: Slot, core: u8, invalidate: bool, out: &mut Out<'_, Msg>) {
        if invalidate {
            return self.snoop_all(line, slot, None, Snoop::Invalidate, out);
        }
        match self.state.owner(slot) {
            Some(owner) if owner != core && self.mutant != Some(Mutant::FlushSkipsOwner) => {
                self.snoop(line, owner, Snoop::Share, out);
                self.state.set_phase(line, Phase::Snoops { left: 1 });
            }
            _ => self.complete(line, slot, self.spec.latency, out),
        }
    }

    /// Asks every core with a copy, but not `except`, for the line.
    fn snoop_all(&mut self, line: Line, slot: Slot, except: Option<u8>, kind: Snoop, out: &mut Out<'_, Msg>) {
        let mut left = 0;
        for core in self.state.holders(slot).filter(|core| Some(*core) != except) {
            self.snoop(line, core, kind, out);
            left += 1;
        }
        if left == 0 {
            self.complete(line, slot, self.spec.latency, out);
        } else {
            self.state.set_phase(line, Phase::Snoops { left });
        }
    }

    /// A snoop leaves one snoop time after the lookup, so that it never overtakes the data it asks for.
    fn snoop(&mut self, line: Line, core: u8, kind: Snoop, out: &mut Out<'_, Msg>) {
        self.stats.snoops += 1;
        out.send(PortId(core), self.spec.latency + self.spec.snoop, Msg::Snoop { line, kind });
    }

    fn snoop_reply(&mut self, from: u8, line: Line, reply: Reply, out: &mut Out<'_, Msg>) {
        let slot = self.state.find(line).expect("a snooped line stays until it is answered");
        let was_owner = self.state.owner(slot) == Some(from);
        let share = matches!(
            self.state.current(line),
            Some(Request::Get { modify: false, .. } | Request::LineFlush { invalidate: false, .. })
        );
        self.state.answered(slot, from, share);
        if let Some(data) = reply.data.filter(|_| self.mutant != Some(Mutant::ForgetsAnswer)) {
            self.state.take_data(slot, &data);
        }
        if reply.tag.is_some() || (was_owner && reply.data.is_some()) {
            self.state.set_tag(slot, reply.tag);
        }
        if reply.held {
            self.state.pin(slot);
        }
        if self.state.one_snoop_less(line) {
            self.complete(line, slot, Dur::ZERO, out);
        }
    }

    /// Every private copy that stood in the way is gone.
    fn complete(&mut self, line: Line, slot: Slot, think: Dur, out: &mut Out<'_, Msg>) {
        match self.state.current(line) {
            Some(Request::Get { .. }) => self.serve_get(line, slot, think, out),
            Some(&Request::LineFlush { core, invalidate }) => {
                let dirty = self.state.is_dirty(slot);
                // An empty write goes behind what still leaves.
                let mask = if dirty { Mask::MAX } else { 0 };
                let write = LineWrite { line, mask, data: *self.state.data(slot) };
                let waits = self.mutant != Some(Mutant::AcknowledgesClean);
                let leaves = dirty || (line.is_pm() && waits && self.state.is_leaving(slot, line));
                self.state.set_clean(slot);
                if invalidate && !self.state.is_pinned(slot) {
                    self.state.free(slot);
                }
                self.write_through(leaves.then_some(write), line, core, out);
                self.finish(line, out);
            }
            Some(&Request::NonTemporal { core, write }) => {
                let mut whole = LineWrite { line, mask: write.mask, data: *self.state.data(slot) };
                if self.state.is_dirty(slot) {
                    whole.mask = Mask::MAX;
                }
                whole.merge(&write);
                self.state.free(slot);
                self.write_through(Some(whole), line, core, out);
                self.finish(line, out);
            }
            Some(Request::Recall) => {
                // A line that a persist buffer still holds writes of stays; the set is looked at again.
                if !self.state.is_pinned(slot) {
                    self.evict(slot, out);
                }
                self.finish(line, out);
            }
            Some(Request::Surrender) => {
                if !self.state.is_pinned(slot) {
                    self.evict(slot, out);
                }
                self.surrendered(line, out);
            }
            None => {}
        }
    }

    /// Tells a memory agent that no cache holds a line; what was changed of it is ahead of this on the same wire.
    fn surrendered(&mut self, line: Line, out: &mut Out<'_, Msg>) {
        self.send_to_memory(line, self.spec.latency, Msg::Recalled { line }, out);
        self.finish(line, out);
    }

    /// Sends a flushed write to memory, which tells the core. None: the line is durable already.
    fn write_through(&mut self, write: Option<LineWrite>, line: Line, core: u8, out: &mut Out<'_, Msg>) {
        match write {
            Some(write) => self.write_to_memory(write, core, true, out),
            None => out.send(PortId(core), self.spec.latency, Msg::CleanAck { line }),
        }
    }

    /// The same of a write that there is; `is_owned`: a cache has had the line until now.
    fn write_to_memory(&mut self, write: LineWrite, core: u8, is_owned: bool, out: &mut Out<'_, Msg>) {
        let LineWrite { line, mask, data } = write;
        let ack = line.is_pm().then_some(core);
        if ack.is_some() {
            self.state.write_leaves(line);
        }
        let msg = Msg::Write { line, data, mask, ack, is_owned };
        self.send_to_memory(line, self.spec.latency, msg, out);
        if ack.is_none() {
            out.send(PortId(core), self.spec.latency, Msg::CleanAck { line });
        }
    }

    fn finish_get(&mut self, line: Line, slot: Slot, think: Dur, out: &mut Out<'_, Msg>) {
        let Some(&Request::Get { core, modify }) = self.state.current(line) else { return };
        let grant = self.state.grant(slot, core, modify);
        let tag = self.state.tag(slot).filter(|t| t.core != core);
        if let Some(tag) = tag {
            out.send(PortId(tag.core), think, Msg::AddDependent { epoch: tag.epoch, dependent: core });
        }
        let data = *self.state.data(slot);
        out.send(PortId(core), think, Msg::Data { line, data, grant, tag });
        self.finish(line, out);
    }

    /// The request at the head is done; the next one starts, and so does whoever waited for the place.
    fn finish(&mut self, line: Line, out: &mut Out<'_, Msg>) {
        let (follows, waiting) = self.state.finish(line);
        if follows {
            self.begin(line, out);
        }
        if let Some(waiting) = waiting {
            self.begin(waiting, out);
        }
    }

    fn put(&mut self, line: Line, core: u8, data: &Block, out: &mut Out<'_, Msg>) {
        if self.mutant != Some(Mutant::ForgetsWriteBack) {
            self.state.put(line, core, data);
        }
        if !self.spec.keeps_data
            && let Some(slot) = self.state.find(line)
            && !self.state.is_pinned(slot)
        {
            self.state.set_clean(slot);
            self.state.set_leaving(slot, true);
            self.stats.write_backs += 1;
            let msg = Msg::Write { line, data: *data, mask: Mask::MAX, ack: None, is_owned: true };
            self.send_to_memory(line, self.spec.latency, msg, out);
        }
    }

    /// A core side has a line written back that its core alone has. Whoever wants the line meanwhile waits for that core's
    /// answer to a snoop, which may wait for this: it goes to memory at once, in no request's turn.
    fn write_back(&mut self, line: Line, core: u8, data: Block, out: &mut Out<'_, Msg>) {
        if let Some(slot) = self.state.find(line) {
            self.state.take_data(slot, &data);
            self.state.set_clean(slot);
        }
        self.write_through(Some(LineWrite { line, mask: Mask::MAX, data }), line, core, out);
    }

    fn read(&mut self, line: Line, think: Dur, out: &mut Out<'_, Msg>) {
        let controller = self.send_to_memory(line, think, Msg::Read { line }, out);
        self.state.ask_memory(line, controller, self.leaves[controller]);
    }

    /// Gives the controller.
    fn send_to_memory(&mut self, line: Line, think: Dur, msg: Msg, out: &mut Out<'_, Msg>) -> usize {
        let controller = self.map.controller(line);
        let leaves = self.leaves[controller].max(out.now() + think);
        self.leaves[controller] = leaves;
        out.send_at(leaves, ports::directory_to_controller(controller, self.spec.cores.into()), msg);
        controller
    }

    /// The bytes of a line have come from memory.
    fn filled(&mut self, from: PortId, line: Line, data: &Block, waits: bool, out: &mut Out<'_, Msg>) {
        let controller = usize::from(from.0).wrapping_sub(self.spec.cores.into());
        let Some(slot) = self.state.find(line).filter(|_| self.state.is_asked(line, controller)) else {
            return out.refuse(from, unasked(line));
        };
        self.state.fill(slot, data);
        self.state.set_leaving(slot, waits);
        self.finish_get(line, slot, Dur::ZERO, out);
    }
}

#[cold]
fn unasked(line: Line) -> String {
    format!("answered a read of the line at {:#x} that nobody asked it for", line.address())
}

#[cold]
fn durable_already(line: Line) -> String {
    let at = line.address();
    format!(
        "said that a write of the line at {at:#x} is durable, and there is none that it has not said that of"
    )
}

struct Reply {
    data: Option<Block>,
    tag: Option<EpochTag>,
    held: bool,
}

impl Device<Msg> for Directory {
    fn on(&mut self, _now: Time, port: PortId, msg: &Msg, out: &mut Out<'_, Msg>) {
        let core = port.0;
        match *msg {
            Msg::GetS { line } => self.submit(line, Request::Get { core, modify: false }, out),
            Msg::GetM { line } => self.submit(line, Request::Get { core, modify: true }, out),
            Msg::LineFlush { line, data, invalidate } => {
                // Taken at once, as a write-back is: the core holds a clean line from here on, and would answer a
                // snoop of a request that is served before this one without bytes.
                if let (Some(data), Some(slot)) = (data, self.state.find(line)) {
                    self.state.take_data(slot, &data);
                }
                self.submit(line, Request::LineFlush { core, invalidate }, out);
            }
            Msg::WriteBack { line, data } => self.write_back(line, core, data, out),
            Msg::NonTemporal { line, data, mask } => {
                let write = LineWrite { line, mask, data };
                self.submit(line, Request::NonTemporal { core, write }, out);
            }
            Msg::PutM { line, data } => self.put(line, core, &data, out),
            Msg::SnoopReply { line, data, tag, held } => {
                self.snoop_reply(core, line, Reply { data, tag, held }, out);
            }
            Msg::Recall { line } => self.submit(line, Request::Surrender, out),
            Msg::Drained { line } => self.state.unpin(line),
            Msg::Written { line } => {
                if !self.state.write_is_durable(line) {
                    out.refuse(port, durable_already(line));
                }
            }
            Msg::Untag { line, epoch } => self.state.untag(line, EpochTag { core, epoch }),
            Msg::ReadReply { line, ref data, waits } => self.filled(port, line, data, waits, out),
            Msg::Wake => {
                for line in std::mem::take(&mut self.state.stuck) {
                    self.begin(line, out);
                }
            }
            Msg::Alarm | messages!(grants | accesses | recalls | ordering | uncached | near) => {
                protocol::unexpected("the directory", msg)
            }
        }
    }
}

impl Node for Directory {
    fn post_crash(&self, view: View, post_crash: &mut PostCrash) {
        let survives = self.spec.caches_persist && self.mutant != Some(Mutant::SavesNothing);
        if view == View::Visible || survives {
            for (line, data) in self.state.dirty_lines().filter(|(line, _)| line.is_pm()) {
                let write = LineWrite { line, mask: Mask::MAX, data: *data };
                post_crash.save(Depth::Shared, Time::ZERO, &write);
            }
        }
    }

    fn stats(&mut self, _now: Time, sink: &mut dyn StatSink) {
        self.stats.hand_up(sink);
    }
}

impl Directory {
    /// Whether what caches hold is saved when the power fails.
    pub fn is_persistent(&self) -> bool {
        self.spec.caches_persist
    }

    /// How long it takes at least to answer a core that asks: it looks the line up.
    pub fn least_answer(&self) -> Dur {
        self.spec.latency
    }

    /// Whether any cache holds a line.
    pub fn holds(&self, line: Line) -> bool {
        self.state.find(line).is_some()
    }

    /// Whether the shared cache holds a line that memory has older bytes of.
    pub fn has_changed(&self, line: Line) -> bool {
        self.state.find(line).is_some_and(|slot| self.state.is_dirty(slot))
    }

    /// The bytes of such a line.
    pub fn changed(&self, line: Line) -> Option<Block> {
        let slot = self.state.find(line).filter(|slot| self.state.is_dirty(*slot))?;
        Some(*self.state.data(slot))
    }

    /// What it waits for, of a machine that stands still.
    pub fn awaited(&self) -> Vec<Awaited> {
        let of = |(line, phase, since)| match phase {
            Phase::Memory { controller } => Awaited::Read { line, controller: controller.into(), since },
            Phase::Snoops { left } => Awaited::Snoops { line, left },
            Phase::Waiting => Awaited::Room { line },
        };
        let write = |line| Awaited::Write { line, controller: self.map.controller(line) };
        let lines = self.state.under_way().into_iter().map(of);
        lines.chain(self.state.not_durable().into_iter().map(write)).collect()
    }
}
