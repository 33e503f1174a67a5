//! The channels of the device's DRAM, and what waits for them.

use memory::QueuedMedia;
use memory::ddr4::{Ddr4, Interleave, Spec};
use protocol::{Block, Line, StatSink};
use std::collections::{BTreeMap, VecDeque};
use units::{Dur, Time};

/// Lines that lie on one channel before those of the next.
const TURN: u64 = 4;

/// What a channel is asked for.
enum Access {
    Read { line: Line, data: Block },
    Write,
}

/// A channel with its queues.
struct Channel {
    media: Ddr4,
    /// By the time from which on it may go, and by arrival.
    waiting: BTreeMap<(Time, u64), (Line, Access)>,
    /// Lines of pages that have come from the NAND: they go when nobody else wants to write.
    fills: VecDeque<Line>,
    reading: Vec<(u32, Line, Block)>,
    next_tag: u32,
}

/// All of them. Their lines are those of slots: the first slot's first line is number 0.
pub(crate) struct Channels {
    channels: Vec<Channel>,
    arrivals: u64,
}

impl Channels {
    /// Idle.
    ///
    /// # Errors
    /// What is impossible about `spec`.
    pub(crate) fn new(spec: Spec, count: u64) -> Result<Channels, String> {
        let interleave = Interleave { first: 0, lines: TURN, channels: count };
        let channel = |_| {
            Ok(Channel {
                media: Ddr4::new(spec, interleave)?,
                waiting: BTreeMap::new(),
                fills: VecDeque::new(),
                reading: Vec::with_capacity(spec.queue),
                next_tag: 0,
            })
        };
        Ok(Channels { channels: (0..count).map(channel).collect::<Result<_, String>>()?, arrivals: 0 })
    }

    fn of(&mut self, place: Line) -> &mut Channel {
        let count = self.channels.len() as u64;
        &mut self.channels[(place.0 / TURN % count) as usize]
    }

    /// The line at `place` is read, from `from` on, for the host's `line`, whose bytes are `data`.
    pub(crate) fn read(&mut self, from: Time, place: Line, line: Line, data: Block) {
        self.push(from, place, Access::Read { line, data });
    }

    /// The line at `place` is written, from `from` on.
    pub(crate) fn write(&mut self, from: Time, place: Line) {
        self.push(from, place, Access::Write);
    }

    fn push(&mut self, from: Time, place: Line, access: Access) {
        self.arrivals += 1;
        let key = (from, self.arrivals);
        self.of(place).waiting.insert(key, (place, access));
    }

    /// A line of a page that has come from the NAND is written.
    pub(crate) fn fill(&mut self, place: Line) {
        self.of(place).fills.push_back(place);
    }

    /// Does what can be done by `now`: each line that was read is told with the time of its data. Gives when it is to be
    /// asked again.
    pub(crate) fn serve(&mut self, now: Time, done: &mut dyn FnMut(Line, Block, Time)) -> Time {
        let next = self.channels.iter_mut().map(|channel| channel.serve(now, done));
        next.min().unwrap_or(Time::NEVER)
    }

    /// How long a read takes at least.
    pub(crate) fn least_read(&self) -> Dur {
        self.channels.first().map_or(Dur::ZERO, |channel| channel.media.least_read())
    }

    pub(crate) fn stats(&self, sink: &mut dyn StatSink) {
        self.channels.iter().for_each(|channel| channel.media.stats(sink));
    }
}

impl Channel {
    fn serve(&mut self, now: Time, done: &mut dyn FnMut(Line, Block, Time)) -> Time {
        let Channel { media, reading, .. } = self;
        media.advance(now, &mut |tag, at| {
            if let Some(index) = reading.iter().position(|(own, ..)| *own == tag) {
                let (_, line, data) = reading.swap_remove(index);
                done(line, data, at);
            }
        });
        let is_stopped = self.hand_on(now, done);
        if !is_stopped {
            self.hand_fills(now);
        }
        let later = self.waiting.range((now + Dur::ps(1), 0)..).next().map(|((from, _), _)| *from);
        self.media.look_at(is_stopped || !self.fills.is_empty()).min(later.unwrap_or(Time::NEVER))
    }

    /// Hands on whatever may go, in order; whether there was no room for all of it.
    fn hand_on(&mut self, now: Time, done: &mut dyn FnMut(Line, Block, Time)) -> bool {
        while let Some(entry) = self.waiting.first_entry().filter(|entry| entry.key().0 <= now) {
            let is_write = matches!(entry.get().1, Access::Write);
            if !self.media.has_room(is_write) {
                return true;
            }
            let (place, access) = entry.remove();
            let tag = self.tag();
            let answered = self.media.push(now, place, is_write, tag);
            if let Access::Read { line, data } = access {
                match answered {
                    Some(at) => done(line, data, at),
                    None => self.reading.push((tag, line, data)),
                }
            }
        }
        false
    }

    fn hand_fills(&mut self, now: Time) {
        while self.media.has_room(true) {
            let Some(place) = self.fills.pop_front() else { return };
            let tag = self.tag();
            self.media.push(now, place, true, tag);
        }
    }

    fn tag(&mut self) -> u32 {
        self.next_tag = self.next_tag.wrapping_add(1);
        self.next_tag
    }
}
