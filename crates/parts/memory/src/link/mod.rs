//! A link between a host and memory that is not on its own channels: CXL, or the way to the other socket.
//!
//! ```text
//!   directory --Read, Write--> [credits] --> flits down --> ports, switches --> controllers of the device
//!   directory <--ReadReply---- ports, switches <----------- flits up <--------- (and CleanAck to cores)
//!   command port --commands--> the same flits, and answers back
//!   a write of a line that no cache has, to the other socket: claim down, word up, and then the write
//! ```
//!
//! Modelled: flits of slots ([`cxl`], [`socket`]). Both directions at the rate that lanes and transfers give, with what the encoding
//! takes; messages share flits, and wait for those before them. Reads on their way at once, by credits, which are back with the data. A
//! time for each port, and for each switch. Commands to near-data devices, which take as many slots as a line. Lines that an agent recalls
//! from the host. To the other socket: a line that is written without having been read (a non-temporal store) is claimed first, and
//! memory is written where the line's directory lies in it.
//!
//! Not modelled: retries of flits, credits of writes (what the device's controllers have no room for waits there), completions of
//! evictions and credits themselves, whose headers ride in flits that carry data; of the other socket its cores.

mod claims;
pub mod cxl;
mod directory;
mod flits;
pub mod params;
mod ports;
pub mod socket;
#[cfg(test)]
mod socket_tests;
mod spec;
mod stats;
#[cfg(test)]
mod tests;

pub use flits::Format;
pub use params::{TABLES, acts_with, is_linked, name, spec, statistics, tables};
pub use ports::LinkPorts;
pub use spec::{Home, LinkSpec};

use claims::{Claim, Claims};
use directory::Directory;
use engine::{Device, Out, PortId};
use flits::Flits;
use protocol::{Line, Msg, Node, PostCrash, StatSink, View, messages};
use stats::Counts;
use std::collections::VecDeque;
use units::{Dur, Time};

/// Slots of an answer of one word.
const WORD: u64 = 1;

/// A link with its ports: see [`LinkPorts`].
pub struct MemoryLink {
    spec: LinkSpec,
    controllers: usize,
    /// What each of these sends to: the directory, and cores.
    ups: usize,
    down: Flits,
    up: Flits,
    /// What waits for a credit, or for what is said of its line before it.
    waiting: VecDeque<(Time, u8, Msg)>,
    claims: Claims,
    directory: Option<Directory>,
    reading: Vec<Reading>,
    /// When credits of reads that the device has answered are back at the host, in this order.
    credits: VecDeque<Time>,
    /// When the first of them is waited for.
    wakes_at: Time,
    stats: Counts,
}

/// A read that the device has.
struct Reading {
    line: Line,
    port: u8,
    /// When it has reached the device.
    there: Time,
}

impl MemoryLink {
    /// An idle link to so many controllers, on a machine of `cores` cores.
    pub fn new(spec: LinkSpec, controllers: usize, cores: usize) -> MemoryLink {
        MemoryLink {
            spec,
            controllers,
            ups: 1 + cores,
            down: Flits::new(spec.flit, spec.format),
            up: Flits::new(spec.flit, spec.format),
            waiting: VecDeque::new(),
            claims: Claims::default(),
            directory: spec.home.filter(|home| home.keeps_directory).map(|_| Directory::default()),
            reading: Vec::with_capacity(spec.requests),
            credits: VecDeque::with_capacity(spec.requests),
            wakes_at: Time::NEVER,
            stats: Counts::default(),
        }
    }

    /// The least time that a message spends in it.
    pub fn least(spec: &LinkSpec) -> Dur {
        spec.flit + spec.way
    }

    /// From the host.
    fn down(&mut self, now: Time, port: u8, msg: Msg, out: &mut Out<'_, Msg>) {
        let waits = if matches!(msg, Msg::Read { .. }) {
            !self.has_credit(now) || !self.waiting.is_empty()
        } else {
            line_of(&msg).is_some_and(|line| self.waiting.iter().any(|(_, _, m)| line_of(m) == Some(line)))
        };
        if waits || self.is_claimed(&msg) {
            self.waiting.push_back((now, port, msg));
            self.wait_for_credit(out);
        } else {
            self.pass(now, port, msg, out);
        }
    }

    /// Whether another read may go: of each before it that is on its way, or whose data is, the credit is not back.
    fn has_credit(&mut self, now: Time) -> bool {
        self.take_credits(now);
        self.reading.len() + self.credits.len() < self.spec.requests
    }

    /// Credits that are back by now.
    fn take_credits(&mut self, now: Time) {
        while self.credits.front().is_some_and(|back| *back <= now) {
            self.credits.pop_front();
        }
    }

    /// Looks again when the next credit is back, where anything waits.
    fn wait_for_credit(&mut self, out: &mut Out<'_, Msg>) {
        self.take_credits(out.now());
        if let Some(back) = self.credits.front().copied()
            && !self.waiting.is_empty()
            && back < self.wakes_at
        {
            self.wakes_at = back;
            out.wake(back, Msg::Wake);
        }
    }

    /// Whether a write before it waits for its line.
    fn is_claimed(&self, msg: &Msg) -> bool {
        line_of(msg).is_some_and(|line| self.claims.has(line))
    }

    /// Sends what waits for nothing, or claims its line.
    fn pass(&mut self, now: Time, port: u8, msg: Msg, out: &mut Out<'_, Msg>) {
        if self.spec.home.is_some() && matches!(msg, Msg::Write { is_owned: false, .. }) {
            let there = self.down.send(now, 0) + self.spec.way;
            self.claims.ask(there, Claim { since: now, port, write: msg });
            out.wake(there, Msg::Wake);
        } else {
            self.send_down(now, port, msg, out);
        }
    }

    /// The other socket gives lines away, and writes go that have theirs. Nobody else has a line that is claimed: of two sockets, only
    /// the one that asks is not the line's own.
    fn go_on(&mut self, now: Time, out: &mut Out<'_, Msg>) {
        while let Some(claim) = self.claims.at_home(now) {
            let here = self.up.send(now, 0) + self.spec.way;
            self.claims.grant(here, claim);
            out.wake(here, Msg::Wake);
            if let Some(line) = line_of(&claim.write) {
                self.give(now, line, claim.port, out);
            }
        }
        while let Some(claim) = self.claims.back(now) {
            self.stats.claims += 1;
            self.stats.claim += now.since(claim.since);
            self.send_down(now, claim.port, claim.write, out);
        }
        self.pass_waiting(now, out);
    }

    /// The device gives a line away, and writes where it keeps that.
    fn give(&mut self, now: Time, line: Line, port: u8, out: &mut Out<'_, Msg>) {
        if let Some(write) = self.directory.as_mut().and_then(|directory| directory.give(line)) {
            self.stats.directory_writes += 1;
            out.send_at(now, PortId(port), write);
        }
    }

    fn send_down(&mut self, now: Time, port: u8, msg: Msg, out: &mut Out<'_, Msg>) {
        let sent = self.down.send(now, self.slots(&msg));
        let there = sent + self.spec.way;
        if let Msg::Read { line } = msg {
            self.stats.reads += 1;
            self.stats.down += sent.since(now);
            self.stats.ports += self.spec.way;
            self.reading.push(Reading { line, port, there });
        }
        if let (Msg::Write { line, mask, .. }, Some(directory)) = (msg, &mut self.directory) {
            directory.take_back(line, mask);
        }
        self.stats.writes += u64::from(matches!(msg, Msg::Write { mask: 1.., .. }));
        self.stats.commands += u64::from(matches!(msg, Msg::Near(_)));
        out.send_at(there, PortId(port), msg);
    }

    /// From the device.
    fn up(&mut self, now: Time, port: u8, msg: Msg, out: &mut Out<'_, Msg>) {
        let reply = if let Msg::ReadReply { line, .. } = msg { Some(line) } else { None };
        let sent = self.up.send(now, self.slots(&msg));
        let here = sent + self.spec.way;
        out.send_at(here, PortId(port), msg);
        let Some(line) = reply else { return };
        self.stats.up += sent.since(now);
        self.stats.ports += self.spec.way;
        if let Some(index) = self.reading.iter().position(|r| r.line == line) {
            let reading = self.reading.remove(index);
            self.stats.device += now.since(reading.there);
            self.credits.push_back(here);
            self.give(now, line, reading.port, out);
        }
        self.wait_for_credit(out);
    }

    /// A credit has come back, or a line: what waited longest goes, and with it what is behind it and no longer waits.
    fn pass_waiting(&mut self, now: Time, out: &mut Out<'_, Msg>) {
        while let Some((since, port, msg)) = self.waiting.front().copied() {
            let is_read = matches!(msg, Msg::Read { .. });
            if is_read && !self.has_credit(now) || self.is_claimed(&msg) {
                break;
            }
            self.waiting.pop_front();
            if is_read {
                self.stats.credits += now.since(since);
            }
            self.pass(now, port, msg, out);
        }
        self.wait_for_credit(out);
    }

    /// Slots that a message takes beside its header.
    fn slots(&self, msg: &Msg) -> u64 {
        match *msg {
            // Of a flush of a line that no cache has changed.
            Msg::Write { mask: 0, .. } => 0,
            Msg::Write { .. } | Msg::ReadReply { .. } | Msg::Near(_) => self.spec.format.line,
            Msg::NearStatusReply { .. } => WORD,
            Msg::Read { .. } | Msg::Written { .. } | Msg::Recall { .. } => 0,
            Msg::NearStatus { .. } | Msg::NearComplete { .. } => 0,
            Msg::NearTaken { .. } | Msg::NearRoom | Msg::NearDone { .. } => 0,
            messages!(timers | caches | recalls | ordering | uncached) => 0,
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

impl Device<Msg> for MemoryLink {
    fn on(&mut self, now: Time, port: PortId, msg: &Msg, out: &mut Out<'_, Msg>) {
        if port == PortId::TIMER {
            if now >= self.wakes_at {
                self.wakes_at = Time::NEVER;
            }
            return self.go_on(now, out);
        }
        let (own, commands) = (usize::from(port.0), self.controllers * (1 + self.ups));
        assert!(own < commands + 2 * self.controllers, "a link has no such port");
        if own < self.controllers || (commands..commands + self.controllers).contains(&own) {
            self.down(now, port.0, *msg, out);
        } else {
            self.up(now, port.0, *msg, out);
        }
    }
}

impl Node for MemoryLink {
    /// A write that waits here is no more durable than one on a wire.
    fn post_crash(&self, view: View, post_crash: &mut PostCrash) {
        if view != View::Visible && !post_crash.caches_persist {
            return;
        }
        let claimed = self.claims.all().map(|claim| (&claim.since, &claim.write));
        for (at, msg) in self.waiting.iter().map(|(at, _, msg)| (at, msg)).chain(claimed) {
            if let Some((depth, write)) = msg.leaves_a_cache() {
                post_crash.save(depth, *at, &write);
            }
        }
    }

    fn stats(&mut self, _: Time, sink: &mut dyn StatSink) {
        let of = |flits: &Flits| (flits.count(), flits.busy());
        let (down, up) = (of(&self.down), of(&self.up));
        if self.spec.home.is_some() {
            self.stats.of_socket(down, up, sink);
        } else {
            self.stats.of_cxl(down, up, sink);
        }
    }
}
