//! Bytes of memory, in pages that snapshots share.

use crate::{Line, PAGE_BYTES};
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

type Page = [u8; PAGE_BYTES as usize];

/// A range of memory with its bytes; untouched pages are zero and cost nothing. A clone shares every page
/// until one of the two writes it, so a crash point costs what changed, not the footprint.
#[derive(Clone, Default)]
pub struct Image {
    base: u64,
    pages: Vec<Option<Arc<Page>>>,
}

impl Image {
    /// An empty image whose first byte is at `base`, a multiple of the page size.
    pub fn new(base: u64) -> Image {
        debug_assert_eq!(base % PAGE_BYTES, 0);
        Image { base, pages: Vec::new() }
    }

    /// The address of the first byte.
    pub fn base(&self) -> u64 {
        self.base
    }

    fn place(&self, line: Line) -> (usize, usize) {
        let offset = line.address() - self.base;
        ((offset / PAGE_BYTES) as usize, (offset % PAGE_BYTES) as usize)
    }

    /// The block of a line.
    pub fn read(&self, line: Line) -> Block {
        let (page, at) = self.place(line);
        match self.pages.get(page) {
            Some(Some(bytes)) => bytes[at..at + 64].try_into().expect("a page holds whole lines"),
            _ => [0; 64],
        }
    }

    /// Writes the masked bytes of a line.
    pub fn write(&mut self, line: Line, block: &Block, mask: Mask) {
        let (page, at) = self.place(line);
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        let bytes = self.pages[page].get_or_insert_with(|| Arc::new([0; PAGE_BYTES as usize]));
        let bytes = &mut Arc::make_mut(bytes)[at..at + 64];
        merge(bytes.try_into().expect("a page holds whole lines"), block, mask);
    }

    /// The page at `address`, to be shared; none where it was never touched.
    pub fn page(&self, address: u64) -> Option<Arc<[u8; PAGE_BYTES as usize]>> {
        self.pages.get(((address - self.base) / PAGE_BYTES) as usize).cloned().flatten()
    }

    /// Replaces the page at `address`; none makes it zero. Costs no copy.
    pub fn put_page(&mut self, address: u64, page: Option<Arc<[u8; PAGE_BYTES as usize]>>) {
        let index = ((address - self.base) / PAGE_BYTES) as usize;
        if index >= self.pages.len() {
            self.pages.resize(index + 1, None);
        }
        self.pages[index] = page;
    }

    /// Puts every touched page of `other` into this image: used to put the parts of an interleaved memory
    /// together, `owns` telling which lines are `other`'s.
    pub fn adopt(&mut self, other: &Image, owns: impl Fn(Line) -> bool) {
        debug_assert_eq!(self.base, other.base);
        for (index, page) in other.pages.iter().enumerate().filter_map(|(i, p)| Some((i, p.as_ref()?))) {
            let first = (self.base + index as u64 * PAGE_BYTES) / 64;
            for (k, block) in page.as_chunks::<64>().0.iter().enumerate() {
                let line = Line(first + k as u64);
                if owns(line) {
                    self.write(line, block, Mask::MAX);
                }
            }
        }
    }

    /// Bytes from the base to the end of the last touched page.
    pub fn len(&self) -> u64 {
        self.pages.len() as u64 * PAGE_BYTES
    }

    /// Whether no page was touched.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
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
        for (page, bytes) in self.pages.iter().zip(all.chunks_exact_mut(PAGE_BYTES as usize)) {
            if let Some(page) = page {
                bytes.copy_from_slice(&page[..]);
            }
        }
        all
    }
}

/// Equal bytes, whether their pages were touched or not. Costs the touched pages.
impl PartialEq for Image {
    fn eq(&self, other: &Image) -> bool {
        let page = |image: &'_ Image, i: usize| image.pages.get(i).cloned().flatten();
        let is_zero = |p: &Page| p.iter().all(|b| *b == 0);
        let same = |i: usize| match (page(self, i), page(other, i)) {
            (Some(a), Some(b)) => Arc::ptr_eq(&a, &b) || a == b,
            (Some(one), None) | (None, Some(one)) => is_zero(&one),
            (None, None) => true,
        };
        self.base == other.base && (0..self.pages.len().max(other.pages.len())).all(same)
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
}
