//! Page tables and places in the page lists: what is known of each virtual page. 8 bytes a page, in chunks of 128 MiB that
//! exist only while their area is mapped, so that 512 GiB take 1.1 GB at most, beside the lists themselves.

use std::hint::black_box;
use units::Time;

/// Pages of a chunk: a section of 128 MiB.
pub(crate) const CHUNK: usize = 1 << 15;
/// The page is in memory.
pub(crate) const PRESENT: u32 = 1 << 31;
/// It was visited since somebody looked.
pub(crate) const ACCESSED: u32 = 1 << 30;
/// Its next visit faults: it is in the swap cache and in no page table, or somebody wants to learn of it (NUMA hint).
pub(crate) const HINT: u32 = 1 << 29;
/// Frame, or swap slot plus one where the page is not present.
pub(crate) const PLACE: u32 = (1 << 29) - 1;

/// Page numbers stay below.
const PAGES: usize = (1 << 29) - 1;

/// A virtual page among all: chunk, and page in it.
pub type PageNumber = u32;

#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) entries: Box<[u32]>,
    /// Where on its list each page is.
    spots: Box<[u32]>,
    /// The process that mapped it.
    pub(crate) owner: u32,
    /// Of a device file: its pages are never reclaimed, nor given back.
    pub(crate) device: bool,
    /// When hints were set in it.
    pub(crate) hinted: Time,
}

/// All chunks.
#[derive(Debug, Default)]
pub(crate) struct Table {
    chunks: Vec<Chunk>,
    free: Vec<u32>,
}

impl Table {
    /// A chunk for `owner`, its pages untouched; none when 2^29 pages are mapped.
    pub(crate) fn add(&mut self, owner: u32, device: bool) -> Option<u32> {
        let chunk = || Chunk {
            entries: vec![0; CHUNK].into(),
            spots: vec![0; CHUNK].into(),
            owner,
            device,
            hinted: Time::ZERO,
        };
        if let Some(index) = self.free.pop() {
            self.chunks[index as usize] = chunk();
            return Some(index);
        }
        if self.chunks.len() >= PAGES / CHUNK {
            return None;
        }
        self.chunks.push(chunk());
        Some(self.chunks.len() as u32 - 1)
    }

    /// Gives a chunk back; nothing of it is on a list.
    pub(crate) fn remove(&mut self, index: u32) {
        let chunk = &mut self.chunks[index as usize];
        (chunk.entries, chunk.spots) = (Box::default(), Box::default());
        self.free.push(index);
    }

    #[inline]
    pub(crate) fn chunk(&self, index: u32) -> &Chunk {
        &self.chunks[index as usize]
    }

    #[inline]
    pub(crate) fn chunk_mut(&mut self, index: u32) -> &mut Chunk {
        &mut self.chunks[index as usize]
    }

    /// Chunks that exist.
    pub(crate) fn indices(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.chunks.len() as u32).filter(|i| !self.chunk(*i).entries.is_empty())
    }

    #[inline]
    pub(crate) fn entry(&self, page: PageNumber) -> u32 {
        self.chunks[page as usize / CHUNK].entries[page as usize % CHUNK]
    }

    #[inline]
    pub(crate) fn entry_mut(&mut self, page: PageNumber) -> &mut u32 {
        &mut self.chunks[page as usize / CHUNK].entries[page as usize % CHUNK]
    }

    pub(crate) fn owner(&self, page: PageNumber) -> u32 {
        self.chunks[page as usize / CHUNK].owner
    }

    /// Where on its list a page is.
    #[inline]
    pub(super) fn spot(&self, page: PageNumber) -> u32 {
        self.chunks[page as usize / CHUNK].spots[page as usize % CHUNK]
    }

    #[inline]
    pub(super) fn set_spot(&mut self, page: PageNumber, spot: u32) {
        self.chunks[page as usize / CHUNK].spots[page as usize % CHUNK] = spot;
    }

    /// Looks at pages that are about to change, all together, so that the host's misses overlap. Changes nothing.
    pub(crate) fn look_at(&self, pages: impl Iterator<Item = PageNumber>) {
        black_box(pages.fold(0, |all, page| all ^ self.entry(page) ^ self.spot(page)));
    }
}
