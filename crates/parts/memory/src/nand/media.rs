//! Time of the media: channels that carry pages, dies that read, program and erase. Takes time as an argument and says
//! when an operation is done.

use super::PageNumber;
use std::collections::VecDeque;
use units::{Dur, Time};

/// How long the media take, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaSpec {
    /// Channels, each carrying one page at a time.
    pub channels: u32,
    /// Dies of all channels together. Pages go round them: a block of the translation layer is one of each die.
    pub dies: u32,
    /// Array to page register (tR).
    pub read: Dur,
    /// Page register to array (tPROG).
    pub program: Dur,
    /// A block (tBERS).
    pub erase: Dur,
    /// A page over its channel.
    pub transfer: Dur,
    /// A read interrupts a program, which then takes as much longer.
    pub suspends: bool,
}

impl MediaSpec {
    /// Z-NAND as in NVDIMM-C: 2 channels, 16 dies, tR 3 us, tPROG 100 us (Samsung, 2017); programs are suspended for
    /// reads (Cheong et al., ISSCC 2018). The time of an erase is not
    /// public: an estimate. The time of a transfer too: the paper's 50 MHz interface would take 41 us, longer than its
    /// own measurements leave.
    pub const Z_NAND: MediaSpec = MediaSpec {
        channels: 2,
        dies: 16,
        read: Dur::ns(3_000),
        program: Dur::ns(100_000),
        erase: Dur::ns(1_000_000),
        transfer: Dur::ns(3_400),
        suspends: true,
    };

    /// Media of one latency for reads and writes, as PRAM and STT-MRAM are taken (NVDIMM-C §VII-D); only accesses to
    /// the same of 4,096 banks wait for each other.
    pub const fn fixed(latency: Dur) -> MediaSpec {
        let none = Dur::ZERO;
        MediaSpec {
            channels: 64,
            dies: 4096,
            read: latency,
            program: latency,
            erase: none,
            transfer: none,
            suspends: false,
        }
    }

    /// Whether there is something to wait for.
    ///
    /// # Errors
    /// Which key is impossible, and its bound.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=64).contains(&self.channels) {
            return Err(format!("channels = {}: accepted are 1 to 64", self.channels));
        }
        if !(self.channels..=4096).contains(&self.dies) {
            return Err(format!(
                "dies = {}: accepted are {} (one a channel) to 4096",
                self.dies, self.channels
            ));
        }
        Ok(())
    }
}

/// What is busy when. An operation costs a handful of comparisons, and a look at what its channel is still to carry.
#[derive(Clone, Debug)]
pub struct Media {
    spec: MediaSpec,
    channels: Vec<Channel>,
    dies: Vec<Die>,
}

/// A die's work: until when it senses and sends, until when it programs and is erased, one after the other, and when it takes
/// pages in or is erased, which no read interrupts.
#[derive(Clone, Debug, Default)]
struct Die {
    busy: Time,
    written: Time,
    held: VecDeque<(Time, Time)>,
}

impl Die {
    /// When a read that is asked for at `now` begins.
    fn reads_from(&self, now: Time, suspends: bool) -> Time {
        let from = now.max(self.busy);
        if !suspends {
            return from.max(self.written);
        }
        let after =
            |from: Time, (begins, ends): &(Time, Time)| if *begins <= from { from.max(*ends) } else { from };
        self.held.iter().fold(from, after)
    }

    /// A read takes it from `begins` until `done`; what is under way or to come is later by that.
    fn reads(&mut self, begins: Time, done: Time) {
        let takes = done.since(begins);
        self.busy = done;
        if self.written > begins {
            self.written += takes;
        }
        for (from, until) in self.held.iter_mut().filter(|(from, _)| *from > begins) {
            (*from, *until) = (*from + takes, *until + takes);
        }
    }

    /// When a program or an erase that is asked for at `now` begins.
    fn writes_from(&self, now: Time) -> Time {
        now.max(self.busy).max(self.written)
    }

    /// No read interrupts it in between. What is over is forgotten.
    fn hold(&mut self, now: Time, begins: Time, ends: Time) {
        while self.held.front().is_some_and(|(_, ends)| *ends <= now) {
            self.held.pop_front();
        }
        if begins < ends {
            self.held.push_back((begins, ends));
        }
    }
}

/// When a channel carries pages, in order. A program that waits for its die takes the channel once the die is there, and what
/// comes before that is carried before it.
#[derive(Clone, Debug, Default)]
struct Channel {
    carries: VecDeque<(Time, Time)>,
}

impl Channel {
    /// Times that are kept though they are past: operations are asked for nearly in order.
    const PAST: usize = 32;

    /// It carries a page for `takes`, from `from` on or as soon as it can, at `now`; gives when it begins.
    fn carry(&mut self, now: Time, from: Time, takes: Dur) -> Time {
        if takes == Dur::ZERO {
            return from;
        }
        while self.carries.len() > Channel::PAST && self.carries.front().is_some_and(|(_, ends)| *ends <= now)
        {
            self.carries.pop_front();
        }
        let mut place = self.carries.partition_point(|(_, ends)| *ends <= from);
        let mut begins = from;
        while let Some((next, ends)) = self.carries.get(place)
            && begins + takes > *next
        {
            begins = *ends;
            place += 1;
        }
        self.carries.insert(place, (begins, begins + takes));
        begins
    }
}

impl Media {
    /// Idle media.
    ///
    /// # Errors
    /// See [`MediaSpec::check`].
    pub fn new(spec: MediaSpec) -> Result<Media, String> {
        spec.check()?;
        let (channels, dies) = (spec.channels as usize, spec.dies as usize);
        Ok(Media { channels: vec![Channel::default(); channels], dies: vec![Die::default(); dies], spec })
    }

    /// Nothing is under way any more.
    pub(super) fn rest(&mut self) {
        self.channels.fill(Channel::default());
        self.dies.fill(Die::default());
    }

    fn die(&self, page: PageNumber) -> usize {
        (page % self.spec.dies) as usize
    }

    fn channel(&self, die: usize) -> usize {
        die % self.channels.len()
    }

    /// A page is asked for at `now`; gives when it has come over its channel. The die keeps it until then.
    pub fn read(&mut self, now: Time, page: PageNumber) -> Time {
        let at = self.die(page);
        let channel = self.channel(at);
        let begins = self.dies[at].reads_from(now, self.spec.suspends);
        let sensed = begins + self.spec.read;
        let done = self.channels[channel].carry(now, sensed, self.spec.transfer) + self.spec.transfer;
        self.dies[at].reads(begins, done);
        done
    }

    /// A page is sent at `now`; gives when it is programmed. The channel is free once the die has it, and before the die can take
    /// it; a read of the die does not wait for it before that.
    pub fn program(&mut self, now: Time, page: PageNumber) -> Time {
        let at = self.die(page);
        let channel = self.channel(at);
        let begins = self.dies[at].writes_from(now);
        let sent = self.channels[channel].carry(now, begins, self.spec.transfer);
        let there = sent + self.spec.transfer;
        let die = &mut self.dies[at];
        die.hold(now, sent, there);
        die.written = there + self.spec.program;
        die.written
    }

    /// A block is erased from `now` on, on every die; gives when it is.
    pub fn erase(&mut self, now: Time) -> Time {
        let mut done = now;
        for die in &mut self.dies {
            let begins = die.writes_from(now);
            die.written = begins + self.spec.erase;
            die.hold(now, begins, die.written);
            done = done.max(die.written);
        }
        done
    }
}
