//! A channel behind a controller's queues.

use super::{Channel, Counts, Request, Spec};
use crate::controller::QueuedMedia;
use params::{Dur, StatSink, Statistics};
use protocol::Line;
use units::Time;

/// What a channel behind a controller reports.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ddr4")]
pub(crate) struct ChannelStats {
    /// rows opened for the host
    pub(crate) activates: u64,
    /// refreshes of a rank
    pub(crate) refreshes: u64,
    /// reads answered from a channel's write queue
    pub(crate) forwarded: u64,
    /// time from a read's arrival at the channel to its data, summed over reads
    pub(crate) read_time: Dur,
}

/// Which lines of a memory are a channel's: of blocks that go round over so many channels, one in so many.
#[derive(Clone, Copy, Debug)]
pub struct Interleave {
    /// The first line of the memory.
    pub first: u64,
    /// Lines of a block.
    pub lines: u64,
    /// Channels.
    pub channels: u64,
}

impl Interleave {
    /// The number of a line in its channel, which has its own lines without gaps.
    pub fn own(&self, line: Line) -> u64 {
        let line = line.0 - self.first;
        line / self.lines / self.channels * self.lines + line % self.lines
    }
}

/// A channel as a controller sees it.
pub struct Ddr4 {
    channel: Channel,
    interleave: Interleave,
}

impl Ddr4 {
    /// A channel with every bank closed.
    ///
    /// # Errors
    /// What is impossible about `spec`.
    pub fn new(spec: Spec, interleave: Interleave) -> Result<Ddr4, String> {
        Ok(Ddr4 { channel: Channel::new(spec)?, interleave })
    }

    fn clocks(&self, clocks: u64) -> Dur {
        Dur::ps(clocks * self.channel.spec().clock_ps)
    }

    /// What the channel has done.
    pub(crate) fn counts(&self) -> Counts {
        self.channel.counts()
    }

    /// From arrival to data, over all reads.
    pub(crate) fn read_time(&self) -> Dur {
        self.clocks(self.counts().read_clocks)
    }
}

impl QueuedMedia for Ddr4 {
    fn has_room(&self, write: bool) -> bool {
        self.channel.has_room(write)
    }

    fn push(&mut self, now: Time, line: Line, write: bool, tag: u32) -> Option<Time> {
        let request = Request { line: self.interleave.own(line), write, tag };
        let pushed = self.channel.push(now, request);
        pushed.expect("who asks has looked for room").map(|done| done.at)
    }

    fn advance(&mut self, to: Time, done: &mut dyn FnMut(u32, Time)) {
        self.channel.advance(to, &mut |d| done(d.tag, d.at));
    }

    /// A read that the next command serves has its data a column latency, a burst and the controller's time later, so that
    /// commands until then can be issued together: nothing comes of them before.
    fn look_at(&mut self, for_room: bool) -> Time {
        if self.channel.is_idle() {
            return Time::NEVER;
        }
        let next = self.channel.next_at();
        if for_room {
            next + Dur::ps(1)
        } else {
            next + self.clocks(self.channel.spec().cl + self.channel.spec().burst)
        }
    }

    fn each_unwritten(&self, now: Time, each: &mut dyn FnMut(u32)) {
        if self.channel.waiting_writes().next().is_none() {
            return;
        }
        let mut then = self.channel.clone();
        then.advance(now, &mut |_| ());
        then.waiting_writes().for_each(each);
    }

    fn least_read(&self) -> Dur {
        self.clocks(self.channel.spec().controller)
    }

    fn stats(&self, sink: &mut dyn StatSink) {
        let counts = self.counts();
        let all = ChannelStats {
            activates: counts.activates,
            refreshes: counts.refreshes,
            forwarded: counts.forwarded,
            read_time: self.read_time(),
        };
        all.hand_up(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ddr4::{BURST, Legality};
    use units::Random;

    const ALONE: Interleave = Interleave { first: 0, lines: 4, channels: 1 };

    fn spec() -> Spec {
        Spec { controller: 16, ranks: 2, ..Spec::DDR4_2933 }
    }

    #[test]
    fn a_read_of_a_closed_bank_is_there_after_trcd_cl_a_burst_and_the_controllers_time_and_not_before() {
        let (s, mut ddr4) = (spec(), Ddr4::new(spec(), ALONE).unwrap());
        assert_eq!(ddr4.look_at(false), Time::NEVER, "nobody waits");
        assert_eq!(ddr4.push(Time::ZERO, Line(7), false, 3), None);
        let there = Time::from_ps((s.rcd + s.cl + BURST + s.controller) * s.clock_ps);
        let mut done = Vec::new();
        ddr4.advance(Time::from_ps(s.rcd * s.clock_ps), &mut |tag, at| done.push((tag, at)));
        assert_eq!(done, [], "the READ goes at that clock");
        ddr4.advance(Time::from_ps(s.rcd * s.clock_ps + 1), &mut |tag, at| done.push((tag, at)));
        assert_eq!(done, [(3, there)]);
        assert_eq!(ddr4.look_at(false), Time::NEVER);
    }

    /// Requests by arrival; gives when reads are done, by tag. `looks` decides when it is advanced between arrivals.
    fn served(arrivals: &[(u64, u64, bool)], looks: impl Fn(&mut Ddr4, Time) -> Time) -> Vec<(u32, Time)> {
        let mut ddr4 = Ddr4::new(spec(), ALONE).unwrap();
        ddr4.channel.keep_log();
        let mut done = Vec::new();
        for (tag, &(at, line, write)) in (0..).zip(arrivals) {
            let (mut now, at) = (Time::ZERO, Time::from_ps(at));
            loop {
                let next = looks(&mut ddr4, now).min(at);
                ddr4.advance(next, &mut |tag, there| {
                    assert!(there >= next, "read {tag} was there at {there:?}, told at {next:?}");
                    done.push((tag, there));
                });
                now = next;
                if now == at {
                    break;
                }
            }
            if ddr4.has_room(write) {
                done.extend(ddr4.push(at, Line(line), write, tag).map(|there| (tag, there)));
            }
        }
        ddr4.advance(Time::from_ps(1 << 40), &mut |tag, there| done.push((tag, there)));
        let mut legality = Legality::new(spec());
        ddr4.channel.log().iter().for_each(|c| legality.take(c).unwrap_or_else(|v| panic!("{v}")));
        done.sort_unstable_by_key(|(tag, _)| *tag);
        done
    }

    #[test]
    fn who_looks_as_late_as_allowed_sees_what_who_looks_at_every_command_does() {
        for seed in 0..20 {
            let mut random = Random::new(seed, 0);
            let mut at = 0;
            let arrivals: Vec<_> = (0..400)
                .map(|_| {
                    at += random.below(if seed % 2 == 0 { 4_000 } else { 60_000 });
                    (at, random.below(1 << 14), random.chance(300))
                })
                .collect();
            let late = served(&arrivals, |ddr4, _| ddr4.look_at(false));
            let every = served(&arrivals, |ddr4, _| ddr4.look_at(true));
            assert_eq!(late, every, "seed {seed}");
            assert!(late.len() > 100);
        }
    }

    #[test]
    fn channels_have_the_lines_of_a_memory_without_gaps() {
        for (lines, channels) in [(4, 6), (1, 3), (64, 7)] {
            let interleave = Interleave { first: 1000, lines, channels };
            let mut of: Vec<Vec<u64>> = vec![Vec::new(); channels as usize];
            for n in 0..lines * channels * 5 {
                of[(n / lines % channels) as usize].push(interleave.own(Line(1000 + n)));
            }
            assert!(of.iter().all(|own| own.iter().copied().eq(0..lines * 5)), "{lines} {channels}");
        }
    }
}
