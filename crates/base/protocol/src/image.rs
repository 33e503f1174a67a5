//! Bytes of memory, in pages that snapshots share.

use crate::{Line, PAGE_BYTES};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The 64 bytes of a line.
pub type Block = [u8; 64];

/// Which bytes of a block are meant: bit `i` is byte `i`.
pub type Mask = u64;

/// The mask of `size` bytes from `offset` on; both within a line.
#[inline]
pub fn mask_of(offset: usize, size: usize) -> Mask {
    debug_assert!(size > 0 && offset + size <= 64);
    (u64::MAX >> (64 - size)) << offset
}

/// Copies the masked bytes of `from` over `to`. Cost: one pass over eight words.
#[inline]
pub(crate) fn merge(to: &mut Block, from: &Block, mask: Mask) {
    if mask == Mask::MAX {
        *to = *from;
        return;
    }
    let mut left = mask;
    while left != 0 {
        let byte = left.trailing_zeros() as usize;
        to[byte] = from[byte];
        left &= left - 1;
    }
}

type PageBytes = [u8; PAGE_BYTES as usize];

/// A page that several memories share until one of them writes it.
pub type SharedPage = Arc<PageBytes>;

/// Pages of a chunk.
const CHUNK: usize = 512;

/// Chunks that an index finds: the first 64 GiB. Those further away are few, or memory is sparse.
const NEAR: usize = 1 << 15;

type Chunk = [Option<Arc<PageBytes>>; CHUNK];

/// A range of memory with its bytes; untouched pages are zero and cost nothing. A clone shares every page
/// until one of the two writes it, so a crash point costs what changed, not the footprint.
#[derive(Clone, Default)]
pub struct Image {
    base: u64,
    near: Vec<Option<Arc<Chunk>>>,
    far: BTreeMap<usize, Arc<Chunk>>,
    /// One more than the last page that was touched.
    pages: usize,
}

impl Image {
    /// An empty image whose first byte is at `base`, a multiple of the page size.
    pub fn new(base: u64) -> Image {
        debug_assert_eq!(base % PAGE_BYTES, 0);
        Image { base, ..Image::default() }
    }

    /// The address of the first byte.
    pub fn base(&self) -> u64 {
        self.base
    }

    #[inline]
    fn place(&self, line: Line) -> (usize, usize) {
        let offset = line.address() - self.base;
        ((offset / PAGE_BYTES) as usize, (offset % PAGE_BYTES) as usize)
    }

    #[inline]
    fn get(&self, page: usize) -> Option<&Arc<PageBytes>> {
        let chunk = match self.near.get(page / CHUNK) {
            Some(chunk) => chunk.as_ref(),
            None => self.far.get(&(page / CHUNK)),
        };
        chunk?[page % CHUNK].as_ref()
    }

    fn slot(&mut self, page: usize) -> &mut Option<Arc<PageBytes>> {
        const EMPTY: Option<Arc<PageBytes>> = None;
        let (index, fresh) = (page / CHUNK, || Arc::new([EMPTY; CHUNK]));
        self.pages = self.pages.max(page + 1);
        let chunk = if index < NEAR {
            if index >= self.near.len() {
                self.near.resize(index + 1, None);
            }
            self.near[index].get_or_insert_with(fresh)
        } else {
            self.far.entry(index).or_insert_with(fresh)
        };
        &mut Arc::make_mut(chunk)[page % CHUNK]
    }

    /// The pages that were touched, with their addresses, in order.
    pub fn touched(&self) -> impl Iterator<Item = (u64, &[u8; PAGE_BYTES as usize])> {
        let near = self.near.iter().enumerate().filter_map(|(i, c)| Some((i, c.as_ref()?)));
        let chunks = near.chain(self.far.iter().map(|(i, c)| (*i, c)));
        chunks.flat_map(move |(i, chunk)| {
            let pages = chunk.iter().enumerate().filter_map(|(k, page)| Some((k, page.as_ref()?)));
            pages.map(move |(k, page)| (self.base + (i * CHUNK + k) as u64 * PAGE_BYTES, &**page))
        })
    }

    /// The block of a line.
    pub fn read(&self, line: Line) -> Block {
        let (page, at) = self.place(line);
        match self.get(page) {
            Some(bytes) => bytes[at..at + 64].try_into().expect("a page holds whole lines"),
            None => [0; 64],
        }
    }

    /// Writes the masked bytes of a line.
    pub fn write(&mut self, line: Line, block: &Block, mask: Mask) {
        let (page, at) = self.place(line);
        let bytes = self.slot(page).get_or_insert_with(|| Arc::new([0; PAGE_BYTES as usize]));
        let bytes = &mut Arc::make_mut(bytes)[at..at + 64];
        merge(bytes.try_into().expect("a page holds whole lines"), block, mask);
    }

    /// The page at `address`, to be shared; none where it was never touched.
    pub fn page(&self, address: u64) -> Option<SharedPage> {
        self.get(((address - self.base) / PAGE_BYTES) as usize).cloned()
    }

    /// Replaces the page at `address`; none makes it zero. Costs no copy.
    pub fn put_page(&mut self, address: u64, page: Option<SharedPage>) {
        let index = ((address - self.base) / PAGE_BYTES) as usize;
        *self.slot(index) = page;
    }

    /// Puts every touched page of `other` into this image: used to put the parts of an interleaved memory
    /// together, `owns` telling which lines are `other`'s.
    pub fn adopt(&mut self, other: &Image, owns: impl Fn(Line) -> bool) {
        debug_assert_eq!(self.base, other.base);
        for (address, page) in other.touched() {
            for (k, block) in page.as_chunks::<64>().0.iter().enumerate() {
                let line = Line(address / 64 + k as u64);
                if owns(line) {
                    self.write(line, block, Mask::MAX);
                }
            }
        }
    }

    /// Bytes from the base to the end of the last touched page.
    pub fn len(&self) -> u64 {
        self.pages as u64 * PAGE_BYTES
    }

    /// Whether no page was touched.
    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }

    /// `size` bytes from `address` on.
    pub fn bytes(&self, address: u64, size: usize) -> Vec<u8> {
        (address..address + size as u64).map(|a| self.read(crate::line_of(a))[crate::offset_of(a)]).collect()
    }

    /// A little-endian number of `size` bytes (1 to 8) at `address`, which does not cross a line.
    pub fn number(&self, address: u64, size: usize) -> u64 {
        let block = self.read(crate::line_of(address));
        let at = crate::offset_of(address);
        let mut word = [0; 8];
        word[..size].copy_from_slice(&block[at..at + size]);
        u64::from_le_bytes(word)
    }

    /// The whole image as raw bytes, as a DAX file would hold them.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = vec![0; self.len() as usize];
        for (address, page) in self.touched() {
            let at = (address - self.base) as usize;
            all[at..at + page.len()].copy_from_slice(page);
        }
        all
    }
}

/// Equal bytes, whether their pages were touched or not. Costs the touched pages.
impl PartialEq for Image {
    fn eq(&self, other: &Image) -> bool {
        let same = |from: &Image, to: &Image| {
            from.touched().all(|(address, page)| match to.get(((address - to.base) / PAGE_BYTES) as usize) {
                Some(other) => std::ptr::eq(page, &raw const **other) || page == &**other,
                None => page.iter().all(|b| *b == 0),
            })
        };
        self.base == other.base && same(self, other) && same(other, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PM_BASE, line_of};

    #[test]
    fn only_masked_bytes_change_and_clones_do_not_see_it() {
        let mut image = Image::new(PM_BASE);
        let line = line_of(PM_BASE + 4096);
        image.write(line, &[1; 64], Mask::MAX);
        let before = image.clone();
        image.write(line, &[2; 64], mask_of(4, 2));
        assert_eq!(image.bytes(PM_BASE + 4096 + 3, 4), [1, 2, 2, 1]);
        assert_eq!(before.read(line), [1; 64]);
        assert_eq!(image.read(line_of(PM_BASE)), [0; 64]);
        assert_eq!(image.number(PM_BASE + 4096 + 4, 2), 0x0202);
        assert!(image != before);
        image.write(line, &[1; 64], Mask::MAX);
        image.write(line_of(PM_BASE + 8192), &[0; 64], Mask::MAX);
        assert!(image == before, "a zero page is as good as none");
    }

    #[test]
    fn two_bytes_far_apart_cost_two_pages() {
        let mut image = Image::new(PM_BASE);
        for at in [0, 1 << 36, (1 << 44) + 4096, 1 << 60] {
            image.write(line_of(PM_BASE + at), &[7; 64], mask_of(0, 1));
        }
        let places: Vec<u64> =
            image.touched().map(|(a, page)| a - PM_BASE + u64::from(page[0]) - 7).collect();
        assert_eq!(places, [0, 1 << 36, (1 << 44) + 4096, 1 << 60]);
        assert_eq!(image.len(), (1 << 60) + PAGE_BYTES);
        let mut other = image.clone();
        assert!(other == image);
        other.write(line_of(PM_BASE + (1 << 60)), &[8; 64], mask_of(0, 1));
        assert!(other != image);
        assert_eq!(image.read(line_of(PM_BASE + (1 << 60)))[0], 7);
        assert_eq!(image.read(line_of(PM_BASE + (1 << 50))), [0; 64]);
    }
}
