//! The event engine: who acts next, how long a wire is, and how far a core may run ahead.
//!
//! It knows nothing about memory; it is generic over one message type.
//!
//! ```text
//!   device --send(port, think, msg)--> link (latency) --> queue --(time, rank, counter)--> device
//! ```
//!
//! Three rules make one answer out of every way of running a machine (docs/adr/0001, 0002):
//!
//! 1. Events are ordered by time, then by source node, then by that source's own counter; never by insertion.
//! 2. A device's own timers come after every message of the same picosecond.
//! 3. A front (a core) acts at a time `t` only when no message on its wire arrives at or before `t`, and none
//!    still to be sent can: [`Out::safe_time`].
#![forbid(unsafe_code)]

mod fault;
mod queue;
mod timeline;

pub use fault::Fault;
pub use timeline::{Mark, Timeline, Track};

use fault::Still;
use queue::{EventQueue, Key};
use std::fmt::Debug;
use units::{Dur, Time, watch};

/// Events between two looks at whether the run is to stop: about a millisecond.
const LOOK: u64 = 1 << 12;

/// A device's place in the machine; dense, from zero, fronts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);

/// One of a node's ports: outgoing when sending, incoming when a message arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u8);

impl PortId {
    /// The port on which a device hears its own timers.
    pub const TIMER: PortId = PortId(u8::MAX);
}

/// Where an outgoing port leads and how long the wire is. Wires are the only place where distance lives.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The node at the far end.
    pub to: NodeId,
    /// The port on which the far end hears it.
    pub port: PortId,
    /// Time on the wire; never zero, or nothing could run ahead.
    pub latency: Dur,
}

/// A hardware model: a state machine with no clock, no thread, no queue and no randomness of its own.
///
/// `on` may be called at any time with any message that its peers may send; a timer that is no longer needed
/// is a no-op. Everything the device does leaves through `out`.
pub trait Device<M> {
    /// One message arrives on `port` at `now`.
    fn on(&mut self, now: Time, port: PortId, msg: &M, out: &mut Out<'_, M>);
}

/// How the engine walks through time; the answers are the same, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Fronts run ahead on private state up to the exact safe time.
    #[default]
    Fast,
    /// Fronts run ahead, but no further than the next event of anybody: for fronts that share state on the host, which
    /// then change it in order of time.
    InOrder,
    /// One event for every action of a front: slow, simple, and what the others are checked against.
    Reference,
}

/// The event queue, the wires, and what is on them.
pub struct Engine<M> {
    queue: EventQueue<M>,
    links: Vec<Vec<Link>>,
    counters: Vec<u64>,
    wires: Wires,
    lookahead: Dur,
    /// When the events come that are without lookahead.
    immediate: Arrivals,
    /// Fronts that may pass something on at once, and how many they are.
    pending_reply: Vec<bool>,
    pending_replies: usize,
    mode: Mode,
    stop: Time,
    events: u64,
    fault: Option<Box<Fault>>,
    still: Still,
    /// What happened when, where a recording was asked for.
    pub timeline: Option<Box<Timeline>>,
}

/// For every front: when the messages already sent to it arrive, and how soon any other could.
struct Wires {
    arrivals: Vec<Arrivals>,
    shortest: Vec<Dur>,
}

/// Points in time to come, in order, behind some that have passed: one stretch of memory, in which few are moved for one that comes before
/// others, and none for the first of all where one has passed, whose place it takes.
struct Arrivals {
    times: Vec<Time>,
    passed: usize,
}

impl Arrivals {
    /// Once so many have passed, they are let go of together.
    const KEPT: usize = 64;

    fn new() -> Arrivals {
        Arrivals { times: Vec::with_capacity(2 * Self::KEPT), passed: 0 }
    }

    #[inline]
    fn add(&mut self, at: Time) {
        match self.times.last() {
            Some(last) if *last > at => self.add_before_others(at),
            _ => self.times.push(at),
        }
    }

    #[inline(never)]
    fn add_before_others(&mut self, at: Time) {
        let place = self.passed + self.times[self.passed..].partition_point(|other| *other <= at);
        if place == self.passed && self.passed > 0 {
            self.passed -= 1;
            self.times[self.passed] = at;
        } else {
            self.times.insert(place, at);
        }
    }

    /// The first has come, if that is so: without a jump for what is anybody's guess, a processor's too.
    #[inline]
    fn pass_if(&mut self, has_come: bool) {
        self.passed += usize::from(has_come);
        if self.passed >= Self::KEPT {
            self.times.drain(..self.passed);
            self.passed = 0;
        }
    }

    /// The first, [`Time::NEVER`] when there is none.
    #[inline]
    fn first(&self) -> Time {
        self.times.get(self.passed).copied().unwrap_or(Time::NEVER)
    }
}

/// What travels in a machine.
pub trait Message: Copy + Debug {
    /// Whether it has lookahead: as long as no front has a pending reply ([`Out::pending_reply`]), what comes of it reaches a front no sooner
    /// than the machine's lookahead after its arrival ([`Engine::new`]). Where it arrives at a front itself, what
    /// that one sends then is meant. A message that is not said to be with lookahead only makes fronts stop more often.
    fn has_lookahead(&self) -> bool {
        false
    }
}

impl<M: Message> Engine<M> {
    /// An engine for the wiring `links` (outgoing, by node and port). Nodes `0..fronts` may run ahead. `lookahead` is the
    /// least time from the arrival of a message with lookahead to the first arrival at a front that can come of it; zero where
    /// the shortest wire is all that is known.
    ///
    /// # Panics
    /// When a wire to a front has no length: nothing could ever run ahead of it.
    pub fn new(links: Vec<Vec<Link>>, fronts: usize, mode: Mode, lookahead: Dur) -> Engine<M> {
        let mut shortest = vec![Dur::ps(u64::MAX); fronts];
        for link in links.iter().flatten().filter(|l| (l.to.0 as usize) < fronts) {
            assert!(link.latency > Dur::ZERO, "a wire to a front has a length");
            let s = &mut shortest[link.to.0 as usize];
            *s = (*s).min(link.latency);
        }
        Engine {
            queue: EventQueue::new(),
            counters: vec![0; links.len()],
            fault: None,
            still: Still::default(),
            wires: Wires { arrivals: (0..fronts).map(|_| Arrivals::new()).collect(), shortest },
            lookahead,
            immediate: Arrivals::new(),
            pending_reply: vec![false; fronts],
            pending_replies: 0,
            links,
            mode,
            stop: Time::NEVER,
            events: 0,
            timeline: None,
        }
    }

    /// Nothing happens after `at`: [`Engine::next`] returns none, and no front runs past it.
    pub fn stop_after(&mut self, at: Time) {
        self.stop = at;
    }

    /// Events handed out so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The messages that have been sent and not handed out, with the time of their arrival, in no order. Costs the most that were ever
    /// on their way at once.
    pub fn on_their_way(&self) -> impl Iterator<Item = (Time, &M)> {
        self.queue.events()
    }

    /// The way out for node `me` at `now`; also used to start a machine.
    pub fn out(&mut self, me: NodeId, now: Time) -> Out<'_, M> {
        Out { engine: self, me, now }
    }

    /// The next event in order, none when nothing is left or the stop is reached. Its message is written to
    /// `msg`: the one copy between the queue and the device, which would otherwise be four.
    pub fn next(&mut self, msg: &mut M) -> Option<(Time, NodeId, PortId)> {
        let (at, to, port, immediate) = self.queue.pop(self.stop, msg)?;
        self.events += 1;
        if self.events.is_multiple_of(LOOK) && self.ends_at(at) {
            return None;
        }
        let fronts = self.wires.arrivals.len();
        let is_heard_by_front = port != PortId::TIMER && (to.0 as usize) < fronts;
        // Where no front hears a message, the list that is looked at stays as it is.
        if let Some(arrivals) = self.wires.arrivals.get_mut((to.0 as usize).min(fronts.saturating_sub(1))) {
            arrivals.pass_if(is_heard_by_front);
        }
        self.immediate.pass_if(immediate);
        Some((at, to, port))
    }

    /// Looks at the run now and then, and says whether it ends: time does not pass, or a device did at its beginning what none may.
    #[inline(never)]
    fn ends_at(&mut self, at: Time) -> bool {
        watch::at(at.ps());
        if let Some(fault) = self.still.look(at, &self.counters) {
            self.fail(fault);
        }
        self.fault.is_some()
    }

    /// Whether a message has to be kept in mind as one that is without lookahead: never where no lookahead is known.
    #[inline]
    fn is_immediate(&self, msg: &M) -> bool {
        self.lookahead > Dur::ZERO && !msg.has_lookahead()
    }
}

/// The only way out of a device. One call of `on` is one atomic step: the unit of crash points and of traces.
pub struct Out<'a, M> {
    engine: &'a mut Engine<M>,
    me: NodeId,
    now: Time,
}

impl<M: Message> Out<'_, M> {
    /// Sends on an outgoing port after `think` of the device's own time; the wire adds its latency.
    #[inline]
    pub fn send(&mut self, port: PortId, think: Dur, msg: M) {
        self.send_at(self.now + think, port, msg);
    }

    /// Sends at a point in time that is not in the past: for devices that keep a local clock.
    /// Returns when the message arrives.
    #[inline]
    pub fn send_at(&mut self, at: Time, port: PortId, msg: M) -> Time {
        self.send_copy_at(at, port, &msg)
    }

    /// The same of a message that is kept somewhere: it is copied once.
    #[inline]
    pub fn send_copy_at(&mut self, at: Time, port: PortId, msg: &M) -> Time {
        let link = match self.engine.links[self.me.0 as usize].get(port.0 as usize) {
            Some(link) if at >= self.now => *link,
            Some(_) | None => return self.cannot_send(at, port, msg),
        };
        let arrives = at + link.latency;
        if let Some(arrivals) = self.engine.wires.arrivals.get_mut(link.to.0 as usize) {
            arrivals.add(arrives);
        }
        let key = self.key(arrives, self.me.0);
        self.push(key, arrives, link.to, link.port, msg);
        arrives
    }

    /// The time of the event being handled.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Wakes this device at `at`, after every message of that picosecond.
    #[inline]
    pub fn wake(&mut self, at: Time, msg: M) {
        if at < self.now {
            return self.cannot_wake(at, &msg);
        }
        let key = self.key(at, self.me.0 | 0x8000);
        self.push(key, at, self.me, PortId::TIMER, &msg);
    }

    fn push(&mut self, key: Key, at: Time, to: NodeId, port: PortId, msg: &M) {
        let immediate = self.engine.is_immediate(msg);
        if immediate {
            self.engine.immediate.add(at);
        }
        self.engine.queue.push(key, to, port, immediate, msg);
    }

    /// This front may pass something on at once from now on, or no longer: while one may, wires alone bound how far
    /// the others run ahead.
    #[inline]
    pub fn pending_reply(&mut self, has_pending_replies: bool) {
        let was = std::mem::replace(&mut self.engine.pending_reply[self.me.0 as usize], has_pending_replies);
        self.engine.pending_replies =
            self.engine.pending_replies + usize::from(has_pending_replies) - usize::from(was);
    }

    /// The last point in time at which this front may act on its own state without being contradicted later.
    ///
    /// Exact, not an approximation: nothing already on its wire arrives by then, and no event still to come
    /// can reach it sooner than the shortest wire, or than the lookahead where that holds. Cost: a look at the head
    /// of three queues.
    pub fn safe_time(&mut self) -> Time {
        let me = self.me.0 as usize;
        let engine = &mut *self.engine;
        let shortest = engine.wires.shortest[me];
        let lookahead = if engine.pending_replies == 0 { engine.lookahead.max(shortest) } else { shortest };
        let of_any = engine.queue.next_at().unwrap_or(Time::NEVER) + lookahead;
        let of_immediate = engine.immediate.first() + shortest;
        let first = engine.wires.arrivals[me].first().min(of_immediate).min(of_any);
        let fast = if first == Time::NEVER { first } else { first.just_before() }.min(engine.stop);
        match engine.mode {
            Mode::Fast => fast,
            Mode::InOrder => {
                let next = engine.queue.next_at().map_or(Time::NEVER, |at| at.just_before().max(self.now));
                fast.min(next)
            }
            Mode::Reference => fast.min(self.now),
        }
    }

    /// How soon a message sent now could be answered, from its arrival on: a safe time shrinks by what it sends. Nothing
    /// may happen past the sending itself where order counts: whoever hears it may act before an answer comes.
    #[inline]
    pub fn shortest_wire(&self) -> Dur {
        match self.engine.mode {
            Mode::Fast | Mode::Reference => self.engine.wires.shortest[self.me.0 as usize],
            Mode::InOrder => Dur::ZERO,
        }
    }

    /// Notes something on the timeline, where one is recorded. Costs one predictable branch otherwise.
    #[inline]
    pub fn mark(&mut self, mark: impl FnOnce() -> Mark) {
        if let Some(timeline) = &mut self.engine.timeline {
            timeline.add(self.me, mark());
        }
    }

    #[inline]
    fn key(&mut self, at: Time, rank: u16) -> Key {
        let counter = &mut self.engine.counters[self.me.0 as usize];
        *counter += 1;
        Key::new(at, rank, *counter)
    }
}

#[cfg(test)]
mod tests;
