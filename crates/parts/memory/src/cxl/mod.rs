//! A CXL link between a host and memory that is not on its own channels.
//!
//! ```text
//!   directory --Read, Write--> [credits] --> flits down --> port, switches, port --> controllers of the device
//!   directory <--ReadReply---- port, switches, port <------ flits up <-------------- (and CleanAck to cores)
//!   command port --commands--> the same flits, and answers back
//! ```
//!
//! Modelled: flits of 68 bytes, of which 64 are four slots: one for a header, three for data or for further headers; a line is four
//! slots of data. Both directions at the rate that lanes and transfers give, with what the encoding takes; messages share flits, and
//! wait for those before them. Reads that the device has on their way at once, by credits. A time for each port, and for each switch.
//! Commands to near-data devices, which take as many slots as a line. Lines that an agent recalls from the host.
//!
//! Not modelled: retries of flits, credits of writes (what the device's controllers have no room for waits there), completions of
//! evictions and credits themselves, whose headers ride in flits that carry data.
//!
//! Sources: the Compute Express Link specification 2.0, chapters 3 and 4 (68-byte flits, slots); PCI Express 5.0 (lanes, 128b/130b).

mod flits;
pub mod params;
mod stats;
#[cfg(test)]
mod tests;

pub use params::{LinkSpec, TABLES, is_linked, spec, tables};
pub(crate) use stats::LinkStats;

use engine::{Device, Out, PortId};
use flits::Flits;
use protocol::{Line, Msg, Node, PostCrash, StatSink, View, messages};
use std::collections::VecDeque;
use units::{Dur, Time};

/// Slots of a line's data, and of a command with its words.
const DATA: u64 = 4;
/// Slots of an answer of one word.
const WORD: u64 = 1;

/// A link with its ports. Its own ports: `controllers` of the device; then for each of these what it sends up, the
/// directory first and then the cores; then what the command port sends to each, and what each sends there.
pub struct CxlLink {
    spec: LinkSpec,
    controllers: usize,
    /// What each of these sends to: the directory, and cores.
    ups: usize,
    down: Flits,
    up: Flits,
    /// What waits for a credit: reads, and writes of their lines.
    waiting: VecDeque<(Time, u8, Msg)>,
    reading: Vec<Reading>,
    stats: LinkStats,
}

/// A read that the device has.
struct Reading {
    line: Line,
    /// When it has reached the device.
    there: Time,
}

impl CxlLink {
    /// An idle link to so many controllers, on a machine of `cores` cores.
    pub fn new(spec: LinkSpec, controllers: usize, cores: usize) -> CxlLink {
        CxlLink {
            spec,
            controllers,
            ups: 1 + cores,
            down: Flits::new(spec.flit),
            up: Flits::new(spec.flit),
            waiting: VecDeque::new(),
            reading: Vec::with_capacity(spec.requests),
            stats: LinkStats::default(),
        }
    }

    /// The ports on which it hears its controllers' messages, and passes them on: of controller `index`, to the `to`th of those
    /// that it sends to.
    pub fn port_up(index: usize, to: usize, controllers: usize, cores: usize) -> PortId {
        PortId((controllers + index * (1 + cores) + to) as u8)
    }

    /// The port on which it hears the command port's messages to controller `index`.
    pub fn command_down(index: usize, controllers: usize, cores: usize) -> PortId {
        PortId((controllers * (2 + cores) + index) as u8)
    }

    /// The port on which it hears controller `index`'s messages to the command port.
    pub fn command_up(index: usize, controllers: usize, cores: usize) -> PortId {
        PortId((controllers * (3 + cores) + index) as u8)
    }

    /// Ports that a link has.
    pub fn ports(controllers: usize, cores: usize) -> usize {
        controllers * (4 + cores)
    }

    /// The least time that a message spends in it.
    pub fn least(spec: &LinkSpec) -> Dur {
        spec.flit + spec.way
    }

    /// From the host.
    fn down(&mut self, now: Time, port: u8, msg: Msg, out: &mut Out<'_, Msg>) {
        let waits = if matches!(msg, Msg::Read { .. }) {
            self.reading.len() >= self.spec.requests || !self.waiting.is_empty()
        } else {
            line_of(&msg).is_some_and(|line| self.waiting.iter().any(|(_, _, m)| line_of(m) == Some(line)))
        };
        if waits {
            self.waiting.push_back((now, port, msg));
        } else {
            self.send_down(now, port, msg, out);
        }
    }

    fn send_down(&mut self, now: Time, port: u8, msg: Msg, out: &mut Out<'_, Msg>) {
        let sent = self.down.send(now, slots(&msg));
        let there = sent + self.spec.way;
        if let Msg::Read { line } = msg {
            self.stats.reads += 1;
            self.stats.down += sent.since(now);
            self.stats.ports += self.spec.way;
            self.reading.push(Reading { line, there });
        }
        self.stats.writes += u64::from(matches!(msg, Msg::Write { .. }));
        self.stats.commands += u64::from(matches!(msg, Msg::Near(_)));
        out.send_at(there, PortId(port), msg);
    }

    /// From the device.
    fn up(&mut self, now: Time, port: u8, msg: Msg, out: &mut Out<'_, Msg>) {
        let reply = if let Msg::ReadReply { line, .. } = msg { Some(line) } else { None };
        let sent = self.up.send(now, slots(&msg));
        out.send_at(sent + self.spec.way, PortId(port), msg);
        let Some(line) = reply else { return };
        self.stats.up += sent.since(now);
        self.stats.ports += self.spec.way;
        if let Some(index) = self.reading.iter().position(|r| r.line == line) {
            let reading = self.reading.remove(index);
            self.stats.device += now.since(reading.there);
        }
        self.pass_waiting(now, out);
    }

    /// A credit has come back: what waited longest goes, and with it the writes behind it that no longer wait for a read.
    fn pass_waiting(&mut self, now: Time, out: &mut Out<'_, Msg>) {
        while let Some((since, port, msg)) = self.waiting.front().copied() {
            let is_read = matches!(msg, Msg::Read { .. });
            if is_read && self.reading.len() >= self.spec.requests {
                return;
            }
            self.waiting.pop_front();
            if is_read {
                self.stats.credits += now.since(since);
            }
            self.send_down(now, port, msg, out);
        }
    }
}

/// The line of a message that goes to memory: what is said of a line stays in its order.
fn line_of(msg: &Msg) -> Option<Line> {
    match *msg {
        Msg::Read { line } | Msg::Write { line, .. } | Msg::Recalled { line } => Some(line),
        Msg::Misread { .. } | messages!(timers | caches | answers | ordering | uncached | near) => None,
    }
}

/// Slots that a message takes beside its header.
fn slots(msg: &Msg) -> u64 {
    match *msg {
        Msg::Write { .. } | Msg::ReadReply { .. } | Msg::Near(_) => DATA,
        Msg::NearStatusReply { .. } => WORD,
        Msg::Read { .. } | Msg::Written { .. } | Msg::Recall { .. } => 0,
        Msg::NearStatus { .. } | Msg::NearComplete { .. } => 0,
        Msg::NearTaken { .. } | Msg::NearRoom | Msg::NearDone { .. } => 0,
        messages!(timers | caches | recalls | ordering | uncached) => 0,
    }
}

impl Device<Msg> for CxlLink {
    fn on(&mut self, now: Time, port: PortId, msg: &Msg, out: &mut Out<'_, Msg>) {
        let (own, commands) = (usize::from(port.0), self.controllers * (1 + self.ups));
        assert!(own < commands + 2 * self.controllers, "a link has no such port");
        if own < self.controllers || (commands..commands + self.controllers).contains(&own) {
            self.down(now, port.0, *msg, out);
        } else {
            self.up(now, port.0, *msg, out);
        }
    }
}

impl Node for CxlLink {
    /// A write that waits here is no more durable than one on a wire.
    fn post_crash(&self, view: View, post_crash: &mut PostCrash) {
        if view != View::Visible && !post_crash.caches_persist {
            return;
        }
        for (at, _, msg) in &self.waiting {
            if let Some((depth, write)) = msg.leaves_a_cache() {
                post_crash.save(depth, *at, &write);
            }
        }
    }

    fn stats(&mut self, _: Time, sink: &mut dyn StatSink) {
        LinkStats { flits_down: self.down.count(), flits_up: self.up.count(), ..self.stats.clone() }
            .hand_up(sink);
    }
}
