//! Where things lie in the agent's memory, and the words that the daemon and the agent exchange there.

use protocol::{Line, PAGE_BYTES, PM_BASE};

/// The agent's memory: frames, then the page table, then the mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Frames of one page.
    pub frames: u32,
    /// Pages of remote memory.
    pub pages: u32,
}

/// What a line of the agent's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Frame { frame: u32, index: u32 },
    Table,
    Mailbox,
    Status,
}

impl Layout {
    fn table(self) -> u64 {
        PM_BASE + u64::from(self.frames) * PAGE_BYTES
    }

    /// The address of a page's entry of the page table.
    pub fn entry(self, page: u32) -> u64 {
        self.table() + u64::from(page) * 8
    }

    /// Where commands are stored.
    pub fn mailbox(self) -> u64 {
        (self.table() + u64::from(self.pages) * 8).next_multiple_of(PAGE_BYTES)
    }

    /// Where the agent says how many commands it has carried out.
    pub fn status(self) -> u64 {
        self.mailbox() + 64
    }

    /// The first address of a frame.
    pub fn frame(self, frame: u32) -> u64 {
        PM_BASE + u64::from(frame) * PAGE_BYTES
    }

    pub(crate) fn place(self, line: Line) -> Place {
        let address = line.address();
        if address < self.table() {
            let offset = address - PM_BASE;
            return Place::Frame {
                frame: (offset / PAGE_BYTES) as u32,
                index: (offset % PAGE_BYTES / 64) as u32,
            };
        }
        match address {
            a if a == self.mailbox() => Place::Mailbox,
            a if a == self.status() => Place::Status,
            _ => Place::Table,
        }
    }
}

/// An entry of the page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pte {
    /// Where the page is.
    pub frame: u32,
    /// Whether it may be written without a fault.
    pub writable: bool,
}

impl Pte {
    /// As a word: bit 0 for present, bit 1 for writable, the frame from bit 12 on.
    pub fn to_word(entry: Option<Pte>) -> u64 {
        entry.map_or(0, |e| 1 | u64::from(e.writable) << 1 | u64::from(e.frame) << 12)
    }

    /// The entry of a word; none where the page is not present.
    pub fn from_word(word: u64) -> Option<Pte> {
        (word & 1 == 1).then_some(Pte { frame: (word >> 12) as u32, writable: word & 2 != 0 })
    }
}

/// What of a reclaimed page goes to the remote host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// Nothing: it is not changed.
    Nothing,
    /// The whole page.
    Page,
    /// What the agent has tracked.
    Tracked,
}

/// What the daemon wants of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// The frame is the page's from now on; fetch what is asked for.
    Map { frame: u32, page: u32 },
    /// The same, and fetch all of it; carried out when it is here.
    Fetch { frame: u32, page: u32 },
    /// Write the frame's page back; carried out when the remote host has it.
    Reclaim { frame: u32, what: What },
}

impl Command {
    /// As the word that is stored into the mailbox; never 0.
    pub fn to_word(self) -> u64 {
        let word = |code: u64, frame: u32, page: u32| code | u64::from(frame) << 8 | u64::from(page) << 36;
        match self {
            Command::Map { frame, page } => word(1, frame, page),
            Command::Fetch { frame, page } => word(2, frame, page),
            Command::Reclaim { frame, what: What::Nothing } => word(3, frame, 0),
            Command::Reclaim { frame, what: What::Page } => word(4, frame, 0),
            Command::Reclaim { frame, what: What::Tracked } => word(5, frame, 0),
        }
    }

    /// The command of a word; none where it is no command.
    pub fn from_word(word: u64) -> Option<Command> {
        let (frame, page) = ((word >> 8) as u32 & 0x0FFF_FFFF, (word >> 36) as u32);
        match word & 0xFF {
            1 => Some(Command::Map { frame, page }),
            2 => Some(Command::Fetch { frame, page }),
            3 => Some(Command::Reclaim { frame, what: What::Nothing }),
            4 => Some(Command::Reclaim { frame, what: What::Page }),
            5 => Some(Command::Reclaim { frame, what: What::Tracked }),
            _ => None,
        }
    }
}
