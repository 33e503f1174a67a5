//! Page tables and places in the page lists: what is known of each virtual page. 8 bytes a page, in chunks of 128 MiB that
//! another area takes when theirs is no longer mapped, so that 512 GiB take 1.1 GB at most, beside the lists themselves.

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
    /// Somebody has mapped it.
    mapped: bool,
    /// The process that mapped it.
    pub(crate) owner: u32,
    /// Of a device file: its pages are never reclaimed, nor given back.
    pub(crate) device: bool,
    /// When hints were set in it.
    pub(crate) hinted: Time,
}

/// All chunks, one behind the other: a page's number is its place.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: Vec<u32>,
    /// Where on its list each page is.
    spots: Vec<u32>,
    chunks: Vec<Chunk>,
    free: Vec<u32>,
}

impl Table {
    /// A chunk for `owner`, its pages untouched; none when 2^29 pages are mapped.
    pub(crate) fn add(&mut self, owner: u32, device: bool) -> Option<u32> {
        let chunk = Chunk { mapped: true, owner, device, hinted: Time::ZERO };
        if let Some(index) = self.free.pop() {
            self.chunks[index as usize] = chunk;
            self.entries_mut(index).fill(0);
            return Some(index);
        }
        let pages = self.entries.len() + CHUNK;
        if pages > PAGES {
            return None;
        }
        self.entries.resize(pages, 0);
        self.spots.resize(pages, 0);
        self.chunks.push(chunk);
        Some(self.chunks.len() as u32 - 1)
    }

    /// Gives a chunk back; nothing of it is on a list.
    pub(crate) fn remove(&mut self, index: u32) {
        self.chunks[index as usize].mapped = false;
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
        (0..self.chunks.len() as u32).filter(|i| self.chunk(*i).mapped)
    }

    /// The pages of a chunk.
    #[inline]
    pub(crate) fn entries_mut(&mut self, index: u32) -> &mut [u32] {
        &mut self.entries[index as usize * CHUNK..][..CHUNK]
    }

    #[inline]
    pub(crate) fn entry(&self, page: PageNumber) -> u32 {
        self.entries[page as usize]
    }

    #[inline]
    pub(crate) fn entry_mut(&mut self, page: PageNumber) -> &mut u32 {
        &mut self.entries[page as usize]
    }

    pub(crate) fn owner(&self, page: PageNumber) -> u32 {
        self.chunks[page as usize / CHUNK].owner
    }

    /// Where on its list a page is.
    #[inline]
    pub(super) fn spot(&self, page: PageNumber) -> u32 {
        self.spots[page as usize]
    }

    #[inline]
    pub(super) fn set_spot(&mut self, page: PageNumber, spot: u32) {
        self.spots[page as usize] = spot;
    }

    /// Looks at pages that are about to change, all together, so that the host's misses overlap. Changes nothing.
    pub(crate) fn look_at(&self, pages: impl Iterator<Item = PageNumber>) {
        black_box(pages.fold(0, |all, page| all ^ self.entry(page) ^ self.spot(page)));
    }
}
