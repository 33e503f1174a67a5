//! What travels between the agent and the remote host, and the remote host itself.

use protocol::{Block, Line, PM_BASE};
use std::collections::BTreeMap;
use units::bits;

/// Lines of a page.
pub(crate) const PAGE_LINES: u64 = 64;

/// Bytes of a packet besides its lines: RoCE headers, the request's number, the page and the bitmap of lines.
const HEADER: u64 = 64;

/// The line `index` of page `page`, in a memory whose first page is page 0.
pub(crate) fn line_at(page: u32, index: u32) -> Line {
    Line(PM_BASE / 64 + u64::from(page) * PAGE_LINES + u64::from(index))
}

/// A packet. A request's number is never used again; an answer names its request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Packet {
    /// Read these lines of a page.
    Fetch { number: u64, page: u32, lines: u64 },
    /// The answer: the lines' bytes, in order.
    Data { number: u64, page: u32, lines: u64, data: Vec<Block> },
    /// Write these lines of a page.
    Store { number: u64, page: u32, lines: u64, data: Vec<Block> },
    /// The answer: they are kept.
    Stored { number: u64 },
}

impl Packet {
    /// Bytes on the network.
    pub fn bytes(&self) -> u64 {
        match self {
            Packet::Fetch { .. } | Packet::Stored { .. } => HEADER,
            Packet::Data { data, .. } | Packet::Store { data, .. } => HEADER + 64 * data.len() as u64,
        }
    }

    /// The number of the request, or of the request that it answers.
    pub fn number(&self) -> u64 {
        match self {
            Packet::Fetch { number, .. }
            | Packet::Data { number, .. }
            | Packet::Store { number, .. }
            | Packet::Stored { number } => *number,
        }
    }
}

/// Memory as the state machines see it.
pub trait Bytes {
    /// A line.
    fn read(&self, line: Line) -> Block;
    /// Writes a whole line.
    fn write(&mut self, line: Line, data: &Block);
}

/// The host whose memory it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteHost {
    /// The newest write of each page that was written.
    newest: BTreeMap<u32, u64>,
    /// A mistake: writes that a later one has overtaken are taken.
    takes_old: bool,
}

impl RemoteHost {
    /// A host that keeps writes in order; with the mistake `takes_old`, in the order in which they arrive.
    pub fn new(takes_old: bool) -> RemoteHost {
        RemoteHost { newest: BTreeMap::new(), takes_old }
    }

    /// Carries out a request on the host's `memory`, and gives the answer. A write that came twice is acknowledged twice and
    /// done once: in between a newer one may have come.
    pub fn serve(&mut self, packet: &Packet, memory: &mut dyn Bytes) -> Option<Packet> {
        match packet {
            Packet::Fetch { number, page, lines } => {
                let data = bits(*lines).map(|l| memory.read(line_at(*page, l))).collect();
                Some(Packet::Data { number: *number, page: *page, lines: *lines, data })
            }
            Packet::Store { number, page, lines, data } => {
                let newest = self.newest.entry(*page).or_insert(0);
                if *number > *newest || self.takes_old {
                    *newest = *number;
                    bits(*lines).zip(data).for_each(|(l, block)| memory.write(line_at(*page, l), block));
                }
                Some(Packet::Stored { number: *number })
            }
            Packet::Data { .. } | Packet::Stored { .. } => None,
        }
    }
}
