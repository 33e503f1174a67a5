//! The device's firmware: it looks at the CP area once a window and carries out what it finds there.

use crate::bus::Work;
use crate::command::{Acknowledgement, CpCommand, Opcode, cp_line};
use crate::mutant::Mutant;
use memory::nand::{Ftl, Timed};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use units::{Dur, Time};

/// Bytes of a page, of a slot, and of what a window moves.
pub const PAGE_SIZE: usize = 4096;
/// Lines of a page.
pub const PAGE_LINES: u64 = 64;

/// What the device sees of its DRAM while it owns the bus.
pub trait Dram {
    /// Reads lines from `line` on.
    fn read(&mut self, line: u64, bytes: &mut [u8]);
    /// Writes lines from `line` on.
    fn write(&mut self, line: u64, bytes: &[u8]);
}

/// Times and limits of the device.
#[derive(Clone, Copy, Debug)]
pub struct FirmwareSpec {
    /// From seeing a command to asking the NAND, or to being ready to read the slot: decoding and translation.
    pub decode: Dur,
    /// From moving a command's page to being ready to acknowledge it.
    pub finish: Dur,
    /// Commands under way at once; 1 as published, at most 32.
    pub queue_depth: usize,
    /// Pages moved in a window at most; 1 as published (4 KB).
    pub window_pages: usize,
    /// Pages that the device holds for the NAND; a writeback is acknowledged once its page has room there.
    pub write_buffer: usize,
}

impl FirmwareSpec {
    /// Whether the CP area and a window have room.
    ///
    /// # Errors
    /// Which key is impossible, and its bound.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=32).contains(&self.queue_depth) {
            return Err(format!("queue_depth = {}: accepted are 1 to 32", self.queue_depth));
        }
        if !(1..=2).contains(&self.window_pages) {
            return Err(format!("window_pages = {}: accepted are 1 and 2 (4 and 8 KB)", self.window_pages));
        }
        if self.write_buffer == 0 {
            return Err("write_buffer = 0: accepted is 1 or more".into());
        }
        Ok(())
    }
}

/// What a command needs next, and from when on it can.
#[derive(Clone, Debug, Hash)]
enum Stage {
    /// Its slot is to be read.
    Drain,
    /// Data for its slot.
    Fill(PageBytes),
    /// Its acknowledgement is to be written.
    Acknowledge,
}

/// A command under way.
#[derive(Clone, Debug)]
struct Job {
    place: usize,
    command: CpCommand,
    stage: Stage,
    from: Time,
    /// What an exchange will put into its slot, and when it is there: asked for beside the writeback.
    next: Option<(PageBytes, Time)>,
    failed: bool,
    written_back: bool,
}

type PageBytes = Box<[u8; PAGE_SIZE]>;

/// A place of the CP area as the device knows it.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct CpPlace {
    /// The phase of the last command.
    phase: bool,
    /// Slot and page of the last exchange whose page was written back: until the host's metadata names another page,
    /// what is in the slot is not that page.
    exchanged: Option<(u32, u32)>,
}

/// The firmware with its NAND behind it. A NAND program goes on after the acknowledgement, from the device's own
/// buffer, which its battery saves (§V-C).
#[derive(Clone, Debug)]
pub struct Firmware {
    spec: FirmwareSpec,
    ftl: Ftl<Timed>,
    /// Oldest first.
    jobs: Vec<Job>,
    places: Vec<CpPlace>,
    /// When each page in the write buffer is on the NAND.
    programs: VecDeque<Time>,
    /// Pages moved to slots.
    pub cachefills: u64,
    /// Pages moved from slots.
    pub writebacks: u64,
    /// A seeded mistake; none in every machine.
    mutant: Option<Mutant>,
}

impl Firmware {
    /// Idle; the first command in each place has its phase set.
    ///
    /// # Errors
    /// See [`FirmwareSpec::check`].
    pub fn new(spec: FirmwareSpec, ftl: Ftl<Timed>) -> Result<Firmware, String> {
        Firmware::seeded(spec, ftl, None)
    }

    /// The same with a mistake, for the explorer.
    ///
    /// # Errors
    /// See [`FirmwareSpec::check`].
    pub fn seeded(spec: FirmwareSpec, ftl: Ftl<Timed>, mutant: Option<Mutant>) -> Result<Firmware, String> {
        spec.check()?;
        Ok(Firmware {
            spec,
            ftl,
            jobs: Vec::with_capacity(spec.queue_depth),
            places: vec![CpPlace::default(); spec.queue_depth],
            programs: VecDeque::with_capacity(spec.write_buffer),
            cachefills: 0,
            writebacks: 0,
            mutant,
        })
    }

    /// What decides about the future at `now`, without counts: of times whether they have come, of the NAND what its
    /// pages hold.
    pub fn tell(&self, now: Time, into: &mut impl Hasher) {
        let Firmware { spec: _, ftl, jobs, places, programs, cachefills: _, writebacks: _, mutant: _ } = self;
        for Job { place, command, stage, from, next, failed, written_back } in jobs {
            (place, command, stage, *from <= now, failed, written_back).hash(into);
            next.as_ref().map(|(data, there)| (data, *there <= now)).hash(into);
        }
        places.hash(into);
        programs.iter().filter(|done| **done > now).count().hash(into);
        ftl.places().for_each(|(page, place)| (page, ftl.flash().array().peek(place)).hash(into));
    }

    /// The NAND.
    pub fn ftl(&self) -> &Ftl<Timed> {
        &self.ftl
    }

    /// The NAND, to change.
    pub fn ftl_mut(&mut self) -> &mut Ftl<Timed> {
        &mut self.ftl
    }

    /// Whether a command is under way.
    pub fn is_busy(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// The device owns the bus at `now`. One kind of work in each window, as published: pages, as many as it takes;
    /// where none is ready, every acknowledgement that is due; where none is, a look at the CP area. What the window is too
    /// short for waits for another.
    pub fn window(&mut self, now: Time, dram: &mut dyn Dram, work: &mut Work<'_>) {
        self.move_pages(now, dram, work);
        if work.moves().is_empty() {
            self.acknowledge(now, dram, work);
        }
        if work.moves().is_empty() {
            self.poll(now, dram, work);
        }
    }

    fn move_pages(&mut self, now: Time, dram: &mut dyn Dram, work: &mut Work<'_>) {
        for at in 0..self.jobs.len() {
            while work.moves().len() < self.spec.window_pages && self.move_page(at, now, dram, work) {}
        }
    }

    /// Moves the page that a job moves next, if it can now; whether it could.
    fn move_page(&mut self, at: usize, now: Time, dram: &mut dyn Dram, work: &mut Work<'_>) -> bool {
        let Job { command, stage, from, .. } = &self.jobs[at];
        let first = u64::from(command.slot) * PAGE_LINES;
        if *from > now {
            return false;
        }
        match stage {
            Stage::Drain if work.takes((first, PAGE_LINES, false)) => self.drain(at, now, dram),
            Stage::Fill(data) if work.takes((first, PAGE_LINES, true)) => {
                dram.write(first, &data[..]);
                self.cachefills += 1;
                self.go_on(at, Stage::Acknowledge, now + self.spec.finish);
            }
            Stage::Drain | Stage::Fill(_) | Stage::Acknowledge => return false,
        }
        true
    }

    /// Takes the page out of a job's slot.
    fn drain(&mut self, at: usize, now: Time, dram: &mut dyn Dram) {
        let Job { command, place, .. } = self.jobs[at];
        let mut data = [0; PAGE_SIZE];
        dram.read(u64::from(command.slot) * PAGE_LINES, &mut data);
        self.ftl.flash_mut().begin(now);
        // A failed writeback keeps its slot as it is.
        if self.ftl.write(command.page, &data).is_err() {
            self.jobs[at].failed = true;
            return self.go_on(at, Stage::Acknowledge, now + self.spec.finish);
        }
        self.writebacks += 1;
        self.jobs[at].written_back = true;
        let room = self.room_in_buffer(now);
        match self.jobs[at].next.take() {
            Some((data, there)) => {
                self.places[place].exchanged = Some((command.slot, command.page));
                self.go_on(at, Stage::Fill(data), room.max(there));
            }
            None => self.go_on(at, Stage::Acknowledge, room.max(now + self.spec.finish)),
        }
    }

    /// Puts the page just written into the buffer; gives when there was room for it.
    fn room_in_buffer(&mut self, now: Time) -> Time {
        while self.programs.front().is_some_and(|done| *done <= now) {
            self.programs.pop_front();
        }
        let waits = (self.programs.len() + 1).checked_sub(self.spec.write_buffer + 1);
        let room = waits.and_then(|at| self.programs.get(at).copied()).unwrap_or(now);
        self.programs.push_back(self.ftl.flash().done());
        self.programs.make_contiguous().sort_unstable();
        room
    }

    /// Reads a page from the NAND, asked for at `now`; whether it could, and when it is there. An uncorrectable one is
    /// told to the host, and zeros take its place. A page that was never written costs the NAND nothing.
    fn fetch(&mut self, now: Time, page: u32) -> (bool, PageBytes, Time) {
        let mut data = Box::new([0; PAGE_SIZE]);
        self.ftl.flash_mut().begin(now);
        let read = self.ftl.read(page, &mut data[..]).is_ok();
        (read, data, self.ftl.flash().done())
    }

    fn go_on(&mut self, at: usize, stage: Stage, from: Time) {
        self.jobs[at].stage = stage;
        self.jobs[at].from = from;
    }

    fn acknowledge(&mut self, now: Time, dram: &mut dyn Dram, work: &mut Work<'_>) {
        let early = self.mutant == Some(Mutant::AcknowledgesFirst);
        let ready = |job: &Job| match job.stage {
            Stage::Acknowledge => job.from <= now,
            Stage::Fill(_) => early,
            Stage::Drain => false,
        };
        let goes = |job: &mut Job| ready(job) && work.takes((cp_line(job.place) + 1, 1, true));
        for job in self.jobs.extract_if(.., goes) {
            let Job { failed, written_back, .. } = job;
            let word = Acknowledgement { phase: job.command.phase, failed, written_back }.to_word();
            let mut line = [0; 64];
            line[..8].copy_from_slice(&word.to_le_bytes());
            dram.write(cp_line(job.place) + 1, &line);
        }
    }

    /// Takes every command that is new. The NAND is asked for what it needs at once.
    fn poll(&mut self, now: Time, dram: &mut dyn Dram, work: &mut Work<'_>) {
        if !work.takes((0, 2 * self.spec.queue_depth as u64 - 1, false)) {
            return;
        }
        for place in 0..self.spec.queue_depth {
            let mut line = [0; 64];
            dram.read(cp_line(place), &mut line);
            let new = |c: &CpCommand| c.phase != self.places[place].phase;
            let Some(command) =
                CpCommand::from_words([protocol::word_of(&line, 0), protocol::word_of(&line, 8)]).filter(new)
            else {
                continue;
            };
            self.places[place] = CpPlace { phase: command.phase, exchanged: None };
            let job = self.begin(place, command, now + self.spec.decode);
            self.jobs.push(job);
        }
    }

    /// A command that has been decoded at `from`: what it needs from the NAND is asked for.
    fn begin(&mut self, place: usize, command: CpCommand, from: Time) -> Job {
        let (stage, next) = (Stage::Drain, None);
        let mut job = Job { place, command, stage, from, next, failed: false, written_back: false };
        let wanted = match command.opcode {
            Opcode::Writeback => return job,
            Opcode::Cachefill => command.page,
            Opcode::Exchange { next } => next,
        };
        let (read, data, there) = self.fetch(from, wanted);
        job.failed = !read;
        match command.opcode {
            Opcode::Cachefill => (job.stage, job.from) = (Stage::Fill(data), there),
            Opcode::Writeback | Opcode::Exchange { .. } => job.next = Some((data, there)),
        }
        job
    }

    /// What a dump has to save: slots (pages of the DRAM) and their pages, in the order in which it does.
    /// `slots` slots begin with page `first_slot` of the DRAM. A slot whose page an exchange has written back is left
    /// out as long as its metadata names that page: its next page is on the NAND too.
    pub fn to_save(&self, dram: &mut dyn Dram, first_slot: u32, slots: u32) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        for index in 0..slots {
            let mut line = [0; 64];
            dram.read(PAGE_LINES + u64::from(index / 8), &mut line);
            let word = protocol::word_of(&line, (index % 8) as usize * 8);
            let (slot, page) = (first_slot + index, word as u32);
            if word >> 63 == 1 && !self.places.iter().any(|p| p.exchanged == Some((slot, page))) {
                all.push((slot, page));
            }
        }
        all
    }

    /// The power has failed: what the metadata calls valid goes to the NAND, windows or not, until the energy for
    /// `pages` pages is used up (§V-C). Gives the pages for which the battery did not last: the NAND has what it had.
    pub fn dump(&mut self, dram: &mut dyn Dram, first_slot: u32, slots: u32, pages: u64) -> Dump {
        let mut dump = Dump::default();
        for (slot, page) in self.to_save(dram, first_slot, slots) {
            let mut data = [0; PAGE_SIZE];
            dram.read(u64::from(slot) * PAGE_LINES, &mut data);
            if dump.saved < pages && self.ftl.write(page, &data).is_ok() {
                dump.saved += 1;
            } else {
                dump.lost.push(page);
            }
        }
        dump
    }
}

/// What a dump saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// Pages that are on the NAND now.
    pub saved: u64,
    /// Valid pages for which the battery did not last: the NAND has what it had.
    pub lost: Vec<u32>,
}
