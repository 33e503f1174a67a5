//! A device in simulated time: the state machine before a memory controller, and its units' steps.
//!
//! ```text
//!   command port --Near--> request FIFO -> dispatcher -> units --lines--+
//!                              |  ^ conflicts                           v
//!   directory, cores --------> host queue -----------------> controller (queue, media, image)
//! ```

use crate::dispatcher::{Bytes, Dispatcher, Effect, Event};
use crate::spec::DeviceSpec;
use crate::stats::DeviceStats;
use engine::{Device, Out, PortId};
use memory::Controller;
use protocol::{Block, Line, Mask, Msg, Node, PostCrash, StatSink, View, messages, ports, tell_durable};
use units::{Dur, Time};

/// The controller at an instant, as a unit uses it: its media are busy for what a unit reads and writes.
struct Beside<'a> {
    memory: &'a mut Controller,
    now: Time,
}

impl Bytes for Beside<'_> {
    fn read(&mut self, line: Line) -> Block {
        self.memory.read_near(self.now, line)
    }

    fn write(&mut self, line: Line, data: &Block, mask: Mask) {
        self.memory.write_near(self.now, line, data, mask);
    }
}

/// A persistent-memory device with units of its own.
pub struct NearDevice {
    spec: DeviceSpec,
    dispatcher: Dispatcher,
    memory: Controller,
    /// When each unit's next line is due.
    next: Vec<Time>,
    bus_free: Time,
    effects: Vec<Effect>,
    events: Vec<Event>,
    wakes_at: Time,
    /// When an access that found no power has waited long enough.
    gives_up_at: Time,
    has_kept_waiting: bool,
    stats: DeviceStats,
}

impl NearDevice {
    /// A device before `memory`.
    pub fn new(spec: DeviceSpec, memory: Controller) -> NearDevice {
        NearDevice {
            dispatcher: Dispatcher::new(spec.dispatcher),
            memory,
            next: vec![Time::NEVER; spec.dispatcher.units],
            bus_free: Time::ZERO,
            effects: Vec::with_capacity(16),
            events: Vec::with_capacity(16),
            wakes_at: Time::NEVER,
            gives_up_at: Time::NEVER,
            has_kept_waiting: false,
            stats: DeviceStats::default(),
            spec,
        }
    }

    /// Puts bytes into memory before the machine starts.
    pub fn preload(&mut self, line: Line, block: &Block) {
        self.memory.preload(line, block);
    }

    /// Writes that have changed persistent memory so far.
    pub fn persists(&self) -> u64 {
        self.memory.persists()
    }

    /// Since when the device has had no power, or will have none, where that was asked for.
    pub fn power_off_from(&self) -> Option<Time> {
        (self.spec.power_off_from != Time::NEVER).then_some(self.spec.power_off_from)
    }

    /// Whether an access has waited for a device without power for as long as it may.
    pub fn has_kept_waiting(&self) -> bool {
        self.has_kept_waiting
    }

    /// Without power nothing is answered; a host's access that meets that is waited for so long and no longer.
    fn stay_silent(&mut self, now: Time, msg: &Msg, out: &mut Out<'_, Msg>) {
        self.has_kept_waiting |= now >= self.gives_up_at;
        if self.gives_up_at == Time::NEVER && Self::host_line(msg).is_some() {
            self.gives_up_at = now + self.spec.timeout;
            out.wake(self.gives_up_at, Msg::Wake);
        }
    }

    /// The controller behind the dispatcher.
    pub fn memory(&self) -> &Controller {
        &self.memory
    }

    /// The state machine.
    pub fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    /// What an observer of persist ordering has not fetched yet; mostly there is none.
    #[inline]
    pub fn take_events(&mut self) -> Option<std::vec::Drain<'_, Event>> {
        (!self.events.is_empty()).then(|| self.events.drain(..))
    }

    /// The line that a message of the host concerns, and whether it writes.
    fn host_line(msg: &Msg) -> Option<(Line, bool)> {
        match *msg {
            Msg::Read { line } => Some((line, false)),
            Msg::Write { line, mask, .. } => Some((line, mask != 0)),
            Msg::Flush(request) => Some((request.write.line, true)),
            Msg::Commit { .. }
            | Msg::Complete { .. }
            | Msg::Clock { .. }
            | messages!(timers | caches | answers | recalls | acknowledgements | dependences)
            | messages!(timestamps | uncached | near) => None,
        }
    }

    fn has_stopped(&self) -> bool {
        self.spec.stops_after.is_some_and(|n| self.stats.requests > n)
    }

    /// Units whose next line is due take it while the media are free, whoever has waited longest first; whatever the host
    /// waits for has gone there before.
    fn work(&mut self, out: &mut Out<'_, Msg>) {
        let now = out.now();
        while let Some(unit) = self.longest_due(now).filter(|_| self.memory.media_free() <= now) {
            self.next[unit] = Time::NEVER;
            if !self.has_stopped() {
                let mut beside = Beside { memory: &mut self.memory, now };
                self.dispatcher.step(unit, &mut beside, &mut self.effects);
                self.plan(unit, self.spec.line, now);
            }
        }
    }

    fn longest_due(&self, now: Time) -> Option<usize> {
        (0..self.next.len()).filter(|unit| self.next[*unit] <= now).min_by_key(|unit| self.next[*unit])
    }

    /// A unit's next line comes after `wait`, and when the bus is free.
    fn plan(&mut self, unit: usize, wait: Dur, now: Time) {
        if self.dispatcher.is_busy(unit) {
            let at = (now + wait).max(self.bus_free);
            self.bus_free = at + self.spec.bus;
            self.next[unit] = at;
        }
    }

    /// Carries out what the state machine wants and tells it what memory has taken, until it wants nothing more.
    fn settle(&mut self, out: &mut Out<'_, Msg>) {
        loop {
            let mut effects = std::mem::take(&mut self.effects);
            effects.drain(..).for_each(|effect| self.carry_out(effect, out));
            // The list keeps its room.
            let more = std::mem::replace(&mut self.effects, effects);
            self.effects.extend(more);
            self.dispatcher.took(self.memory.waiting_outside(), &mut self.effects);
            self.dispatcher.advance(&mut self.effects);
            if self.effects.is_empty() {
                break;
            }
        }
        self.note(out);
    }

    fn carry_out(&mut self, effect: Effect, out: &mut Out<'_, Msg>) {
        let commands = ports::commands(self.spec.cores);
        match effect {
            Effect::Perform { port, msg } => self.memory.on(out.now(), port, &msg, out),
            Effect::Durable { core, line } => {
                tell_durable(line, core, self.memory.acknowledge(), out);
            }
            Effect::Started { unit } => {
                self.stats.requests += 1;
                let start =
                    if self.dispatcher.is_fine(unit) { self.spec.fine_start } else { self.spec.start };
                self.plan(unit, start, out.now());
            }
            Effect::Copied => self.stats.lines += 1,
            Effect::Taken { number, refused } => {
                out.send(commands, Dur::ZERO, Msg::NearTaken { number, refused });
            }
            Effect::Room => out.send(commands, Dur::ZERO, Msg::NearRoom),
            Effect::Done { number } => out.send(commands, Dur::ZERO, Msg::NearDone { number }),
            Effect::Tell { device, number } => {
                self.stats.completions += 1;
                let to = ports::device(device.into(), self.spec.cores);
                out.send(to, Dur::ZERO, Msg::NearComplete { number, device: self.spec.dispatcher.index });
            }
            Effect::Observed(event) => self.events.push(event),
        }
    }

    fn note(&mut self, out: &mut Out<'_, Msg>) {
        let now = out.now();
        self.stats.fifo.set(now, self.dispatcher.waiting());
        self.stats.host_queue.set(now, self.dispatcher.in_host_queue());
        self.stats.units.set(now, self.dispatcher.busy());
        let next = self.next.iter().copied().min().unwrap_or(Time::NEVER);
        let at = next.max(self.memory.media_free());
        if next != Time::NEVER && at < self.wakes_at {
            self.wakes_at = at;
            out.wake(at, Msg::Wake);
        }
    }
}

impl Device<Msg> for NearDevice {
    fn on(&mut self, now: Time, port: PortId, msg: &Msg, out: &mut Out<'_, Msg>) {
        if now >= self.spec.power_off_from {
            return self.stay_silent(now, msg, out);
        }
        if now >= self.wakes_at {
            self.wakes_at = Time::NEVER;
        }
        if let Some((line, write)) = Self::host_line(msg) {
            let before = self.dispatcher.held();
            self.dispatcher.host(port, *msg, line, write, &mut self.effects);
            self.stats.held += (self.dispatcher.held() - before) as u64;
            self.stats.host_reads_held += u64::from(!write && self.dispatcher.held() > before);
        } else {
            match *msg {
                Msg::Near(request) => self.dispatcher.request(request, &mut self.effects),
                Msg::NearComplete { number, device } => self.dispatcher.acknowledge(number, device),
                Msg::NearStatus { core } => {
                    let value = self.dispatcher.pending_of(core);
                    let back = ports::commands(self.spec.cores);
                    out.send(back, Dur::ZERO, Msg::NearStatusReply { core, value });
                }
                // The controller's timers are the device's too.
                messages!(timers | caches | memory | ordering | uncached | near_answers) => {
                    self.memory.on(now, port, msg, out);
                }
            }
        }
        self.work(out);
        self.settle(out);
    }
}

impl Node for NearDevice {
    fn post_crash(&self, view: View, post_crash: &mut PostCrash) {
        self.memory.post_crash(view, post_crash);
        match view {
            View::Visible => self
                .dispatcher
                .each_held_write(&mut |at, write| post_crash.save(protocol::Depth::Buffer, at, write)),
            View::Durable => post_crash.keep(self.dispatcher.power_fail().lines()),
        }
    }

    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        let s = &mut self.stats;
        [&mut s.fifo, &mut s.host_queue, &mut s.units].into_iter().for_each(|o| o.pass(now));
        if self.spec.offloads {
            s.hand_up(sink);
        }
        self.memory.stats(now, sink);
    }
}
