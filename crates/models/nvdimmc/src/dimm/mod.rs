//! The DIMM and the host's controller for it, as a device of a machine: a DDR4 channel, the bytes behind it, and the
//! device side that works in the windows.
//!
//! ```text
//!   directory --Read, Write--> [controller: read queue, write pending queue] --commands--> DRAM <-- firmware --> NAND
//!                                                                   refresh detector --window--^
//! ```
//!
//! A write is acknowledged when the write pending queue takes it; the DRAM has it when its WRITE command is issued, and
//! no earlier can the device see it. Every command of both masters goes through the checker ([`Bus`]).
//!
//! Cost: one event for each command of the channel; nothing happens while no request waits and the device is idle:
//! refreshes that passed are made up for at the next message.

mod power;
#[cfg(test)]
mod tests;

pub use power::PowerSpec;

use crate::bus::{Bus, BusSpec, Collision, Master, Move, Window, Work};
use crate::firmware::{Dram, Firmware, PAGE_LINES};
use crate::pins::{Pins, RefreshDetector};
use crate::stats::{ChannelStats, DeviceStats};
use engine::{Device, Out, PortId};
use memory::ddr4::{Channel, Command, Issued, Kind, Request};
use protocol::{
    Block, Image, Line, LineWrite, Mask, Msg, Node, PAGE_BYTES, PM_BASE, PostCrash, StatSink, View, messages,
    ports, tell_durable,
};
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Dur, Time};

/// Mistakes of the device that the checker has to find.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceFaults {
    /// It does not wait for a window.
    pub ignore_window: bool,
    /// Of so many refreshes the detector misses one; 0 for none.
    pub misses_one_in: u64,
    /// In each window it reads so many lines more than it planned for, and does not look when its window ends.
    pub overrun_lines: u64,
}

/// A DIMM's parameters.
#[derive(Clone, Copy, Debug)]
pub struct DimmSpec {
    /// The bus, and with it the DRAM.
    pub bus: BusSpec,
    /// From a write's acceptance to its acknowledgement.
    pub acknowledge: Dur,
    /// What happens when the power fails.
    pub power: PowerSpec,
    /// Mistakes of the device.
    pub faults: DeviceFaults,
    /// The first address of its DRAM.
    pub base: u64,
}

/// A DIMM with its channel.
pub struct Dimm {
    spec: DimmSpec,
    channel: Channel,
    /// None where there is one master alone.
    bus: Option<Bus>,
    detector: RefreshDetector,
    /// None for a DIMM that is DRAM and nothing else.
    firmware: Option<Firmware>,
    dram: Image,
    /// Requests that found no room in the channel, in the order in which they came.
    reads_waiting: VecDeque<Line>,
    writes_waiting: VecDeque<Accepting>,
    /// Requests in the channel, by tag.
    reading: Vec<(u32, Line)>,
    write_queue: Vec<(u32, LineWrite)>,
    next_tag: u32,
    /// The host has written into the CP area since the device looked.
    news: bool,
    refreshes: u64,
    windows_used: u64,
    persists: u64,
    waits: u64,
    collision: Option<Collision>,
    wakes_at: Time,
}

/// A write that waits in the controller's ingress queue, and whom to tell.
#[derive(Clone, Copy)]
struct Accepting {
    write: LineWrite,
    acknowledge: Option<u8>,
}

impl Dimm {
    /// A DIMM with `firmware` on it, or of DRAM alone.
    ///
    /// # Errors
    /// See [`BusSpec::check`].
    pub fn new(spec: DimmSpec, firmware: Option<Firmware>) -> Result<Dimm, String> {
        Ok(Dimm {
            channel: Channel::new(spec.bus.host)?,
            bus: firmware.is_some().then(|| Bus::new(spec.bus)).transpose()?,
            detector: RefreshDetector::new(),
            firmware,
            dram: Image::new(spec.base),
            reads_waiting: VecDeque::with_capacity(64),
            writes_waiting: VecDeque::with_capacity(64),
            reading: Vec::with_capacity(spec.bus.host.queue),
            write_queue: Vec::with_capacity(spec.bus.host.queue),
            next_tag: 0,
            news: false,
            refreshes: 0,
            windows_used: 0,
            persists: 0,
            waits: 0,
            collision: None,
            wakes_at: Time::NEVER,
            spec,
        })
    }

    /// Puts a page into the device before the machine starts: on the NAND, where there is one.
    ///
    /// # Errors
    /// When the device is too small.
    pub fn preload(&mut self, address: u64, page: &[u8; PAGE_BYTES as usize]) -> Result<(), String> {
        let number = (address - PM_BASE) / PAGE_BYTES;
        let Some(firmware) = &mut self.firmware else {
            self.dram.put_page(address, Some(Arc::new(*page)));
            return Ok(());
        };
        let kept = u32::try_from(number).is_ok_and(|n| firmware.ftl_mut().preload(n, page).is_ok());
        if kept {
            Ok(())
        } else {
            Err(format!("the NVDIMM has no room for page {number} (nvdimm.capacity_mib)"))
        }
    }

    /// The number of a line of the DRAM, from 0 on.
    fn number(&self, line: Line) -> u64 {
        line.0 - self.spec.base / 64
    }

    /// The first address of a page of the DRAM.
    fn slot_address(&self, slot: u32) -> u64 {
        self.spec.base + u64::from(slot) * PAGE_BYTES
    }

    /// Writes that the write pending queue has taken so far.
    pub fn persists(&self) -> u64 {
        self.persists
    }

    /// The two commands that met, if any have: the run is worthless from there on.
    pub fn collision(&self) -> Option<Collision> {
        self.collision
    }

    fn arrive(&mut self, msg: &Msg, out: &mut Out<'_, Msg>) {
        match *msg {
            Msg::Read { line } => self.reads_waiting.push_back(line),
            Msg::Write { line, data, mask, ack, .. } => {
                let write = LineWrite { line, mask, data };
                self.writes_waiting.push_back(Accepting { write, acknowledge: ack });
                self.waits += u64::from(!self.channel.has_room(true));
            }
            Msg::Wake => {}
            Msg::Alarm | messages!(caches | answers | recalls | ordering | uncached | near) => {
                protocol::unexpected("a DIMM", msg)
            }
        }
        self.admit(out);
    }

    /// Takes in what there is room for.
    fn admit(&mut self, out: &mut Out<'_, Msg>) {
        while let Some(waiting) = self.writes_waiting.front().copied() {
            if !self.take_write(out.now(), &waiting.write) {
                break;
            }
            self.writes_waiting.pop_front();
            if let Some(core) = waiting.acknowledge {
                tell_durable(waiting.write.line, core, self.spec.acknowledge, out);
            }
        }
        while let Some(line) = self.reads_waiting.front().copied() {
            let request = Request { line: self.number(line), write: false, tag: self.next_tag };
            let Ok(forwarded) = self.channel.push(out.now(), request) else { break };
            self.reads_waiting.pop_front();
            self.next_tag += 1;
            match forwarded {
                Some(done) => self.reply(line, done.at, out),
                None => self.reading.push((request.tag, line)),
            }
        }
    }

    /// A write enters the write pending queue, or joins the one of its line; false when there is no room.
    fn take_write(&mut self, now: Time, write: &LineWrite) -> bool {
        if write.mask == 0 {
            return true;
        }
        if let Some((_, queued)) = self.write_queue.iter_mut().find(|(_, w)| w.line == write.line) {
            queued.merge(write);
            self.persists += 1;
            return true;
        }
        let request = Request { line: self.number(write.line), write: true, tag: self.next_tag };
        if self.channel.push(now, request).is_err() {
            return false;
        }
        self.next_tag += 1;
        self.persists += 1;
        self.write_queue.push((request.tag, *write));
        // The CP area is the first page.
        self.news |= request.line < PAGE_LINES;
        true
    }

    fn reply(&mut self, line: Line, at: Time, out: &mut Out<'_, Msg>) {
        let data = self.latest(line);
        let waits = self.writes_waiting.iter().any(|w| w.write.line == line);
        out.send_at(at, ports::DIRECTORY, Msg::ReadReply { line, data, waits });
    }

    /// What a load has to see: what sits in the ingress queue or in the queue, or the DRAM.
    fn latest(&self, line: Line) -> Block {
        let mut whole = LineWrite { line, mask: Mask::MAX, data: self.dram.read(line) };
        let queued = self.write_queue.iter().map(|(_, w)| w);
        let waiting = self.writes_waiting.iter().map(|w| &w.write);
        queued.chain(waiting).filter(|w| w.line == line).for_each(|w| whole.merge(w));
        whole.data
    }

    /// Issues commands: those before `to`, or those at it too.
    fn advance(&mut self, to: Time, and_at: bool, out: &mut Out<'_, Msg>) {
        while self.collision.is_none() {
            let next = self.channel.next_at();
            if next > to || (next == to && !and_at) {
                break;
            }
            let Some(issued) = self.channel.issue() else { break };
            self.issued(&issued, out);
        }
    }

    fn issued(&mut self, issued: &Issued, out: &mut Out<'_, Msg>) {
        let command = &issued.command;
        let met = self.bus.as_mut().and_then(|bus| bus.take(Master::Host, command).err());
        self.collision = self.collision.or(met);
        if let (Some(tag), Kind::Write) = (issued.tag, command.kind)
            && let Some(at) = self.write_queue.iter().position(|(t, _)| *t == tag)
        {
            let (_, write) = self.write_queue.swap_remove(at);
            self.dram.write(write.line, &write.data, write.mask);
        }
        if let Some(done) = issued.done
            && let Some(at) = self.reading.iter().position(|(t, _)| *t == done.tag)
        {
            let (_, line) = self.reading.swap_remove(at);
            self.reply(line, done.at, out);
        }
        if self.sees_refresh(command) {
            self.window(Window::after(command.clock, command.rank, &self.spec.bus));
        } else if self.spec.faults.ignore_window && matches!(command.kind, Kind::Read | Kind::Write) {
            let opens = command.clock + 1;
            self.window(Window { opens, closes: opens + self.spec.bus.host.refi, rank: command.rank });
        }
        self.admit(out);
    }

    /// Whether the detector sees a refresh. The device looks at the CP area in every window, so that the checker knows of
    /// one that it misses.
    fn sees_refresh(&mut self, command: &Command) -> bool {
        let refresh = command.kind == Kind::Refresh;
        self.refreshes += u64::from(refresh);
        let every = self.spec.faults.misses_one_in;
        self.detector.blind = refresh && every > 0 && self.refreshes.is_multiple_of(every);
        let sees = self.detector.look(Pins::of(command.kind, command.row));
        if refresh && !sees && self.bus.is_some() {
            let rule = "the device did nothing in its window: its detector missed a refresh";
            let missed = Collision { rule, earlier: None, later: (Master::Host, *command) };
            self.collision = self.collision.or(Some(missed));
        }
        sees
    }

    /// The device uses its window.
    fn window(&mut self, window: Window) {
        let (Some(firmware), Some(bus)) = (&mut self.firmware, &mut self.bus) else { return };
        let host = self.spec.bus.host;
        let mut work = Work::new(window, &host);
        firmware.window(Time::from_ps(window.opens * host.clock_ps), &mut Bytes(&mut self.dram), &mut work);
        self.news = self.write_queue.iter().any(|(_, w)| w.line.0 - self.spec.base / 64 < PAGE_LINES);
        self.windows_used += u64::from(work.moves().iter().any(|(_, lines, _)| *lines == PAGE_LINES));
        if self.spec.faults.overrun_lines > 0 {
            work.overruns(self.spec.faults.overrun_lines);
        }
        let met = work.commands().iter().find_map(|c| bus.take(Master::Device, c).err());
        let late = || self.still_waits(work.moves()).map(|_| stale(work.commands()));
        self.collision = self.collision.or(met).or_else(late);
    }

    /// A line of a page that the device moved while the host's newer bytes waited in the write pending queue.
    fn still_waits(&self, moves: &[Move]) -> Option<Line> {
        let pages = || moves.iter().filter(|(_, lines, _)| *lines == PAGE_LINES);
        let moved =
            |line: Line| pages().any(|(first, n, _)| (*first..first + n).contains(&self.number(line)));
        let queued = self.write_queue.iter().map(|(_, w)| w.line);
        queued.chain(self.writes_waiting.iter().map(|w| w.write.line)).find(|line| moved(*line))
    }

    /// Wakes at the next command, if anybody waits for it.
    fn sleep(&mut self, out: &mut Out<'_, Msg>) {
        let works = self.firmware.as_ref().is_some_and(|f| self.news || f.is_busy());
        if (self.channel.is_idle() && !works) || self.collision.is_some() {
            return;
        }
        let next = self.channel.next_at().max(out.now());
        if next < self.wakes_at {
            self.wakes_at = next;
            out.wake(next, Msg::Wake);
        }
    }
}

fn stale(commands: &[Command]) -> Collision {
    let later = commands.first().copied();
    let later = later.unwrap_or(Command { clock: 0, kind: Kind::Refresh, rank: 0, bank: 0, row: 0 });
    let rule = "the device moves a page while a line of it waits in the host's write pending queue";
    Collision { rule, earlier: None, later: (Master::Device, later) }
}

impl Device<Msg> for Dimm {
    fn on(&mut self, now: Time, _: PortId, msg: &Msg, out: &mut Out<'_, Msg>) {
        if now >= self.wakes_at {
            self.wakes_at = Time::NEVER;
        }
        self.advance(now, false, out);
        self.arrive(msg, out);
        self.advance(now, true, out);
        self.sleep(out);
    }
}

impl Node for Dimm {
    fn post_crash(&self, view: View, post_crash: &mut PostCrash) {
        match view {
            View::Durable => self.power_fails(post_crash),
            View::Visible => {
                let mut image = self.dram.clone();
                let queued = self.write_queue.iter().map(|(_, w)| w);
                let waiting = self.writes_waiting.iter().map(|w| &w.write);
                queued.chain(waiting).for_each(|w| image.write(w.line, &w.data, w.mask));
                post_crash.parts.push(image);
            }
        }
    }

    fn stats(&mut self, _: Time, sink: &mut dyn StatSink) {
        let c = self.channel.counts();
        let channel = ChannelStats {
            reads: c.reads + c.forwarded,
            writes: c.writes,
            bytes_read: 64 * c.reads,
            bytes_written: 64 * c.writes,
            waits: self.waits,
            activates: c.activates,
            refreshes: c.refreshes,
            read_time: Dur::ps(c.read_clocks * self.spec.bus.host.clock_ps),
        };
        channel.hand_up(sink);
        let Some(firmware) = &self.firmware else { return };
        let device = DeviceStats {
            windows: self.refreshes,
            windows_used: self.windows_used,
            cachefills: firmware.cachefills,
            writebacks: firmware.writebacks,
        };
        device.hand_up(sink);
        memory::nand::hand_up(firmware.ftl(), sink);
    }
}

/// The DRAM as the device addresses it: its first line is number 0.
struct Bytes<'a>(&'a mut Image);

impl Dram for Bytes<'_> {
    fn read(&mut self, line: u64, bytes: &mut [u8]) {
        for (at, block) in (self.0.base() / 64 + line..).zip(bytes.as_chunks_mut::<64>().0) {
            *block = self.0.read(Line(at));
        }
    }

    fn write(&mut self, line: u64, bytes: &[u8]) {
        for (at, block) in (self.0.base() / 64 + line..).zip(bytes.as_chunks::<64>().0) {
            self.0.write(Line(at), block, Mask::MAX);
        }
    }
}
