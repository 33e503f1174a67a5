//! Time of the media: channels that carry pages, dies that read, program and erase. Takes time as an argument and says
//! when an operation is done.

use super::PageNumber;
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

/// What is busy until when. An operation costs a handful of comparisons.
#[derive(Clone, Debug)]
pub struct Media {
    spec: MediaSpec,
    channels: Vec<Time>,
    dies: Vec<Die>,
}

/// A die's work: until when it senses, sends or is erased, and until when it programs.
#[derive(Clone, Copy, Debug, Default)]
struct Die {
    busy: Time,
    programs: Time,
}

impl Media {
    /// Idle media.
    ///
    /// # Errors
    /// See [`MediaSpec::check`].
    pub fn new(spec: MediaSpec) -> Result<Media, String> {
        spec.check()?;
        let (channels, dies) = (spec.channels as usize, spec.dies as usize);
        Ok(Media { channels: vec![Time::ZERO; channels], dies: vec![Die::default(); dies], spec })
    }

    /// Nothing is under way any more.
    pub(super) fn rest(&mut self) {
        self.channels.fill(Time::ZERO);
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
        let (at, suspends) = (self.die(page), self.spec.suspends);
        let (die, channel) = (self.dies[at], self.channel(at));
        let begins = now.max(die.busy).max(if suspends { Time::ZERO } else { die.programs });
        let done = (begins + self.spec.read).max(self.channels[channel]) + self.spec.transfer;
        let programs = if die.programs > begins { die.programs + done.since(begins) } else { die.programs };
        self.dies[at] = Die { busy: done, programs };
        self.channels[channel] = done;
        done
    }

    /// A page is sent at `now`; gives when it is programmed. The channel is free once the die has it.
    pub fn program(&mut self, now: Time, page: PageNumber) -> Time {
        let at = self.die(page);
        let (die, channel) = (self.dies[at], self.channel(at));
        let there = now.max(die.busy).max(die.programs).max(self.channels[channel]) + self.spec.transfer;
        self.channels[channel] = there;
        self.dies[at] = Die { busy: there, programs: there + self.spec.program };
        self.dies[at].programs
    }

    /// A block is erased from `now` on, on every die; gives when it is.
    pub fn erase(&mut self, now: Time) -> Time {
        let mut done = now;
        for die in &mut self.dies {
            die.busy = now.max(die.busy).max(die.programs) + self.spec.erase;
            done = done.max(die.busy);
        }
        done
    }
}
