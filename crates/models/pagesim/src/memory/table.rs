//! Page tables and the links of the page lists: what is known of each virtual page. 12 bytes a page, in chunks of
//! 128 MiB that exist only while their area is mapped, so that 512 GiB take 1.6 GB at most.

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

/// No page.
pub(crate) const NONE: u32 = (1 << 29) - 1;
/// In a page's backward link: it is on the active list.
const ACTIVE: u32 = 1 << 31;

/// A virtual page among all: chunk, and page in it.
pub type PageNumber = u32;

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    next: u32,
    previous: u32,
}

#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) entries: Box<[u32]>,
    links: Box<[Link]>,
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
            links: vec![Link::default(); CHUNK].into(),
            owner,
            device,
            hinted: Time::ZERO,
        };
        if let Some(index) = self.free.pop() {
            self.chunks[index as usize] = chunk();
            return Some(index);
        }
        if self.chunks.len() >= (NONE as usize) / CHUNK {
            return None;
        }
        self.chunks.push(chunk());
        Some(self.chunks.len() as u32 - 1)
    }

    /// Gives a chunk back; nothing of it is on a list.
    pub(crate) fn remove(&mut self, index: u32) {
        let chunk = &mut self.chunks[index as usize];
        (chunk.entries, chunk.links) = (Box::default(), Box::default());
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

    #[inline]
    fn link(&mut self, page: PageNumber) -> &mut Link {
        &mut self.chunks[page as usize / CHUNK].links[page as usize % CHUNK]
    }

    pub(crate) fn is_active(&mut self, page: PageNumber) -> bool {
        self.link(page).previous & ACTIVE != 0
    }
}

/// A list of pages, newest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
    len: u64,
    mark: u32,
}

impl List {
    pub(crate) fn active() -> List {
        List { head: NONE, tail: NONE, len: 0, mark: ACTIVE }
    }

    pub(crate) fn inactive() -> List {
        List { mark: 0, ..List::active() }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn oldest(&self) -> Option<PageNumber> {
        (self.tail != NONE).then_some(self.tail)
    }

    /// Puts `page`, which is on no list, in front.
    pub(crate) fn push(&mut self, table: &mut Table, page: PageNumber) {
        *table.link(page) = Link { next: self.head, previous: NONE | self.mark };
        if self.head == NONE {
            self.tail = page;
        } else {
            table.link(self.head).previous = page | self.mark;
        }
        self.head = page;
        self.len += 1;
    }

    /// Takes `page` out, which is on this list.
    pub(crate) fn remove(&mut self, table: &mut Table, page: PageNumber) {
        let Link { next, previous } = *table.link(page);
        let previous = previous & !ACTIVE;
        if previous == NONE {
            self.head = next;
        } else {
            table.link(previous).next = next;
        }
        if next == NONE {
            self.tail = previous;
        } else {
            table.link(next).previous = previous | self.mark;
        }
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use units::Random;

    #[test]
    fn lists_are_lists() {
        let mut table = Table::default();
        table.add(0, false);
        let mut lists = [List::active(), List::inactive()];
        let mut wanted: [VecDeque<u32>; 2] = Default::default();
        let mut random = Random::new(3, 0);
        for _ in 0..20_000 {
            let (which, page) = (random.below(2) as usize, random.below(200) as u32);
            if let Some(at) = (0..2).find(|l| wanted[*l].contains(&page)) {
                assert_eq!(table.is_active(page), at == 0);
                lists[at].remove(&mut table, page);
                wanted[at].retain(|p| *p != page);
            } else {
                lists[which].push(&mut table, page);
                wanted[which].push_front(page);
            }
            for (list, wanted) in lists.iter().zip(&wanted) {
                assert_eq!((list.len() as usize, list.oldest()), (wanted.len(), wanted.back().copied()));
            }
        }
    }
}
