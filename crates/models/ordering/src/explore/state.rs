//! Where cores, controllers, wires and memory stand.

use super::media::Media;
use super::releases::{Releases, Stores};
use super::step::Wire;
use super::{MOST_CONTROLLERS, MOST_CORES, MOST_LINES, Member, TimestampRegister, line};
use crate::spec::CrossCore;
use arrayvec::ArrayVec;
use explore::{Aside, Part, Wires};
use protocol::{
    Accepted, ControllerOrdering, CoreOrdering, EpochId, EpochTag, FenceKind, LineWrite, Mask, Msg, Outbox,
    Peer, messages,
};
use std::collections::BTreeSet;
use std::hash::Hash;
use units::Time;

/// A write as the checker knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Written {
    pub(super) core: usize,
    pub(super) epoch: EpochId,
    /// Where releases are explored: its place among its core's stores, the stores that come before it, and whether it releases.
    pub(super) place: u8,
    pub(super) after: Stores,
    pub(super) releases: bool,
}

/// An epoch of a core.
pub(super) type Epoch = (usize, EpochId);

/// Where everything stands. Cores, controllers and lines are within it, since every state is a copy.
#[derive(Clone, Hash)]
pub struct State<M: Member> {
    pub(super) cores: ArrayVec<Part<M::Core>, MOST_CORES>,
    /// Stores and fences done, per core.
    pub(super) done: ArrayVec<usize, MOST_CORES>,
    tables: ArrayVec<Part<M::Table>, MOST_CONTROLLERS>,
    register: M::TimestampRegister,
    memory: Part<Media>,
    /// A controller has something to tell others.
    pub(super) has_news: bool,
    /// Messages, each with the core that sends or gets it.
    pub(super) wires: Wires<Wire, (usize, Msg)>,
    /// For each line its writes, in the order in which they became visible; the first writes 1, the second 2.
    pub(super) log: ArrayVec<Part<Vec<Written>>, MOST_LINES>,
    /// Which epoch came after which, between cores.
    after: Part<BTreeSet<(Epoch, Epoch)>>,
    pub(super) releases: Part<Releases>,
    pub(super) clock: Aside<Clock>,
}

/// Simulated time, of which nothing that is checked depends but this: what comes later is later, and a timer that is
/// set has not ended yet.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    steps: u64,
    /// For each core how far its timers have brought it.
    reached: [Time; MOST_CORES],
}

impl Clock {
    pub(super) fn pass(&mut self) {
        self.steps += 1;
    }

    pub(super) fn now(&self, core: usize) -> Time {
        Time::from_ps(self.reached[core].ps() + self.steps)
    }

    /// A core's time comes to `at`.
    pub(super) fn reach(&mut self, core: usize, at: Time) {
        self.reached[core] = at;
    }
}

impl<M: Member> State<M> {
    pub(super) fn new(
        cores: Vec<M::Core>,
        tables: Vec<M::Table>,
        register: M::TimestampRegister,
        lines: usize,
    ) -> State<M> {
        State {
            done: std::iter::repeat_n(0, cores.len()).collect(),
            memory: Part::new(Media::new(lines)),
            tables: tables.into_iter().map(Part::new).collect(),
            register,
            has_news: false,
            wires: Wires::new(),
            log: std::iter::repeat_n(Part::new(Vec::new()), lines).collect(),
            after: Part::new(BTreeSet::new()),
            releases: Part::new(Releases::new(cores.len())),
            clock: Aside(Clock { steps: 0, reached: [Time::ZERO; MOST_CORES] }),
            cores: cores.into_iter().map(Part::new).collect(),
        }
    }

    /// A core stores to a line; none, and a state to throw away, where it has to wait.
    pub(super) fn store(&mut self, core: usize, index: usize, exchanges: bool) -> Option<()> {
        let at = line(index);
        let now = self.clock.now(core);
        let last = self.log[index].last().copied().filter(|w| w.core != core);
        if let Some(w) = last {
            let mut out = Outbox::default();
            let (now, released) = (self.clock.now(w.core), self.released(index));
            let tag = self.cores[w.core].snooped(now, at, w.epoch, released, &mut out).ok()?;
            self.route(w.core, out);
            if let Some(tag) = tag {
                let register = Msg::AddDependent { epoch: tag.epoch, dependent: core as u8 };
                self.send(Wire::AddDependent(tag.core as usize), tag.core as usize, register);
                let mut out = Outbox::default();
                self.cores[core].received(now, at, tag, true, &mut out).ok()?;
                self.route(core, out);
            }
        }
        let number = self.log[index].len() as u8 + 1;
        let write = LineWrite { line: at, mask: Mask::MAX, data: [number; 64] };
        let mut out = Outbox::default();
        let own = &mut self.cores[core];
        if exchanges {
            own.release(now, at, &mut out).ok()?;
            own.acquire(now, at, &mut out).ok()?;
        }
        let epoch = own.store(now, &write, &mut out).ok()?;
        self.route(core, out);
        if let Some(w) = last {
            self.after.insert(((core, epoch), (w.core, w.epoch)));
        }
        let (place, after) = match M::CROSS_CORE {
            CrossCore::Conflicts => (0, Stores::default()),
            CrossCore::Acquires => self.releases.store(core, self.log[index].last(), exchanges),
        };
        self.log[index].push(Written { core, epoch, place, after, releases: exchanges });
        self.done[core] += 1;
        Some(())
    }

    /// A core stores to a line and has to wait: whoever stands in its way remembers that, and nothing else happens.
    pub(super) fn wait(&mut self, core: usize, index: usize, exchanges: bool) {
        let (at, mut out) = (line(index), Outbox::default());
        if let Some(w) = self.log[index].last().copied().filter(|w| w.core != core) {
            let mut owner = self.cores[w.core].clone();
            let (now, released) = (self.clock.now(w.core), self.released(index));
            if owner.snooped(now, at, w.epoch, released, &mut out).is_err() {
                self.cores[w.core] = owner;
                return;
            }
        }
        let write = LineWrite { line: at, mask: Mask::MAX, data: [0; 64] };
        let mut own = self.cores[core].clone();
        let now = self.clock.now(core);
        let waits = exchanges && own.release(now, at, &mut out).is_err();
        if waits || own.store(now, &write, &mut out).is_err() {
            self.cores[core] = own;
        }
    }

    /// The epoch in which the core that has a line released it, since it has it; 0 for none.
    fn released(&self, index: usize) -> EpochId {
        let own = self.log[index].last().map(|w| w.core);
        let mut since = self.log[index].iter().rev().take_while(|w| Some(w.core) == own);
        since.find(|w| w.releases).map_or(0, |w| w.epoch)
    }

    /// A core reaches a fence, and passes it if it may.
    pub(super) fn fence(&mut self, core: usize, last: bool) {
        let kind = if last { FenceKind::Dfence } else { FenceKind::Ofence };
        let mut out = Outbox::default();
        let reached = self.cores[core].fence(self.clock.now(core), kind, &mut out);
        self.route(core, out);
        self.done[core] += usize::from(reached.is_ok());
        if reached.is_ok() && M::CROSS_CORE == CrossCore::Acquires {
            self.releases.fence(core);
        }
    }

    /// A core's time has come.
    pub(super) fn tick(&mut self, core: usize) {
        let mut out = Outbox::default();
        self.cores[core].tick(self.clock.now(core), &mut out);
        self.route(core, out);
    }

    /// Puts on the wires what a core sent.
    fn route(&mut self, core: usize, out: Outbox) {
        for (_, to, msg) in out.0 {
            let wire = match (to, &msg) {
                (Peer::Controller(c), Msg::Flush(_)) => Wire::Flush((!M::ONE_WIRE).then_some(core), c),
                (Peer::Controller(c), _) => Wire::Commit(core, c),
                (Peer::Core(h), _) => Wire::Resolved(core, h.into()),
                (Peer::TimestampRegister, _) => Wire::Publish(core),
                // The directory forgets tags; here it has none.
                (Peer::Directory | Peer::Commands | Peer::Caches, _) => continue,
            };
            self.send(wire, core, msg);
        }
    }

    pub(super) fn deliver(&mut self, wire: Wire) {
        let Some((core, msg)) = self.wires.take(wire) else { return };
        match wire {
            Wire::Flush(_, c) | Wire::Commit(_, c) => self.controller(core, c, &msg),
            Wire::Publish(_) => {
                if let Some(answer) = self.register.on(core as u8, &msg) {
                    self.send(Wire::Timestamp(core), core, answer);
                }
            }
            Wire::Answer(c, _) | Wire::Committed(c, _) => self.core(Peer::Controller(c), core, &msg),
            Wire::Resolved(from, to) => self.core(Peer::Core(from as u8), to, &msg),
            Wire::AddDependent(_) => self.core(Peer::Directory, core, &msg),
            Wire::Timestamp(_) => self.core(Peer::TimestampRegister, core, &msg),
        }
    }

    fn core(&mut self, from: Peer, to: usize, msg: &Msg) {
        let mut out = Outbox::default();
        self.cores[to].on(self.clock.now(to), from, msg, &mut out);
        self.route(to, out);
    }

    fn send(&mut self, wire: Wire, core: usize, msg: Msg) {
        self.wires.send(wire, (core, msg));
    }

    fn controller(&mut self, core: usize, c: usize, msg: &Msg) {
        let (table, memory) = (&mut self.tables[c], &mut self.memory);
        match msg {
            Msg::Flush(request) => {
                let slot = request.slot;
                let refused =
                    memory.with(|image| table.flush(request, image, &mut Vec::new())) == Accepted::Refused;
                let answer = if refused { Msg::Nack { slot } } else { Msg::Ack { slot } };
                self.send(Wire::Answer(c, (!M::ONE_WIRE).then_some(core)), core, answer);
            }
            Msg::Commit { epoch } => {
                memory.with(|image| table.commit(core as u8, *epoch, image, &mut Vec::new()));
                self.send(Wire::Committed(c, core), core, Msg::CommitAck { epoch: *epoch });
            }
            Msg::Complete { epoch, after } => {
                let tag = EpochTag { core: core as u8, epoch: *epoch };
                if let Some(clocks) = table.clocks() {
                    memory.with(|image| clocks.complete(tag, *after, image, &mut Vec::new()));
                }
                self.moved(c);
            }
            Msg::Clock { .. }
            | messages!(timers | caches | memory | acknowledgements | dependences | timestamps)
            | messages!(uncached | near) => protocol::unexpected("a controller", msg),
        }
    }

    /// Clocks of a controller have moved. Cores hear at once: what they hear later, they claim later.
    fn moved(&mut self, c: usize) {
        let Some(clocks) = self.tables[c].clocks() else { return };
        self.has_news |= clocks.has_news();
        let durable: Vec<EpochTag> = std::iter::from_fn(|| clocks.durable()).collect();
        for EpochTag { core, epoch } in durable {
            self.core(Peer::Controller(c), core.into(), &Msg::CommitAck { epoch });
        }
    }

    /// The time has come at which controllers tell each other their clocks: when that is, is what is explored.
    pub(super) fn tell(&mut self) {
        self.has_news = false;
        let mut told = Vec::new();
        for (c, table) in self.tables.iter_mut().enumerate() {
            let Some(clocks) = table.clocks() else { return };
            told.extend(std::iter::from_fn(|| clocks.untold()).map(|tag| (c, tag)));
        }
        for c in 0..self.tables.len() {
            for (from, tag) in told.iter().filter(|(from, _)| *from != c) {
                let Some(clocks) = self.tables[c].clocks() else { return };
                self.memory.with(|image| clocks.hears(*from, *tag, image, &mut Vec::new()));
            }
            self.moved(c);
        }
    }

    /// The number of the write that each line holds after a power failure, 0 for none.
    pub(super) fn after_power_failure(&self) -> Vec<usize> {
        let mut memory = self.memory.clone();
        memory.with(|image| self.tables.iter().for_each(|table| table.power_fail(image)));
        let mut saved = Vec::new();
        self.cores.iter().for_each(|core| core.power_fail(&mut |at, write| saved.push((at, *write))));
        saved.sort_by_key(|(at, _)| *at);
        saved.iter().for_each(|(_, write)| memory.write(write));
        memory.numbers().collect()
    }

    /// Whether `epoch` is `of`, or comes after it.
    pub(super) fn follows(&self, epoch: Epoch, of: Epoch, seen: &mut Vec<Epoch>) -> bool {
        if epoch.0 == of.0 && epoch.1 > of.1 {
            return true;
        }
        if seen.contains(&epoch) {
            return false;
        }
        seen.push(epoch);
        // A dependence of an earlier epoch of the same core counts too.
        let sources = self.after.iter().filter(|(later, _)| later.0 == epoch.0 && later.1 <= epoch.1);
        sources.map(|(_, earlier)| *earlier).any(|e| e == of || self.follows(e, of, seen))
    }
}
