//! A memory controller with its write pending queue, and the memory behind it.
//!
//! ```text
//!   directory --Read-----------------------------> reads --+
//!   directory --Write--> +                                 +--> media (one server) --> ReadReply
//!   cores     --Flush--> + input queue -> ordering -> WPQ -+
//!   cores     --Commit, Complete------> ordering -> retired lines
//!   controllers <--Clock--> controllers
//! ```
//!
//! Modelled: the write pending queue (WPQ) with coalescing; arrivals wait in the order in which they came while
//! it is full; reads go before writes until the queue fills to its threshold; reads and writes keep the media
//! busy for their own time; a read's data comes a latency later; optionally the module's internal buffer of
//! 256-byte blocks. The media are a seam ([`Media`]; [`QueuedMedia`] where they hold requests themselves, as a DDR4 channel does): other
//! models put their own behind these queues. A write that the WPQ has accepted is durable (ADR): the functional image changes at
//! acceptance, and a power failure leaves that image, corrected by the controller side of the ordering model.
//! An early flush whose undo record has to be read first keeps its entry until the old value is there.
//!
//! Not modelled here: banks and rows (media time is a constant), wear, and refresh.
//!
//! Sources: ASAP (HPCA 2022) Table II and §V; its public artifact for the queue's policy and the bandwidth,
//! which the paper leaves out; Yang et al. (FAST 2020) for the internal buffer.

mod beside;
pub mod blocks;
mod clocks;
mod media;
mod pass_through;
mod queued;
#[cfg(test)]
mod queued_tests;
mod spec;
mod stats;
#[cfg(test)]
mod tests;

pub use stats::{OF_BUFFER, statistics};
pub(crate) use stats::{OF_DRAM, STATISTICS};

pub use media::{Cost, FixedMedia, Media};
pub use pass_through::PassThrough;
pub use queued::QueuedMedia;
pub use spec::{Admission, BufferSpec, ControllerSpec, Drain, FixedSpec};

use ::plug::LeastAnswer;
use blocks::BLOCK_LINES;
use engine::{Device, Mark, Out, PortId, Track};
use protocol::{
    Accepted, Block, ControllerOrdering, Depth, EpochTag, Evicted, FlushRequest, Image, Line, LineWrite,
    Mask, Msg, Node, PAGE_BYTES, PM_BASE, PostCrash, Records, Retired, StatSink, View, messages, ports,
    tell_durable,
};
use queued::Taken;
use std::collections::VecDeque;
use units::{Dur, Random, Time};

/// A memory controller.
pub struct Controller {
    spec: ControllerSpec,
    /// The records that it keeps, known from the start.
    records: Option<Records>,
    ordering: Box<dyn ControllerOrdering>,
    /// Whether that side is told of time, reads and arrivals.
    watches: bool,
    /// When other controllers are told of its clocks: [`Time::NEVER`] while there is nothing to tell.
    tells_at: Time,
    /// Lines that are taken out of caches, and the core that is told.
    recalled: Vec<(Line, u8)>,
    image: Image,
    input: VecDeque<Input>,
    reads: VecDeque<Read>,
    queue: Vec<Pending>,
    retired: Retired,
    media: Behind,
    /// Reads that they hold, where they hold any.
    taken: Taken,
    /// Chance, where it decides who comes in next.
    chance: Random,
    busy_until: Time,
    /// Writes accepted.
    persists: u64,
    /// Whether the last access of the media was a write.
    wrote_last: bool,
    /// Reads at the head of theirs that the block which was read last answers.
    answered: usize,
    wakes_at: Time,
    stats: stats::Stats,
}

/// What is behind the queues.
enum Behind {
    /// One access after the other.
    Server(Box<dyn Media>),
    /// Many at once.
    Queue(Box<dyn QueuedMedia>),
}

/// Something that wants a place in the write pending queue.
#[derive(Clone, Copy)]
enum Input {
    Flush(FlushRequest),
    Write { write: LineWrite, ack: Option<u8> },
}

impl Input {
    fn line(&self) -> Line {
        match self {
            Input::Flush(f) => f.write.line,
            Input::Write { write, .. } => write.line,
        }
    }
}

#[derive(Clone, Copy)]
struct Read {
    line: Line,
    /// For the directory; otherwise for an undo record.
    answer: bool,
}

/// An entry of the write pending queue.
#[derive(Clone, Copy)]
struct Pending {
    line: Line,
    /// Waits for its undo record.
    held: bool,
    /// When the undo record's value is there.
    ready: Time,
    /// Changes none of the line's own bytes: [`Media::note`].
    is_note: bool,
}

/// What is asked of a media write.
#[derive(Clone, Copy, Default)]
struct Wanted {
    /// That the line is read for an undo record before.
    undo_read: bool,
    is_note: bool,
}

impl Controller {
    /// A controller of `media` with `ordering` on its side of the persist path.
    pub fn new(
        spec: ControllerSpec,
        media: Box<dyn Media>,
        ordering: Box<dyn ControllerOrdering>,
    ) -> Controller {
        Controller::before(spec, Behind::Server(media), ordering)
    }

    /// The same of media that hold requests.
    pub fn of_queued(
        spec: ControllerSpec,
        media: Box<dyn QueuedMedia>,
        ordering: Box<dyn ControllerOrdering>,
    ) -> Controller {
        Controller::before(spec, Behind::Queue(media), ordering)
    }

    fn before(spec: ControllerSpec, media: Behind, ordering: Box<dyn ControllerOrdering>) -> Controller {
        let base = spec.base / PAGE_BYTES * PAGE_BYTES;
        Controller {
            image: spec.turns.map_or_else(|| Image::new(base), |turns| Image::in_turns(base, turns)),
            input: VecDeque::with_capacity(64),
            reads: VecDeque::with_capacity(64),
            queue: Vec::with_capacity(spec.write_pending_queue),
            retired: Vec::new(),
            media,
            taken: Taken::default(),
            chance: Random::new(spec.base, spec.admission.stream()),
            busy_until: Time::ZERO,
            wakes_at: Time::NEVER,
            tells_at: Time::NEVER,
            wrote_last: false,
            answered: 0,
            persists: 0,
            stats: stats::Stats::default(),
            watches: ordering.watches_reads(),
            records: ordering.records(),
            recalled: Vec::new(),
            ordering,
            spec,
        }
    }

    /// Puts bytes into memory before the machine starts.
    pub fn preload(&mut self, line: Line, block: &Block) {
        self.image.write(line, block, Mask::MAX);
    }

    /// Writes that have changed persistent memory so far.
    pub fn persists(&self) -> u64 {
        self.persists
    }

    /// Time from a write's acceptance to its acknowledgement.
    pub fn acknowledge(&self) -> Dur {
        self.spec.acknowledge
    }

    /// How long it takes at least to answer: a read takes the media's time, a write or a commit its acknowledgement.
    pub fn least_answer(&self) -> LeastAnswer {
        let spec = &self.spec;
        let read = match &self.media {
            Behind::Server(media) => media.least_read(),
            Behind::Queue(media) => media.least_read(),
        };
        // A flush may have a line taken out of caches.
        let to_directory = if self.watches { read.min(spec.acknowledge) } else { read };
        LeastAnswer { to_directory, to_core: spec.acknowledge.min(spec.commit) }
    }

    fn is_pm(&self) -> bool {
        self.spec.base >= PM_BASE
    }

    fn arrive(&mut self, input: Input, out: &mut Out<'_, Msg>) {
        if self.input.is_empty() && self.has_room(input.line()) {
            self.accept(input, out);
            return;
        }
        self.stats.waits += 1;
        self.input.push_back(input);
        self.stats.input.set(out.now(), self.input.len());
    }

    fn has_room(&self, line: Line) -> bool {
        self.queue.len() + self.retired.len() < self.spec.write_pending_queue || self.coalesces(line)
    }

    fn coalesces(&self, line: Line) -> bool {
        // Writes of a line come one after the other, mostly: the youngest first.
        self.spec.coalesces && self.queue.iter().rev().any(|p| p.line == line)
    }

    fn admit_waiting(&mut self, out: &mut Out<'_, Msg>) {
        while let Some(line) = self.retired.last().copied() {
            if self.queue.len() >= self.spec.write_pending_queue && !self.coalesces(line) {
                break;
            }
            self.retired.pop();
            self.enqueue(line, Wanted::default(), out);
        }
        while let Some(input) = self.next_input() {
            self.stats.input.set(out.now(), self.input.len());
            self.accept(input, out);
        }
    }

    /// Whoever waits in the ingress queue and comes in now.
    fn next_input(&mut self) -> Option<Input> {
        let chosen = self.choose(self.input.len())?;
        let line = self.input[chosen].line();
        if !self.has_room(line) {
            return None;
        }
        if chosen == 0 {
            return self.input.pop_front();
        }
        // Two writes of a line stay in order.
        let first = self.input.iter().position(|i| i.line() == line)?;
        self.input.remove(first)
    }

    /// One of `waiting` requests; none where there is none.
    fn choose(&mut self, waiting: usize) -> Option<usize> {
        match self.spec.admission {
            _ if waiting == 0 => None,
            Admission::InTurn => Some(0),
            Admission::ByChance { .. } => Some(self.chance.below(waiting as u64) as usize),
        }
    }

    fn accept(&mut self, input: Input, out: &mut Out<'_, Msg>) {
        self.persists += u64::from(self.is_pm());
        match input {
            Input::Flush(request) => self.accept_flush(&request, out),
            Input::Write { write, ack } => self.accept_write(&write, ack, out),
        }
    }

    fn accept_flush(&mut self, request: &FlushRequest, out: &mut Out<'_, Msg>) {
        let line = request.write.line;
        let port = ports::from_core(request.core);
        let accepted = self.ordering.flush(request, &mut self.image, &mut self.retired);
        self.note_table(out);
        match accepted {
            Accepted::Refused => {
                out.send(port, self.spec.acknowledge, Msg::Nack { slot: request.slot });
                return;
            }
            Accepted::Write => self.enqueue(line, Wanted::default(), out),
            Accepted::ReadThenWrite => {
                self.enqueue(line, Wanted { undo_read: true, ..Wanted::default() }, out)
            }
            Accepted::Absorbed => {}
        }
        out.send(port, self.spec.acknowledge, Msg::Ack { slot: request.slot });
    }

    fn accept_write(&mut self, write: &LineWrite, ack: Option<u8>, out: &mut Out<'_, Msg>) {
        if let Some(core) = ack {
            if write.mask != 0 {
                self.image.write(write.line, &write.data, write.mask);
                self.enqueue(write.line, Wanted::default(), out);
            }
            tell_durable(write.line, core, self.spec.acknowledge, out);
        } else if self.ordering.evict(write, &mut self.image) == Evicted::Written {
            self.enqueue(write.line, Wanted { is_note: write.mask == 0, ..Wanted::default() }, out);
        }
    }

    /// A media write enters the queue, or joins the one of the same line.
    fn enqueue(&mut self, line: Line, Wanted { undo_read, is_note }: Wanted, out: &mut Out<'_, Msg>) {
        if undo_read {
            self.reads.push_back(Read { line, answer: false });
        }
        if self.spec.coalesces
            && let Some(pending) = self.queue.iter_mut().rev().find(|p| p.line == line)
        {
            self.stats.coalesced += 1;
            pending.held |= undo_read;
            pending.is_note &= is_note;
            return;
        }
        self.queue.push(Pending { line, held: undo_read, ready: Time::ZERO, is_note });
        self.note_queue(out);
    }

    fn note_queue(&mut self, out: &mut Out<'_, Msg>) {
        let (at, value) = (out.now(), self.queue.len());
        self.stats.queue.set(at, value);
        out.mark(|| Mark::Level { track: Track("write pending queue"), at, value: value as u64 });
    }

    fn note_table(&mut self, out: &mut Out<'_, Msg>) {
        let Some(records) = self.records else { return };
        let (at, value) = (out.now(), self.ordering.level());
        self.stats.records.table.set(at, value);
        self.stats.records.undo.set(at, self.ordering.undo_level());
        out.mark(|| Mark::Level { track: Track(records.name()), at, value: value as u64 });
    }

    /// Starts what the media can start now, and sets the next timer.
    fn serve(&mut self, out: &mut Out<'_, Msg>) {
        if matches!(self.media, Behind::Queue(_)) {
            return self.serve_queued(out);
        }
        // Whoever sits in the ingress queue can come in when a line is retired or written, and at no other time.
        if !self.retired.is_empty() {
            self.admit_waiting(out);
        }
        while self.busy_until <= out.now() && self.serve_one(out) {}
        let idle = self.reads.is_empty() && self.queue.is_empty();
        let next = if idle {
            // Whatever arrives next looks at the media itself.
            Time::NEVER
        } else if self.busy_until > out.now() {
            self.busy_until
        } else {
            self.queue.iter().filter(|p| !p.held).map(|p| p.ready).min().unwrap_or(Time::NEVER)
        };
        if next != Time::NEVER && next > out.now() && next < self.wakes_at {
            self.wakes_at = next;
            out.wake(next, Msg::Wake);
        }
    }

    /// One access of the media: reads first, unless the write pending queue is filling up.
    fn serve_one(&mut self, out: &mut Out<'_, Msg>) -> bool {
        let now = out.now();
        let write = self.queue.iter().position(|p| !p.held && p.ready <= now);
        let writes_first = self.queue.len() >= self.spec.drain_threshold
            && match self.spec.drain {
                Drain::First => true,
                Drain::InTurns => !self.wrote_last,
            };
        match (self.reads.is_empty(), write) {
            (false, None) => self.serve_read(out),
            (false, Some(_)) if !writes_first => self.serve_read(out),
            (_, Some(index)) => self.serve_write(index, out),
            (true, None) => return false,
        }
        true
    }

    /// The read that goes to the media now: the first of those that are in. One that waits outside takes its place.
    fn next_read(&mut self) -> Option<Read> {
        let read = self.reads.pop_front()?;
        self.answered = self.answered.saturating_sub(1);
        if let Admission::ByChance { window, .. } = self.spec.admission
            && let Some(outside) = self.choose((self.reads.len() + 1).saturating_sub(window))
        {
            self.reads.swap(window - 1, window - 1 + outside);
        }
        Some(read)
    }

    /// Where requests come in by chance, those that are in and ask for the block that has just been read go first.
    fn bring_forward(&mut self, line: Line) {
        let Admission::ByChance { window, .. } = self.spec.admission else { return };
        for index in self.answered..window.min(self.reads.len()) {
            if self.reads[index].line.0 / BLOCK_LINES == line.0 / BLOCK_LINES {
                // The others stay in turn.
                self.reads.make_contiguous()[self.answered..=index].rotate_right(1);
                self.answered += 1;
            }
        }
    }

    fn serve_read(&mut self, out: &mut Out<'_, Msg>) {
        let Some(read) = self.next_read() else { return };
        let Behind::Server(media) = &mut self.media else { return };
        let cost = media.read(out.now(), read.line);
        self.stats.accessed(&cost);
        self.wrote_last = false;
        if cost.hit == Some(false) {
            self.bring_forward(read.line);
        }
        self.busy_until = out.now() + cost.busy;
        if read.answer {
            self.stats.reads += 1;
        } else {
            self.stats.undo.undo_reads += 1;
        }
        self.answer(read, out.now() + cost.latency, out);
    }

    /// A read's data is there at `at`: for the directory, or for an undo record.
    fn answer(&mut self, read: Read, at: Time, out: &mut Out<'_, Msg>) {
        let line = read.line;
        if read.answer {
            if self.watches {
                self.ordering.read(line, &self.image);
            }
            let (data, waits) = (self.latest(line), self.waiting(line).next().is_some());
            out.send_at(at, ports::DIRECTORY, Msg::ReadReply { line, data, waits });
        } else if let Some(pending) = self.queue.iter_mut().find(|p| p.held && p.line == line) {
            pending.held = false;
            pending.ready = at;
        }
    }

    fn serve_write(&mut self, index: usize, out: &mut Out<'_, Msg>) {
        let Behind::Server(media) = &mut self.media else { return };
        let pending = self.queue.remove(index);
        let (now, line) = (out.now(), pending.line);
        let cost = if pending.is_note { media.note(now, line) } else { media.write(now, line) };
        self.stats.accessed(&cost);
        self.wrote_last = true;
        self.busy_until = out.now() + cost.busy;
        self.stats.writes += 1;
        self.note_queue(out);
        self.admit_waiting(out);
    }

    /// A line was read before this flush of it had come: its core goes back, and nobody keeps what was read.
    fn misread(&mut self, request: &FlushRequest, out: &mut Out<'_, Msg>) {
        let (line, after) = (request.write.line, self.spec.acknowledge);
        out.send(ports::from_core(request.core), after, Msg::Misread { line });
        out.send(ports::DIRECTORY, after, Msg::Recall { line });
        self.recalled.push((line, request.core));
    }

    fn recalled(&mut self, line: Line, out: &mut Out<'_, Msg>) {
        let index = self.recalled.iter().position(|(l, _)| *l == line).expect("a recall was asked for");
        let (line, core) = self.recalled.remove(index);
        out.send(ports::from_core(core), self.spec.acknowledge, Msg::Recalled { line });
    }

    /// Something else uses the media for so long, behind what they do now.
    pub fn occupy(&mut self, now: Time, time: Dur) {
        self.busy_until = self.busy_until.max(now) + time;
    }

    /// What a load has to see: a write that sits in the ingress queue, a held eviction, or memory.
    pub fn latest(&self, line: Line) -> Block {
        let data = self.ordering.held(line).unwrap_or_else(|| self.image.read(line));
        let mut whole = LineWrite { line, mask: Mask::MAX, data };
        self.waiting(line).for_each(|write| whole.merge(write));
        whole.data
    }

    /// Writes of a line that sits in the ingress queue.
    fn waiting(&self, line: Line) -> impl Iterator<Item = &LineWrite> {
        self.input.iter().filter_map(move |input| match input {
            Input::Write { write, .. } if write.line == line => Some(write),
            Input::Flush(_) | Input::Write { .. } => None,
        })
    }

    /// The power fails: lines that have left the write pending queue and are in a buffer or queue of the media's.
    fn queue_unwritten(&self, post_crash: &mut PostCrash) {
        let Some(now) = post_crash.fails_at else { return };
        match &self.media {
            Behind::Server(media) => media.each_unwritten(now, &mut |line| post_crash.queue(line)),
            Behind::Queue(media) => {
                media.each_unwritten(now, &mut |tag| post_crash.queue(self.line_of_tag(tag)));
            }
        }
    }
}

impl Device<Msg> for Controller {
    fn on(&mut self, now: Time, port: PortId, msg: &Msg, out: &mut Out<'_, Msg>) {
        if now >= self.wakes_at {
            self.wakes_at = Time::NEVER;
        }
        if self.watches {
            self.ordering.passes(now);
        }
        if now >= self.tells_at {
            self.tell(out);
        }
        match *msg {
            Msg::Read { line } => self.reads.push_back(Read { line, answer: true }),
            Msg::Write { line, data, mask, ack, .. } => {
                self.arrive(Input::Write { write: LineWrite { line, mask, data }, ack }, out);
            }
            Msg::Flush(request) => {
                if self.watches && self.ordering.arrives(&request) {
                    self.misread(&request, out);
                }
                self.arrive(Input::Flush(request), out);
            }
            Msg::Recalled { line } => self.recalled(line, out),
            Msg::Commit { epoch } => {
                self.ordering.commit(port.0 - 1, epoch, &mut self.image, &mut self.retired);
                self.note_table(out);
                out.send(port, self.spec.commit, Msg::CommitAck { epoch });
            }
            Msg::Complete { epoch, after } => {
                self.complete(EpochTag { core: port.0 - 1, epoch }, after, out);
            }
            Msg::Clock { tag } => self.hears(port, tag, out),
            Msg::Wake => {}
            Msg::Alarm
            | Msg::Misread { .. }
            | messages!(caches | answers | acknowledgements | dependences | timestamps | uncached | near) => {
                protocol::unexpected("a controller", msg)
            }
        }
        self.serve(out);
    }
}

impl Node for Controller {
    fn post_crash(&self, view: View, post_crash: &mut PostCrash) {
        if !self.is_pm() {
            return;
        }
        let mut image = self.image.clone();
        if view == View::Durable {
            self.ordering.power_fail(&mut image);
        }
        post_crash.parts.push(image);
        self.queue.iter().for_each(|pending| post_crash.queue(pending.line));
        self.retired.iter().for_each(|line| post_crash.queue(*line));
        self.queue_unwritten(post_crash);
        post_crash.keep(self.ordering.undo_level() as u64);
        if view == View::Visible {
            self.ordering.each_held(&mut |write| post_crash.save(Depth::Buffer, Time::ZERO, write));
        }
        if view == View::Visible || post_crash.caches_persist {
            for input in &self.input {
                if let Input::Write { write, .. } = input {
                    post_crash.save(Depth::Buffer, Time::ZERO, write);
                }
            }
        }
    }

    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        self.stats.queue.pass(now);
        self.stats.input.pass(now);
        self.stats.records.table.pass(now);
        self.stats.records.undo.pass(now);
        if let Behind::Queue(media) = &self.media
            && let Some([read, written]) = media.media_bytes()
        {
            (self.stats.bytes_read, self.stats.bytes_written, self.stats.bytes_noted) = (read, written, 0);
        }
        if self.is_pm() {
            self.stats.of_pm(self.records, sink);
        } else {
            self.stats.of_dram(sink);
        }
        match &self.media {
            Behind::Server(media) => {
                if self.is_pm() && media.has_buffer() {
                    self.stats.buffer.hand_up(sink);
                }
                media.stats(sink);
            }
            Behind::Queue(media) => media.stats(sink),
        }
        self.ordering.stats(sink);
    }
}
