//! What travels between the agent and the remote host, and the remote host itself.

use crate::by_page::ByPage;
use protocol::{Block, Line, PM_BASE, SharedPage};
use units::bits;

/// Lines of a page.
pub(crate) const PAGE_LINES: u64 = 64;

/// Bytes of a packet besides its lines: RoCE headers, the request's number, the page and the bitmap of lines.
const HEADER: u64 = 64;

/// The line `index` of page `page`, in a memory whose first page is page 0.
pub(crate) fn line_at(page: u32, index: u32) -> Line {
    Line(PM_BASE / 64 + u64::from(page) * PAGE_LINES + u64::from(index))
}

/// The bytes of a whole page; none where it was never written.
pub type WholePage = Option<SharedPage>;

/// Lines of a page in a packet, in order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lines {
    /// Some of them.
    Some(Vec<Block>),
    /// All of them, which both ends share until one of them writes: nothing is copied.
    All(WholePage),
}

impl Lines {
    /// None yet.
    pub const NONE: Lines = Lines::Some(Vec::new());

    /// Those lines of a page that `lines` has, as `memory` has them.
    pub(crate) fn read(memory: &dyn Bytes, page: u32, lines: u64) -> Lines {
        if lines == u64::MAX
            && let Some(whole) = memory.page(line_at(page, 0))
        {
            return Lines::All(whole);
        }
        Lines::Some(bits(lines).map(|index| memory.read(line_at(page, index))).collect())
    }

    /// Writes those of them that `wanted` has, being the lines that `lines` has.
    pub(crate) fn write(&self, memory: &mut dyn Bytes, page: u32, lines: u64, wanted: u64) {
        match self {
            Lines::Some(blocks) => {
                for (index, block) in bits(lines).zip(blocks).filter(|(index, _)| wanted >> index & 1 == 1) {
                    memory.write(line_at(page, index), block);
                }
            }
            Lines::All(whole) if wanted == u64::MAX && memory.put_page(line_at(page, 0), whole) => {}
            Lines::All(whole) => {
                for index in bits(wanted & lines) {
                    let at = 64 * index as usize;
                    let block = whole.as_ref().map_or([0; 64], |p| *p[at..].first_chunk().expect("a line"));
                    memory.write(line_at(page, index), &block);
                }
            }
        }
    }

    fn len(&self) -> u64 {
        match self {
            Lines::Some(blocks) => blocks.len() as u64,
            Lines::All(_) => PAGE_LINES,
        }
    }
}

/// A packet. A request's number is never used again; an answer names its request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Packet {
    /// Read these lines of a page.
    Fetch { number: u64, page: u32, lines: u64 },
    /// The answer: the lines' bytes, in order.
    Data { number: u64, page: u32, lines: u64, data: Lines },
    /// Write these lines of a page.
    Store { number: u64, page: u32, lines: u64, data: Lines },
    /// The answer: they are kept.
    Stored { number: u64 },
}

impl Packet {
    /// Bytes on the network.
    pub fn bytes(&self) -> u64 {
        match self {
            Packet::Fetch { .. } | Packet::Stored { .. } => HEADER,
            Packet::Data { data, .. } | Packet::Store { data, .. } => HEADER + 64 * data.len(),
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
    /// The whole page of which this is the first line, to be shared; none where that cannot be.
    fn page(&self, _first: Line) -> Option<WholePage> {
        None
    }
    /// Replaces it; false where that cannot be.
    fn put_page(&mut self, _first: Line, _page: &WholePage) -> bool {
        false
    }
}

/// The host whose memory it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RemoteHost {
    /// The newest write of each page that was written.
    newest: ByPage<u64>,
    /// A mistake: writes that a later one has overtaken are taken.
    takes_old: bool,
}

impl RemoteHost {
    /// A host that keeps writes in order; with the mistake `takes_old`, in the order in which they arrive.
    pub fn new(takes_old: bool) -> RemoteHost {
        RemoteHost { newest: ByPage::default(), takes_old }
    }

    /// Carries out a request on the host's `memory`, and gives the answer. A write that comes twice is acknowledged twice and
    /// done once: in between a newer one may have come.
    pub fn serve(&mut self, packet: &Packet, memory: &mut dyn Bytes) -> Option<Packet> {
        match packet {
            Packet::Fetch { number, page, lines } => {
                let data = Lines::read(memory, *page, *lines);
                Some(Packet::Data { number: *number, page: *page, lines: *lines, data })
            }
            Packet::Store { number, page, lines, data } => {
                let newest = self.newest.get_or_default(*page);
                if *number > *newest || self.takes_old {
                    *newest = *number;
                    data.write(memory, *page, *lines, *lines);
                }
                Some(Packet::Stored { number: *number })
            }
            Packet::Data { .. } | Packet::Stored { .. } => None,
        }
    }
}
