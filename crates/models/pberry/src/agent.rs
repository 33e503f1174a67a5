//! The agent in simulated time: its state machine before a memory controller, and the network behind it.

use crate::command::{Command, Place, Pte};
use crate::dirty::DirtySet;
use crate::filter::Tracker;
use crate::network::Network;
use crate::packet::{Bytes, Packet, RemoteHost, WholePage, line_at};
use crate::spec::{AgentSpec, Kind, Mutant};
use crate::state::{AgentState, Effect};
use crate::stats::{AgentStats, WrittenStats};
use crate::uses::Using;
use engine::{Device, Out, PortId};
use memory::Controller;
use protocol::{
    Block, Image, Line, Mask, Msg, Node, Occupancy, PAGE_BYTES, PM_BASE, PostCrash, StatSink, View, line_of,
    messages, ports,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use units::{Dur, Time, bits};

impl Bytes for Controller {
    fn read(&self, line: Line) -> Block {
        self.present(line)
    }

    fn write(&mut self, line: Line, data: &Block) {
        self.put_near(line, data, Mask::MAX);
    }

    fn page(&self, first: Line) -> Option<WholePage> {
        self.present_page(first)
    }

    fn put_page(&mut self, first: Line, page: &WholePage) -> bool {
        self.put_page_near(first, page.clone());
        true
    }
}

impl Bytes for Image {
    fn read(&self, line: Line) -> Block {
        Image::read(self, line)
    }

    fn write(&mut self, line: Line, data: &Block) {
        Image::write(self, line, data, Mask::MAX);
    }

    fn page(&self, first: Line) -> Option<WholePage> {
        Some(Image::page(self, first.address()))
    }

    fn put_page(&mut self, first: Line, page: &WholePage) -> bool {
        Image::put_page(self, first.address(), page.clone());
        true
    }
}

#[derive(Default)]
struct Stats {
    fetches: u64,
    critical: u64,
    lines_fetched: u64,
    lines_sent: u64,
    clean_lines_sent: u64,
    retries: u64,
    failed_walks: u64,
    walks_held: u64,
    recalls: u64,
    held: Occupancy,
    written: DirtySet,
}

/// The memory agent with its memory and its network card; under page-granular paging, a controller with a network card.
pub struct Agent {
    spec: AgentSpec,
    kind: Kind,
    state: AgentState,
    memory: Controller,
    tracker: Tracker,
    network: Network,
    host: RemoteHost,
    /// The remote host's memory, by page.
    far: Image,
    effects: Vec<Effect>,
    /// When a request is late, and its number.
    late: BinaryHeap<Reverse<(Time, u64)>>,
    /// Reads that wait, with the time by which they must be answered.
    held: Vec<(Time, Line)>,
    /// Commands carried out.
    done: u64,
    /// Lines that were written back in the window that ends then, by page.
    window_ends: Time,
    window: BTreeMap<u32, u64>,
    wakes_at: Time,
    failure: Option<String>,
    uses: Option<Using>,
    /// Lines under recall because a window of the use case ends.
    snooped: BTreeSet<(u32, u32)>,
    stats: Stats,
}

impl Agent {
    /// An agent before `memory`, and a remote host whose memory is zeros.
    pub fn new(spec: AgentSpec, kind: Kind, memory: Controller) -> Agent {
        Agent {
            state: AgentState::new(spec.state),
            tracker: Tracker::new(spec.filter),
            network: Network::new(spec.network),
            host: RemoteHost::new(spec.state.mutant == Some(Mutant::OldWritesTaken)),
            far: Image::new(PM_BASE),
            effects: Vec::with_capacity(64),
            late: BinaryHeap::new(),
            held: Vec::new(),
            done: 0,
            window_ends: Time::ZERO + spec.window,
            window: BTreeMap::new(),
            wakes_at: Time::NEVER,
            failure: None,
            uses: Some(kind).filter(|k| *k == Kind::Lines).and_then(|k| Using::new(&spec.uses, k)),
            snooped: BTreeSet::new(),
            stats: Stats::default(),
            kind,
            memory,
            spec,
        }
    }

    /// Puts bytes into the remote host's memory before the machine starts.
    pub fn preload(&mut self, line: Line, block: &Block) {
        self.far.write(line, block, Mask::MAX);
    }

    /// What the coherence protocol does not forgive: a read that was not answered in time.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// What the remote host has acknowledged.
    pub fn kept(&self) -> Image {
        self.far.clone()
    }

    /// Remote memory as the program sees it: `local` holds the agent's memory and what caches have changed of it, and the
    /// remote host has the pages that are not local.
    pub fn as_addressed(&self, local: &Image) -> Image {
        let mut seen = self.far.clone();
        for page in self.state.local() {
            let first = line_at(page, 0);
            if self.state.present(page) == u64::MAX
                && let Some(whole) = local.page(first.address())
            {
                seen.put_page(first.address(), Some(whole));
                continue;
            }
            for line in bits(self.state.present(page)).map(|index| line_at(page, index)) {
                seen.write(line, &local.read(line), Mask::MAX);
            }
        }
        seen
    }

    fn read(&mut self, line: Line, out: &mut Out<'_, Msg>) {
        match self.spec.layout.place(line) {
            Place::Data { page, index } => {
                self.uses.iter_mut().for_each(|u| u.accessed(out.now(), page, index, false));
                self.state.read(page, index, &mut self.effects);
                if !self.effects.contains(&Effect::Serve { page, index }) {
                    self.stats.critical += 1;
                    self.held.push((out.now() + self.spec.deadline, line));
                }
            }
            Place::Entry { page } if self.kind == Kind::Lines => {
                self.state.walk(page, &mut self.effects);
                let answered =
                    self.effects.iter().any(|e| matches!(e, Effect::Walk { page: p, .. } if *p == page));
                self.stats.walks_held += u64::from(!answered);
            }
            Place::Status => {
                let mut block = [0; 64];
                block[..8].copy_from_slice(&self.done.to_le_bytes());
                self.memory.write(line, &block);
                self.pass(Msg::Read { line }, out);
            }
            Place::Entry { .. } | Place::Mailbox => self.pass(Msg::Read { line }, out),
        }
    }

    /// On to the controller.
    fn pass(&mut self, msg: Msg, out: &mut Out<'_, Msg>) {
        self.memory.on(out.now(), ports::DIRECTORY, &msg, out);
    }

    fn write(&mut self, now: Time, line: Line, data: &Block, mask: Mask) {
        match self.spec.layout.place(line) {
            Place::Data { page, index } if mask != 0 => {
                self.uses.iter_mut().for_each(|u| u.accessed(now, page, index, true));
                self.state.written(page, index);
                *self.window.entry(page).or_insert(0) |= 1 << index;
                if self.kind == Kind::Lines {
                    self.tracker.report(page, index);
                }
            }
            Place::Mailbox => {
                let word = u64::from_le_bytes(data[..8].try_into().expect("a line has eight words"));
                if let Some(command) = Command::from_word(word) {
                    self.state.command(command, &mut self.effects);
                }
            }
            Place::Data { .. } | Place::Entry { .. } | Place::Status => {}
        }
    }

    fn end_window(&mut self, now: Time) {
        if now < self.window_ends {
            return;
        }
        self.next_window(now);
        if self.uses.is_some() && self.snooped.is_empty() {
            self.snooped = self.state.granted().collect();
            let recall = |(page, index): &(u32, u32)| Effect::Recall { page: *page, index: *index };
            self.effects.extend(self.snooped.iter().map(recall));
        }
    }

    /// The window ends, and the next one begins.
    pub(crate) fn next_window(&mut self, now: Time) {
        self.stats.written.take(&std::mem::take(&mut self.window));
        self.tracker.clear_lines();
        self.window_ends = now + self.spec.window;
    }

    fn recalled(&mut self, page: u32, index: u32) {
        if self.snooped.remove(&(page, index)) && self.snooped.is_empty() {
            self.uses.iter_mut().for_each(Using::end_window);
        }
        self.state.recalled(page, index, &mut self.effects);
    }

    /// What a use case asks of the agent keeps its memory and its network busy.
    fn work(&mut self, now: Time) {
        let Some(work) = self.uses.as_mut().map(Using::take_work) else { return };
        if work.memory > Dur::ZERO {
            self.memory.occupy(now, work.memory);
        }
        if work.sends > 0 {
            self.network.occupy(now, work.sends);
        }
    }

    /// The region of interest begins.
    pub fn begin_uses(&mut self, now: Time) {
        self.uses.iter_mut().for_each(|u| u.begin(&self.spec.uses, now));
    }

    /// Packets that have arrived, at either end.
    fn receive(&mut self, now: Time) {
        while let Some(packet) = self.network.take(now) {
            if matches!(packet, Packet::Data { .. } | Packet::Stored { .. }) {
                if let Packet::Data { lines, .. } = packet {
                    self.stats.lines_fetched += u64::from(lines.count_ones());
                }
                self.state.answer(&packet, &mut self.memory, &mut self.effects);
            } else if self.spec.host_away.is_none_or(|(from, to)| now < from || now >= to)
                && let Some(answer) = self.host.serve(&packet, &mut self.far)
            {
                self.network.send(now, answer);
            }
        }
        while let Some(Reverse((at, number))) = self.late.peek().copied()
            && at <= now
        {
            self.late.pop();
            self.stats.retries += u64::from(self.state.is_pending(number));
            self.state.late(number, &mut self.effects);
        }
        if let Some((_, line)) = self.held.iter().find(|(by, _)| *by <= now) {
            self.failure.get_or_insert(format!(
                "machine check: the read of line {:#x} was not answered within {} ns (remote.deadline_ns); a page walk that \
                 waits for the whole page cannot come to this (remote.page_table = whole-page)",
                line.address(),
                self.spec.deadline.as_ns()
            ));
        }
    }

    /// Carries out what the state machine wants, until it wants nothing more.
    fn settle(&mut self, out: &mut Out<'_, Msg>) {
        while !self.effects.is_empty() {
            let mut effects = std::mem::take(&mut self.effects);
            effects.drain(..).for_each(|effect| self.carry_out(effect, out));
            let more = std::mem::replace(&mut self.effects, effects);
            self.effects.extend(more);
        }
        self.stats.held.set(out.now(), self.held.len());
        let deadline = self.held.iter().map(|(by, _)| *by).min().unwrap_or(Time::NEVER);
        let late = self.late.peek().map_or(Time::NEVER, |l| l.0.0);
        let next = self.network.next().min(late).min(deadline);
        if next < self.wakes_at {
            self.wakes_at = next;
            out.wake(next.max(out.now()), Msg::Wake);
        }
    }

    fn carry_out(&mut self, effect: Effect, out: &mut Out<'_, Msg>) {
        match effect {
            Effect::Send(packet) => self.send(packet, out.now()),
            Effect::Serve { page, index } => {
                let line = line_at(page, index);
                self.held.retain(|(_, l)| *l != line);
                self.pass(Msg::Read { line }, out);
            }
            Effect::Walk { page, failed } => {
                let line = line_of(self.spec.layout.entry(page));
                if failed {
                    self.stats.failed_walks += 1;
                    let mut block = [0; 64];
                    block[..8].copy_from_slice(&Pte::Absent.to_word(self.kind.initial()).to_le_bytes());
                    self.memory.write(line, &block);
                }
                self.pass(Msg::Read { line }, out);
            }
            Effect::Recall { page, index } => {
                self.stats.recalls += 1;
                out.send(ports::DIRECTORY, Dur::ZERO, Msg::Recall { line: line_at(page, index) });
            }
            Effect::Done { count } => self.done += count,
        }
    }

    fn send(&mut self, packet: Packet, now: Time) {
        let packet = self.state.packet(packet, &self.memory, |page| self.tracker.lines(page));
        match &packet {
            Packet::Fetch { .. } => self.stats.fetches += 1,
            Packet::Store { page, lines, .. } => {
                self.stats.lines_sent += u64::from(lines.count_ones());
                self.stats.clean_lines_sent += u64::from((lines & !self.state.dirty(*page)).count_ones());
                self.tracker.forget(*page);
            }
            Packet::Data { .. } | Packet::Stored { .. } => {}
        }
        // What was asked for before comes first: without that, many requests at once would all be sent again and again.
        let ahead = self.spec.network.byte * (PAGE_BYTES + 64) * self.late.len() as u64;
        self.late.push(Reverse((now + self.spec.retry + ahead, packet.number())));
        self.network.send(now, packet);
    }
}

impl DirtySet {
    /// Adds a window's lines.
    fn take(&mut self, window: &BTreeMap<u32, u64>) {
        let mut huge = None;
        for (page, lines) in window {
            let lines = u64::from(lines.count_ones());
            self.add(*page, 64 * lines, lines, &mut huge);
        }
    }
}

impl Device<Msg> for Agent {
    fn on(&mut self, now: Time, port: PortId, msg: &Msg, out: &mut Out<'_, Msg>) {
        if now >= self.wakes_at {
            self.wakes_at = Time::NEVER;
        }
        self.end_window(now);
        match *msg {
            Msg::Read { line } => self.read(line, out),
            Msg::Write { line, data, mask, .. } => {
                self.memory.on(now, port, msg, out);
                self.write(now, line, &data, mask);
            }
            Msg::Recalled { line } => {
                if let Place::Data { page, index } = self.spec.layout.place(line) {
                    self.recalled(page, index);
                }
            }
            // The controller's timers are the agent's too.
            Msg::Misread { .. } | messages!(timers | caches | answers | ordering | uncached | near) => {
                self.memory.on(now, port, msg, out);
            }
        }
        self.work(now);
        self.receive(now);
        self.settle(out);
    }
}

impl Node for Agent {
    fn post_crash(&self, view: View, post_crash: &mut PostCrash) {
        self.memory.post_crash(view, post_crash);
    }

    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        self.stats.held.pass(now);
        let mut written = self.stats.written;
        written.take(&self.window);
        WrittenStats::from(&written).hand_up(sink);
        let (sent, received, packets, lost) = self.network.counts();
        let (s, filters) = (&self.stats, self.tracker.counts());
        let by_lines = |count: u64| (self.kind == Kind::Lines).then_some(count);
        let counted = AgentStats {
            sent,
            received,
            packets,
            lost,
            fetches: s.fetches,
            critical: by_lines(s.critical),
            lines_fetched: s.lines_fetched,
            lines_sent: s.lines_sent,
            clean_lines_sent: s.clean_lines_sent,
            retries: s.retries,
            walks_held: by_lines(s.walks_held),
            walks_failed: by_lines(s.failed_walks),
            recalls: s.recalls,
            held: Some(s.held.clone()).filter(|_| self.kind == Kind::Lines),
            reported_lines: by_lines(filters.lines),
            reported_pages: by_lines(filters.pages),
            false_pages: by_lines(filters.false_pages),
            false_lines: by_lines(filters.false_lines),
            overflows: by_lines(filters.overflows),
        };
        counted.hand_up(sink);
        self.uses.iter().for_each(|u| u.stats(sink));
        self.memory.stats(now, sink);
    }
}
