//! The device's firmware: it looks at the CP area once a window and carries out one command at a time.

use memory::nand::{Array, Ftl, FtlError};
use units::{Dur, Time};

/// Bytes of a page, of a slot, and of what a window moves.
pub const PAGE_SIZE: usize = 4096;
/// Lines of a page.
pub const PAGE_LINES: u64 = 64;
/// Line of the CP area that holds the command; the acknowledgement is in the next.
pub const CP_LINE: u64 = 0;

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
}

/// A command of 64 bits: phase (1 bit), opcode (3), slot (28), NAND page (32). The paper names the fields (§IV-C), not
/// their widths.
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

    /// As a word of the CP area.
    pub fn to_word(self) -> u64 {
        let opcode = if self.opcode == Opcode::Cachefill { 1 } else { 2 };
        u64::from(self.phase) << 63 | opcode << 60 | u64::from(self.slot) << 32 | u64::from(self.page)
    }

    /// From a word of the CP area; none when it names no operation.
    pub fn from_word(word: u64) -> Option<CpCommand> {
        let opcode = match word >> 60 & 7 {
            1 => Opcode::Cachefill,
            2 => Opcode::Writeback,
            _ => return None,
        };
        let slot = (word >> 32) as u32 & ((1 << Self::SLOT_BITS) - 1);
        Some(CpCommand { phase: word >> 63 == 1, opcode, slot, page: word as u32 })
    }
}

/// Times of the device.
#[derive(Clone, Copy, Debug)]
pub struct FirmwareSpec {
    /// From seeing a command to asking the NAND: decoding and translation.
    pub decode: Dur,
    /// NAND array to page register (tR) and on to the device.
    pub nand_read: Dur,
}

/// What a dump saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// Pages that are on the NAND now.
    pub saved: u64,
    /// Valid pages for which the battery did not last: the NAND has what it had.
    pub lost: Vec<u32>,
}

/// What is under way.
#[derive(Clone, Debug)]
enum State {
    Idle,
    /// Data for a slot, there from a time on.
    Fill {
        command: CpCommand,
        data: Box<[u8; PAGE_SIZE]>,
        from: Time,
        failed: bool,
    },
    /// A slot is to be read.
    Drain {
        command: CpCommand,
    },
    /// The command is done; its acknowledgement is to be written.
    Acknowledge {
        command: CpCommand,
        failed: bool,
    },
}

/// The firmware with its NAND behind it. A NAND program goes on after the acknowledgement, from the device's own
/// buffer, which its battery saves (§V-C).
#[derive(Debug)]
pub struct Firmware {
    spec: FirmwareSpec,
    ftl: Ftl<Array>,
    state: State,
    phase: bool,
    /// Commands carried out.
    pub cachefills: u64,
    /// Commands carried out.
    pub writebacks: u64,
}

impl Firmware {
    /// Idle; the first command has its phase set.
    pub fn new(spec: FirmwareSpec, ftl: Ftl<Array>) -> Firmware {
        Firmware { spec, ftl, state: State::Idle, phase: false, cachefills: 0, writebacks: 0 }
    }

    /// The NAND.
    pub fn ftl(&mut self) -> &mut Ftl<Array> {
        &mut self.ftl
    }

    /// The device owns the bus at `now`: one step of one command, at most a page. Gives the lines that it moved, as
    /// first, number, and whether it wrote.
    pub fn window(&mut self, now: Time, dram: &mut dyn Dram) -> (u64, u64, bool) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => self.poll(now, dram),
            State::Fill { command, data, from, failed } if from <= now => {
                let first = u64::from(command.slot) * PAGE_LINES;
                dram.write(first, &data[..]);
                self.cachefills += 1;
                self.state = State::Acknowledge { command, failed };
                (first, PAGE_LINES, true)
            }
            waits @ State::Fill { .. } => {
                self.state = waits;
                (0, 0, false)
            }
            State::Drain { command } => {
                let (first, mut data) = (u64::from(command.slot) * PAGE_LINES, [0; PAGE_SIZE]);
                dram.read(first, &mut data);
                let failed = self.ftl.write(command.page, &data).is_err();
                self.writebacks += 1;
                self.state = State::Acknowledge { command, failed };
                (first, PAGE_LINES, false)
            }
            State::Acknowledge { command, failed } => {
                let mut line = [0; 64];
                let word = u64::from(command.phase) << 63 | u64::from(failed) << 1 | 1;
                line[..8].copy_from_slice(&word.to_le_bytes());
                dram.write(CP_LINE + 1, &line);
                (CP_LINE + 1, 1, true)
            }
        }
    }

    /// The power has failed: what the metadata calls valid goes to the NAND, windows or not, until the energy for
    /// `pages` pages is used up (§V-C). `slots` slots begin with page `first_slot` of the DRAM.
    pub fn dump(&mut self, dram: &mut dyn Dram, first_slot: u32, slots: u32, pages: u64) -> Dump {
        let mut dump = Dump::default();
        for index in 0..slots {
            let at = u64::from(index) * 8;
            let mut line = [0; 64];
            dram.read(PAGE_LINES + at / 64, &mut line);
            let place = (at % 64) as usize;
            let word = u64::from_le_bytes(line[place..place + 8].try_into().expect("eight bytes"));
            if word >> 63 == 0 {
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

    fn poll(&mut self, now: Time, dram: &mut dyn Dram) -> (u64, u64, bool) {
        let mut line = [0; 64];
        dram.read(CP_LINE, &mut line);
        let word = u64::from_le_bytes(line[..8].try_into().expect("eight bytes"));
        if let Some(command) = CpCommand::from_word(word).filter(|c| c.phase != self.phase) {
            self.phase = command.phase;
            self.state = match command.opcode {
                Opcode::Writeback => State::Drain { command },
                Opcode::Cachefill => self.fill(now, command),
            };
        }
        (CP_LINE, 1, false)
    }

    /// An uncorrectable page is told to the host; its slot is filled with zeros.
    fn fill(&mut self, now: Time, command: CpCommand) -> State {
        let mut data = Box::new([0; PAGE_SIZE]);
        let read: Result<(), FtlError> = self.ftl.read(command.page, &mut data[..]);
        let from = now + self.spec.decode + self.spec.nand_read;
        State::Fill { command, data, from, failed: read.is_err() }
    }
}
