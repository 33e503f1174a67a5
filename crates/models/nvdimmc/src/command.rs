//! What host and device tell each other in the CP area (§IV-C).

/// What the host wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

    /// The answer to this command, if `word` of the CP area is one, and not that to the command before.
    pub fn answer(self, word: u64) -> Option<Acknowledgement> {
        Acknowledgement::from_word(word).filter(|a| a.phase == self.phase)
    }
}

/// The device's answer, a word: phase (bit 63), whether an exchange's page was written back (2), failure (1), and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// That of the command.
    pub phase: bool,
    /// It could not be done.
    pub failed: bool,
    /// What was in the slot is on the NAND.
    pub written_back: bool,
}

impl Acknowledgement {
    /// As a word of the CP area.
    pub fn to_word(self) -> u64 {
        u64::from(self.phase) << 63 | u64::from(self.written_back) << 2 | u64::from(self.failed) << 1 | 1
    }

    /// From a word of the CP area; none before the first.
    pub fn from_word(word: u64) -> Option<Acknowledgement> {
        let bit = |at: u32| word >> at & 1 == 1;
        bit(0).then(|| Acknowledgement { phase: bit(63), failed: bit(1), written_back: bit(2) })
    }
}

/// Line of the CP area that holds command `place`; its acknowledgement is in the next.
pub const fn cp_line(place: usize) -> u64 {
    2 * place as u64
}
