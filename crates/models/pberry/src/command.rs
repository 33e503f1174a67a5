//! Where things lie in the agent's memory, and the words that the daemon and the agent exchange there.

use protocol::{Line, PAGE_BYTES, PM_BASE};

/// The agent's addresses: every page of remote memory at its own, though few are local; then the page table, then the
/// mailbox.
///
/// An agent's entries of the page table are a line apart. That stands for two things: a page walk names the entry that it wants (as
/// with translation-triggered prefetching, the paper's reference 13), and the agent takes its line back when the page goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Pages of remote memory.
    pub pages: u32,
    /// Bytes of an entry of the page table: 8, or 64 where the agent listens to page walks.
    pub entry_bytes: u64,
}

/// What a line of the agent's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Data { page: u32, index: u32 },
    Entry { page: u32 },
    Mailbox,
    Status,
}

impl Layout {
    fn table(self) -> u64 {
        PM_BASE + u64::from(self.pages) * PAGE_BYTES
    }

    /// The address of a page's entry of the page table.
    pub fn entry(self, page: u32) -> u64 {
        self.table() + u64::from(page) * self.entry_bytes
    }

    /// Where commands are stored.
    pub fn mailbox(self) -> u64 {
        self.entry(self.pages).next_multiple_of(64)
    }

    /// Where the agent says how many commands it has carried out.
    pub fn status(self) -> u64 {
        self.mailbox() + 64
    }

    pub(crate) fn place(self, line: Line) -> Place {
        let address = line.address();
        if address < self.table() {
            let offset = address - PM_BASE;
            return Place::Data {
                page: (offset / PAGE_BYTES) as u32,
                index: (offset % PAGE_BYTES / 64) as u32,
            };
        }
        match address {
            a if a == self.mailbox() => Place::Mailbox,
            a if a >= self.status() => Place::Status,
            a => Place::Entry { page: ((a - self.table()) / self.entry_bytes) as u32 },
        }
    }
}

/// An entry of the page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pte {
    /// An access takes a page fault.
    Absent,
    /// The page may be read; a write takes a fault.
    Protected,
    /// The page may be read and written.
    Writable,
}

impl Pte {
    /// As a word. Zero is what a table holds before anybody has written to it: `initial`.
    pub fn to_word(self, initial: Pte) -> u64 {
        if self == initial { 0 } else { 1 + self as u64 }
    }

    /// The entry of a word.
    pub fn from_word(word: u64, initial: Pte) -> Pte {
        match word {
            0 => initial,
            1 => Pte::Absent,
            2 => Pte::Protected,
            _ => Pte::Writable,
        }
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
    /// Make the page local; carried out when all of it is here.
    Fetch { page: u32 },
    /// Write the page back; carried out when the remote host has it, and the page's frame is free.
    Reclaim { page: u32, what: What },
}

impl Command {
    /// As the word that is stored into the mailbox; never 0.
    pub fn to_word(self) -> u64 {
        let (code, page) = match self {
            Command::Fetch { page } => (1, page),
            Command::Reclaim { page, what: What::Nothing } => (2, page),
            Command::Reclaim { page, what: What::Page } => (3, page),
            Command::Reclaim { page, what: What::Tracked } => (4, page),
        };
        code | u64::from(page) << 8
    }

    /// The command of a word; none where it is no command.
    pub fn from_word(word: u64) -> Option<Command> {
        let page = u32::try_from(word >> 8).ok()?;
        match word & 0xFF {
            1 => Some(Command::Fetch { page }),
            2 => Some(Command::Reclaim { page, what: What::Nothing }),
            3 => Some(Command::Reclaim { page, what: What::Page }),
            4 => Some(Command::Reclaim { page, what: What::Tracked }),
            _ => None,
        }
    }
}
