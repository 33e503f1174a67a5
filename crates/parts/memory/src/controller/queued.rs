//! A controller whose media take many requests at once and decide which goes first.

use super::media::Cost;
use super::{Behind, Controller, Read};
use engine::Out;
use protocol::{LINE_BYTES, Line, Msg, StatSink};
use units::{Dur, Time};

/// Media that hold requests and put them in an order of their own, such as a DDR4 channel. Between two calls nobody asks
/// it for anything, so that it may do in one go what happened since the last.
pub trait QueuedMedia {
    /// Whether it has room for another request.
    fn has_room(&self, write: bool) -> bool;
    /// A request comes at `now`, after everything before has been done ([`QueuedMedia::advance`]). Gives when a read is
    /// answered, where that is known at once; otherwise its tag comes back.
    fn push(&mut self, now: Time, line: Line, write: bool, tag: u32) -> Option<Time>;
    /// Does everything that happens before `to`; `done` hears of each read's tag, and of the time of its data, which is
    /// not before the time that [`QueuedMedia::look_at`] last gave.
    fn advance(&mut self, to: Time, done: &mut dyn FnMut(u32, Time));
    /// When it is to be advanced again; never where no request waits. With `for_room`, as soon as it may have any.
    fn look_at(&mut self, for_room: bool) -> Time;
    /// The tags of writes that it has taken and not carried out by `now`.
    fn each_unwritten(&self, now: Time, each: &mut dyn FnMut(u32));
    /// How long a read takes at least.
    fn least_read(&self) -> Dur;
    /// Hands up statistics of its own.
    fn stats(&self, sink: &mut dyn StatSink);
    /// Bytes that the media read, and wrote, where these are others than the lines they were asked for.
    fn media_bytes(&self) -> Option<[u64; 2]> {
        None
    }
}

/// The reads that media have taken.
#[derive(Default)]
pub(super) struct Taken {
    reads: Vec<(u32, Read)>,
    next_tag: u32,
    done: Vec<(u32, Time)>,
}

impl Taken {
    fn take(&mut self, tag: u32) -> Option<Read> {
        let index = self.reads.iter().position(|(own, _)| *own == tag)?;
        Some(self.reads.swap_remove(index).1)
    }
}

impl Controller {
    /// Lets the media do what they did since they were last asked, hands them what they have room for, and sets the next
    /// timer.
    pub(super) fn serve_queued(&mut self, out: &mut Out<'_, Msg>) {
        let now = out.now();
        let mut done = std::mem::take(&mut self.taken.done);
        if let Behind::Queue(media) = &mut self.media {
            media.advance(now, &mut |tag, at| done.push((tag, at)));
        }
        for (tag, at) in done.drain(..) {
            if let Some(read) = self.taken.take(tag) {
                self.answer(read, at, out);
            }
        }
        self.taken.done = done;
        if !self.retired.is_empty() {
            self.admit_waiting(out);
        }
        self.hand_reads(out);
        self.hand_writes(out);
        let Behind::Queue(media) = &mut self.media else { return };
        let for_room = !self.reads.is_empty() || self.queue.iter().any(|p| !p.held && p.ready <= now);
        let later = self.queue.iter().filter(|p| !p.held && p.ready > now).map(|p| p.ready).min();
        let next = media.look_at(for_room).min(later.unwrap_or(Time::NEVER));
        if next != Time::NEVER && next < self.wakes_at {
            self.wakes_at = next;
            out.wake(next, Msg::Wake);
        }
    }

    fn hand_reads(&mut self, out: &mut Out<'_, Msg>) {
        while let Some(read) = self.reads.front().copied() {
            let Some(answered) = self.hand(read.line, false, out.now()) else { return };
            self.reads.pop_front();
            if read.answer {
                self.stats.reads += 1;
            } else {
                self.stats.undo.undo_reads += 1;
            }
            match answered {
                Ok(at) => self.answer(read, at, out),
                Err(tag) => self.taken.reads.push((tag, read)),
            }
        }
    }

    fn hand_writes(&mut self, out: &mut Out<'_, Msg>) {
        let now = out.now();
        while let Some(index) = self.queue.iter().position(|p| !p.held && p.ready <= now) {
            if self.hand(self.queue[index].line, true, now).is_none() {
                return;
            }
            self.stats.bytes_noted += if self.queue.remove(index).is_note { 64 } else { 0 };
            self.stats.writes += 1;
            self.note_queue(out);
            self.admit_waiting(out);
        }
    }

    /// Gives the media a request, if they have room: when it is answered, or the tag with which it will be.
    fn hand(&mut self, line: Line, write: bool, now: Time) -> Option<Result<Time, u32>> {
        // Of a write nothing comes back, and its tag says which line it is.
        let tag = if write { self.tag_of_line(line) } else { self.taken.next_tag };
        let Behind::Queue(media) = &mut self.media else { return None };
        if !media.has_room(write) {
            return None;
        }
        self.taken.next_tag = self.taken.next_tag.wrapping_add(1);
        let answered = media.push(now, line, write, tag);
        let bytes = |of: bool| if of { 64 } else { 0 };
        let cost = Cost { bytes_read: bytes(!write), bytes_written: bytes(write), ..Cost::default() };
        self.stats.accessed(&cost);
        Some(answered.ok_or(tag))
    }

    /// What is told apart by tags are lines of 256 GiB.
    fn tag_of_line(&self, line: Line) -> u32 {
        (line.0 - self.spec.base / LINE_BYTES) as u32
    }

    pub(super) fn line_of_tag(&self, tag: u32) -> Line {
        Line(self.spec.base / LINE_BYTES + u64::from(tag))
    }
}
