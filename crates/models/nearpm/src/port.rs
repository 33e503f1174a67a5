//! The command port: stores to registers become commands, commands become requests for devices (paper §5.3.2, §6.1).
//!
//! A command is a few uncached stores; the last of them rings the doorbell. The port looks at the range of the operand
//! and sends each device its part. It sends only what a device's FIFO has room for, and lets the program's next store
//! pass only then: what leaves the core later arrives later.

use crate::spec::PortSpec;
use crate::stats::{PortStats, Ports};
use engine::{Device, Out, PortId};
use protocol::{
    Msg, NearCommand, NearKind, NearRefusal, NearRequest, Node, PostCrash, StatSink, View, messages, ports,
};
use std::collections::VecDeque;
use units::{Dur, Time};

/// What waits at the port, in order.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    /// A part of a command, and whether it is the last.
    Part(NearRequest, bool),
    Status {
        core: u8,
        device: usize,
    },
}

/// A request that is on its way or being worked on.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u64,
    core: u8,
    /// Devices that have not taken it, and devices that are not done with it.
    untaken: u16,
    undone: u16,
    at: Time,
    /// The command that it is a part of.
    command: u64,
}

/// The port.
pub struct CommandPort {
    spec: PortSpec,
    words: Vec<Vec<u64>>,
    waiting: VecDeque<Waiting>,
    room: Vec<usize>,
    sent: Vec<Sent>,
    /// Devices that hold logs of a thread's transaction: pool, thread, devices.
    touched: Vec<(u8, u8, u16)>,
    asked: Vec<(u8, usize, Time)>,
    /// Pools that passed: pool, thread, virtual and physical address.
    maps: Vec<(u8, u8, u64, u64)>,
    next: u64,
    failure: Option<String>,
    /// Requests since they were last fetched, for observers.
    events: Vec<NearRequest>,
    refused: Vec<(u64, usize)>,
    wakes_at: Time,
    counts: PortStats,
}

/// Requests that left the port.
type Left<'a> = std::vec::Drain<'a, NearRequest>;
/// Numbers of requests, and the devices that refused them.
type Refused<'a> = std::vec::Drain<'a, (u64, usize)>;

impl CommandPort {
    /// A port to devices whose FIFOs are empty.
    pub fn new(spec: PortSpec) -> CommandPort {
        let devices = spec.map.pm_controllers;
        CommandPort {
            words: vec![Vec::with_capacity(spec.words); spec.cores],
            waiting: VecDeque::new(),
            room: vec![spec.fifo; devices],
            sent: Vec::new(),
            touched: Vec::new(),
            asked: Vec::new(),
            maps: Vec::new(),
            next: 1,
            failure: None,
            events: Vec::new(),
            refused: Vec::new(),
            wakes_at: Time::NEVER,
            counts: PortStats::default(),
            spec,
        }
    }

    /// A device that stopped, or a request that was refused.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Requests that left since the last call, and refusals; mostly there are none.
    #[inline]
    pub fn take_events(&mut self) -> Option<(Left<'_>, Refused<'_>)> {
        let is_any = !(self.events.is_empty() && self.refused.is_empty());
        is_any.then(|| (self.events.drain(..), self.refused.drain(..)))
    }

    fn write(&mut self, core: usize, address: u64, value: u64, out: &mut Out<'_, Msg>) {
        let back = PortId(core as u8);
        let place = NearCommand::word(address);
        let words = &mut self.words[core];
        if place + 1 < self.spec.words {
            words.resize(place, 0);
            words.push(value);
            out.send(back, Dur::ZERO, Msg::UncachedPassed);
            out.send(back, Dur::ZERO, Msg::UncachedAck);
            return;
        }
        words.resize(self.spec.words - 1, 0);
        let command = NearCommand::decode(words, core as u8);
        words.clear();
        match command {
            Some(command) => {
                let parts = self.parts(&command);
                let last = parts.len() - 1;
                self.waiting.extend(parts.into_iter().enumerate().map(|(i, p)| Waiting::Part(p, i == last)));
            }
            None => {
                let why = NearRefusal::NoCommand;
                self.failure.get_or_insert(format!("a command of core {core} was refused: {why}"));
                out.send(back, Dur::ZERO, Msg::UncachedPassed);
                out.send(back, Dur::ZERO, Msg::UncachedAck);
            }
        }
    }

    /// Sends what there is room for, in order.
    fn forward(&mut self, out: &mut Out<'_, Msg>) {
        while let Some(first) = self.waiting.front().copied() {
            match first {
                Waiting::Status { core, device } => {
                    let port = ports::command_to_device(device, self.spec.cores);
                    out.send(port, Dur::ZERO, Msg::NearStatus { core });
                    self.asked.push((core, device, out.now()));
                }
                Waiting::Part(part, last) => {
                    let part = NearRequest { devices: self.devices_of(&part), ..part };
                    if (0..self.room.len()).any(|d| part.devices >> d & 1 == 1 && self.room[d] == 0) {
                        return;
                    }
                    self.send(part, last, out);
                }
            }
            self.waiting.pop_front();
        }
    }

    /// A command in parts, of which each device has at most one contiguous piece. A page comes in parts that several units
    /// can work on (paper §8.3.2). Virtual and physical addresses agree in the bits that choose a device.
    fn parts(&self, command: &NearRequest) -> Vec<NearRequest> {
        if command.size == 0 || !(command.kind.logs() || command.kind.copies()) {
            return vec![*command];
        }
        let devices = self.spec.map.pm_controllers as u64;
        let stripe = if devices == 1 { u64::MAX } else { self.spec.map.interleave_bytes * devices };
        let of_a_page = matches!(command.kind, NearKind::CheckpointCreate | NearKind::ShadowCopy);
        let piece = if of_a_page { self.spec.piece } else { u64::MAX };
        let end = command.source + u64::from(command.size);
        let (mut at, mut parts) = (command.source, Vec::new());
        while at < end {
            let next = after(at, stripe).min(after(at, piece)).min(end);
            let moved = if command.kind.copies() { at - command.source } else { 0 };
            let (size, destination) = ((next - at) as u32, command.destination + moved);
            parts.push(NearRequest { source: at, size, destination, ..*command });
            at = next;
        }
        parts
    }

    /// The devices that a part concerns: its range says which, or the logs that a transaction has left.
    fn devices_of(&self, part: &NearRequest) -> u16 {
        let devices = self.spec.map.pm_controllers;
        match part.kind {
            NearKind::MapPool => ((1_u32 << devices) - 1) as u16,
            NearKind::CommitLog => {
                let known = self.touched.iter().find(|t| (t.0, t.1) == (part.pool, part.thread));
                known.map_or(1, |t| t.2)
            }
            NearKind::UndoLogCreate
            | NearKind::ApplyLog
            | NearKind::CheckpointCreate
            | NearKind::ShadowCopy
            | NearKind::Copy => {
                let owners =
                    (0..devices).filter(|d| self.share(part, *d).is_some()).fold(0, |m, d| m | 1 << d);
                if owners == 0 { 1 } else { owners }
            }
        }
    }

    /// A device's share of a part: first byte and size.
    fn share(&self, part: &NearRequest, device: usize) -> Option<(u64, u32)> {
        let devices = self.spec.map.pm_controllers as u64;
        if devices == 1 {
            return Some((part.source, part.size));
        }
        let interleave = self.spec.map.interleave_bytes;
        let stripe = part.source / (interleave * devices) * (interleave * devices);
        let first = stripe + device as u64 * interleave;
        let from = part.source.max(first);
        let to = (part.source + u64::from(part.size)).min(first + interleave);
        (from < to).then(|| (from, (to - from) as u32))
    }

    fn send(&mut self, part: NearRequest, last: bool, out: &mut Out<'_, Msg>) {
        let part = NearRequest { number: self.next, ..part };
        self.next += 1;
        self.counts.duplicated += u64::from(part.devices.count_ones() > 1);
        let (untaken, undone, command) = (part.devices, part.devices, self.counts.commands);
        let (number, core, at) = (part.number, part.core, out.now());
        self.sent.push(Sent { number, core, untaken, undone, at, command });
        self.events.push(self.physical(&part));
        self.touch(&part);
        for device in (0..self.room.len()).filter(|d| part.devices >> d & 1 == 1) {
            self.room[device] -= 1;
            let near = if part.size == 0 || part.kind == NearKind::MapPool {
                part
            } else {
                self.trimmed(&part, device)
            };
            let port = ports::command_to_device(device, self.spec.cores);
            out.send(port, Dur::ZERO, Msg::Near(near));
        }
        if last {
            self.counts.commands += 1;
            out.send(PortId(core), Dur::ZERO, Msg::UncachedPassed);
        }
    }

    /// A request as devices will see it, for observers.
    fn physical(&self, part: &NearRequest) -> NearRequest {
        let map = self.maps.iter().find(|m| (m.0, m.1) == (part.pool, part.thread));
        let Some((.., from, to)) = map else { return *part };
        let real = |a: u64| a.wrapping_sub(*from).wrapping_add(*to);
        let destination = if part.kind.copies() { real(part.destination) } else { part.destination };
        NearRequest { source: real(part.source), destination, ..*part }
    }

    fn trimmed(&self, part: &NearRequest, device: usize) -> NearRequest {
        let Some((source, size)) = self.share(part, device) else { return *part };
        let moved = if part.kind.copies() { source - part.source } else { 0 };
        NearRequest { source, size, destination: part.destination + moved, ..*part }
    }

    /// Devices with logs of a transaction take part in its end.
    fn touch(&mut self, part: &NearRequest) {
        let (pool, thread) = (part.pool, part.thread);
        if part.kind == NearKind::CommitLog {
            self.touched.retain(|t| (t.0, t.1) != (pool, thread));
            return;
        }
        if part.kind == NearKind::MapPool {
            self.maps.retain(|m| (m.0, m.1) != (pool, thread));
            self.maps.push((pool, thread, part.source, part.destination));
            return;
        }
        match self.touched.iter_mut().find(|t| (t.0, t.1) == (pool, thread)) {
            Some(known) => known.2 |= part.devices,
            None => self.touched.push((pool, thread, part.devices)),
        }
    }

    fn taken(&mut self, number: u64, device: usize, refused: Option<NearRefusal>, out: &mut Out<'_, Msg>) {
        let Some(sent) = self.sent.iter_mut().find(|s| s.number == number) else { return };
        sent.untaken &= !(1 << device);
        let core = sent.core;
        if let Some(why) = refused {
            sent.undone &= !(1 << device);
            self.refused.push((number, device));
            self.failure
                .get_or_insert(format!("device {device} refused request {number} of core {core}: {why}"));
        }
        let command = sent.command;
        // Earlier parts of the command under way are in `sent`, later ones still wait.
        let whole = command < self.counts.commands;
        if whole && !self.sent.iter().any(|s| s.command == command && s.untaken != 0) {
            out.send(PortId(core), Dur::ZERO, Msg::UncachedAck);
        }
        self.forget_done();
    }

    fn done(&mut self, number: u64, device: usize) {
        if let Some(sent) = self.sent.iter_mut().find(|s| s.number == number) {
            sent.undone &= !(1 << device);
        }
        self.forget_done();
    }

    fn forget_done(&mut self) {
        self.sent.retain(|s| s.untaken != 0 || s.undone != 0);
    }

    fn answered(&mut self, device: usize, core: u8, value: u64, out: &mut Out<'_, Msg>) {
        if let Some(index) = self.asked.iter().position(|a| (a.0, a.1) == (core, device)) {
            self.asked.remove(index);
            out.send(PortId(core), Dur::ZERO, Msg::UncachedReply { value });
        }
    }

    /// Nobody waits for ever: a load gets ones, and a request that takes too long ends the run.
    fn look_at_the_clock(&mut self, out: &mut Out<'_, Msg>) {
        let (now, timeout) = (out.now(), self.spec.timeout);
        let late = |at: Time| at + timeout <= now;
        // Both are in order of time: who comes first is late first.
        if let Some(sent) = self.sent.first().filter(|s| late(s.at)) {
            let device = (sent.untaken | sent.undone).trailing_zeros();
            let text = format!(
                "device {device} does not answer: request {} of core {} is not done after {} (neardata.timeout_ns)",
                sent.number, sent.core, self.spec.timeout
            );
            self.failure.get_or_insert(text);
        }
        while let Some((core, ..)) = self.asked.first().copied().filter(|a| late(a.2)) {
            self.asked.remove(0);
            out.send(PortId(core), Dur::ZERO, Msg::UncachedReply { value: NearCommand::NO_ANSWER });
        }
        let sent = self.sent.first().map_or(Time::NEVER, |s| s.at + self.spec.timeout);
        let next = self.asked.first().map_or(sent, |a| sent.min(a.2 + self.spec.timeout));
        if self.failure.is_none() && next > out.now() && next < self.wakes_at {
            self.wakes_at = next;
            out.wake(next, Msg::Alarm);
        }
    }
}

/// The first multiple of `size` after `at`.
fn after(at: u64, size: u64) -> u64 {
    (at / size + 1).saturating_mul(size)
}

impl Device<Msg> for CommandPort {
    fn on(&mut self, now: Time, port: PortId, msg: &Msg, out: &mut Out<'_, Msg>) {
        if now >= self.wakes_at {
            self.wakes_at = Time::NEVER;
        }
        let device = usize::from(port.0).wrapping_sub(self.spec.cores);
        match *msg {
            Msg::UncachedWrite { address, value } => self.write(port.0.into(), address, value, out),
            Msg::UncachedRead { address } => {
                self.counts.polls += 1;
                let device = NearCommand::device_of_status(address);
                if device < self.room.len() {
                    self.waiting.push_back(Waiting::Status { core: port.0, device });
                } else {
                    out.send(port, Dur::ZERO, Msg::UncachedReply { value: NearCommand::NO_ANSWER });
                }
            }
            Msg::NearTaken { number, refused } => self.taken(number, device, refused, out),
            Msg::NearRoom => self.room[device] += 1,
            Msg::NearDone { number } => self.done(number, device),
            Msg::NearStatusReply { core, value } => self.answered(device, core, value, out),
            Msg::Alarm => {}
            Msg::Wake | messages!(caches | memory | ordering | register_answers | near_requests) => {
                protocol::unexpected("the command port", msg)
            }
        }
        self.forward(out);
        self.look_at_the_clock(out);
    }
}

impl Node for CommandPort {
    fn post_crash(&self, _: View, _: &mut PostCrash) {}

    fn stats(&mut self, _: Time, sink: &mut dyn StatSink) {
        Ports { ports: 1 }.hand_up(sink);
        if self.next > 1 {
            self.counts.hand_up(sink);
        }
    }
}
