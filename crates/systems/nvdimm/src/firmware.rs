//! The device's firmware: it looks at the CP area once a window and carries out one command at a time.

use memory::nand::{Array, Ftl};
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

/// What the host wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// NAND to slot.
    Cachefill,
    /// Slot to NAND.
    Writeback,
    /// Slot to NAND, then another page from NAND to the slot: not in the published device, but on its wish list.
    Exchange {
        /// The page that comes.
        next: u32,
    },
}

/// A command: a word with phase (1 bit), opcode (3), slot (28), NAND page (32), and a second word with the next page of
/// an exchange. The paper names the fields (§IV-C), not their widths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpCommand {
    /// Changes with every command.
    pub phase: bool,
    /// What.
    pub opcode: Opcode,
    /// Page of the DRAM.
    pub slot: u32,
    /// Page of the device.
    pub page: u32,
}

impl CpCommand {
    const SLOT_BITS: u32 = 28;

    /// As words of the CP area.
    pub fn to_words(self) -> [u64; 2] {
        let (opcode, next) = match self.opcode {
            Opcode::Cachefill => (1, 0),
            Opcode::Writeback => (2, 0),
            Opcode::Exchange { next } => (3, next),
        };
        let phase = u64::from(self.phase) << 63;
        [phase | opcode << 60 | u64::from(self.slot) << 32 | u64::from(self.page), next.into()]
    }

    /// From words of the CP area; none when they name no operation.
    pub fn from_words(words: [u64; 2]) -> Option<CpCommand> {
        let opcode = match words[0] >> 60 & 7 {
            1 => Opcode::Cachefill,
            2 => Opcode::Writeback,
            3 => Opcode::Exchange { next: words[1] as u32 },
            _ => return None,
        };
        let slot = (words[0] >> 32) as u32 & ((1 << Self::SLOT_BITS) - 1);
        Some(CpCommand { phase: words[0] >> 63 == 1, opcode, slot, page: words[0] as u32 })
    }
}

/// Line of the CP area that holds command `index`; its acknowledgement is in the next.
pub const fn cp_line(index: usize) -> u64 {
    2 * index as u64
}

/// Times and limits of the device.
#[derive(Clone, Copy, Debug)]
pub struct FirmwareSpec {
    /// From seeing a command to asking the NAND: decoding and translation.
    pub decode: Dur,
    /// NAND array to page register (tR) and on to the device.
    pub nand_read: Dur,
    /// Commands under way at once; 1 as published, at most 32.
    pub queue_depth: usize,
    /// Pages moved in a window; 1 as published (4 KB), 2 fit.
    pub window_pages: usize,
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
        Ok(())
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

/// Lines that the device moves in a window: first, number, and whether it writes them.
pub type Move = (u64, u64, bool);

/// What a command needs next.
#[derive(Clone, Debug)]
enum Stage {
    /// Its slot is to be read.
    Drain,
    /// Data for its slot, there from a time on.
    Fill { data: Box<[u8; PAGE_SIZE]>, from: Time },
    /// Its acknowledgement is to be written.
    Acknowledge,
}

/// A command under way.
#[derive(Clone, Debug)]
struct Job {
    index: usize,
    command: CpCommand,
    stage: Stage,
    failed: bool,
}

/// The firmware with its NAND behind it. A NAND program goes on after the acknowledgement, from the device's own
/// buffer, which its battery saves (§V-C).
#[derive(Debug)]
pub struct Firmware {
    spec: FirmwareSpec,
    ftl: Ftl<Array>,
    /// Oldest first.
    jobs: Vec<Job>,
    /// The phase of the last command in each place.
    phases: Vec<bool>,
    /// Pages moved to slots.
    pub cachefills: u64,
    /// Pages moved from slots.
    pub writebacks: u64,
}

impl Firmware {
    /// Idle; the first command in each place has its phase set.
    ///
    /// # Errors
    /// See [`FirmwareSpec::check`].
    pub fn new(spec: FirmwareSpec, ftl: Ftl<Array>) -> Result<Firmware, String> {
        spec.check()?;
        let (jobs, phases) = (Vec::with_capacity(spec.queue_depth), vec![false; spec.queue_depth]);
        Ok(Firmware { spec, ftl, jobs, phases, cachefills: 0, writebacks: 0 })
    }

    /// The NAND.
    pub fn ftl(&mut self) -> &mut Ftl<Array> {
        &mut self.ftl
    }

    /// The device owns the bus at `now`. One kind of work in each window, as published: pages, as many as it takes;
    /// where none is ready, every acknowledgement that is due; where none is, a look at the CP area.
    pub fn window(&mut self, now: Time, dram: &mut dyn Dram) -> Vec<Move> {
        let mut moves = self.move_pages(now, dram);
        if moves.is_empty() {
            moves = self.acknowledge(dram);
        }
        if moves.is_empty() {
            moves = self.poll(now, dram);
        }
        moves
    }

    fn move_pages(&mut self, now: Time, dram: &mut dyn Dram) -> Vec<Move> {
        let mut moves = Vec::new();
        for at in 0..self.jobs.len() {
            while moves.len() < self.spec.window_pages
                && let Some(done) = self.move_page(at, now, dram)
            {
                moves.push(done);
            }
        }
        moves
    }

    /// The page that a job moves next, if it can now.
    fn move_page(&mut self, at: usize, now: Time, dram: &mut dyn Dram) -> Option<Move> {
        let Job { command, stage, .. } = &mut self.jobs[at];
        let (command, first) = (*command, u64::from(command.slot) * PAGE_LINES);
        match stage {
            Stage::Drain => {
                let mut data = [0; PAGE_SIZE];
                dram.read(first, &mut data);
                let failed = self.ftl.write(command.page, &data).is_err();
                self.writebacks += 1;
                self.jobs[at].failed |= failed;
                // A failed writeback keeps its slot as it is.
                self.jobs[at].stage = match command.opcode {
                    Opcode::Exchange { next } if !failed => self.fetch(at, now, next),
                    _ => Stage::Acknowledge,
                };
                Some((first, PAGE_LINES, false))
            }
            Stage::Fill { data, from } if *from <= now => {
                dram.write(first, &data[..]);
                self.cachefills += 1;
                self.jobs[at].stage = Stage::Acknowledge;
                Some((first, PAGE_LINES, true))
            }
            _ => None,
        }
    }

    /// Reads a page from the NAND. An uncorrectable one is told to the host; its slot is filled with zeros.
    fn fetch(&mut self, at: usize, now: Time, page: u32) -> Stage {
        let mut data = Box::new([0; PAGE_SIZE]);
        self.jobs[at].failed |= self.ftl.read(page, &mut data[..]).is_err();
        Stage::Fill { data, from: now + self.spec.decode + self.spec.nand_read }
    }

    fn acknowledge(&mut self, dram: &mut dyn Dram) -> Vec<Move> {
        let mut moves = Vec::new();
        for job in self.jobs.extract_if(.., |job| matches!(job.stage, Stage::Acknowledge)) {
            let mut line = [0; 64];
            let word = u64::from(job.command.phase) << 63 | u64::from(job.failed) << 1 | 1;
            line[..8].copy_from_slice(&word.to_le_bytes());
            dram.write(cp_line(job.index) + 1, &line);
            moves.push((cp_line(job.index) + 1, 1, true));
        }
        moves
    }

    /// Takes every command that is new. The NAND is asked for what it needs at once.
    fn poll(&mut self, now: Time, dram: &mut dyn Dram) -> Vec<Move> {
        for index in 0..self.spec.queue_depth {
            let mut line = [0; 64];
            dram.read(cp_line(index), &mut line);
            let word = |at: usize| u64::from_le_bytes(line[at..at + 8].try_into().expect("eight bytes"));
            let new = |c: &CpCommand| c.phase != self.phases[index];
            let Some(command) = CpCommand::from_words([word(0), word(8)]).filter(new) else { continue };
            self.phases[index] = command.phase;
            self.jobs.push(Job { index, command, stage: Stage::Drain, failed: false });
            if command.opcode == Opcode::Cachefill {
                let at = self.jobs.len() - 1;
                self.jobs[at].stage = self.fetch(at, now, command.page);
            }
        }
        vec![(0, 2 * self.spec.queue_depth as u64 - 1, false)]
    }

    /// The power has failed: what the metadata calls valid goes to the NAND, windows or not, until the energy for
    /// `pages` pages is used up (§V-C). `slots` slots begin with page `first_slot` of the DRAM. The slot of an exchange
    /// that has been drained is left out: its old page is on the NAND already, and so is its new one.
    pub fn dump(&mut self, dram: &mut dyn Dram, first_slot: u32, slots: u32, pages: u64) -> Dump {
        let mut dump = Dump::default();
        for index in 0..slots {
            let at = u64::from(index) * 8;
            let mut line = [0; 64];
            dram.read(PAGE_LINES + at / 64, &mut line);
            let place = (at % 64) as usize;
            let word = u64::from_le_bytes(line[place..place + 8].try_into().expect("eight bytes"));
            if word >> 63 == 0 || self.was_drained(first_slot + index) {
                continue;
            }
            let (page, mut data) = (word as u32, [0; PAGE_SIZE]);
            dram.read(u64::from(first_slot + index) * PAGE_LINES, &mut data);
            if dump.saved < pages && self.ftl.write(page, &data).is_ok() {
                dump.saved += 1;
            } else {
                dump.lost.push(page);
            }
        }
        dump
    }

    fn was_drained(&self, slot: u32) -> bool {
        let exchange =
            |j: &&Job| j.command.slot == slot && matches!(j.command.opcode, Opcode::Exchange { .. });
        self.jobs.iter().filter(exchange).any(|j| !j.failed && !matches!(j.stage, Stage::Drain))
    }
}
