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

/// The word of eight bytes that begins with one of some bytes.
///
/// # Panics
/// When it goes beyond them.
#[inline]
pub fn word_of(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a word has eight bytes"))
}

/// A byte of ones for each bit.
#[inline]
pub fn whole_bytes(bits: u8) -> u64 {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    // Bit `i` alone is left in byte `i`; adding carries it to that byte's highest bit and no further.
    let apart = (u64::from(bits) * 0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    (((apart + LOW) & !LOW) >> 7) * 0xFF
}

/// Copies the masked bytes of `from` over `to`. Cost: a few instructions for each word that has any.
#[inline]
pub fn merge(to: &mut Block, from: &Block, mask: Mask) {
    if mask == Mask::MAX {
        *to = *from;
        return;
    }
    let (to, from) = (to.as_chunks_mut::<8>().0, from.as_chunks::<8>().0);
    let mut left = mask;
    while left != 0 {
        let word = left.trailing_zeros() as usize / 8;
        let wanted = whole_bytes((mask >> (8 * word)) as u8);
        let (old, new) = (u64::from_le_bytes(to[word]), u64::from_le_bytes(from[word]));
        to[word] = (old & !wanted | new & wanted).to_le_bytes();
        left &= !(0xFF << (8 * word));
    }
}

/// Whether each of the masked bytes is zero.
fn has_only_zeros(block: &Block, mask: Mask) -> bool {
    block.iter().enumerate().all(|(at, byte)| *byte == 0 || mask >> at & 1 == 0)
}

type PageBytes = [u8; PAGE_BYTES as usize];

/// A page that several memories share until one of them writes it.
pub type SharedPage = Arc<PageBytes>;

/// Pages of a chunk.
const CHUNK: usize = 512;

/// Chunks that an index finds: the first 64 GiB. Those further away are few, or memory is sparse.
const NEAR: usize = 1 << 15;

type Chunk = [Option<Arc<PageBytes>>; CHUNK];

/// The part of a range that an image holds where several take turns: `bytes` consecutive bytes of every `of` times as
/// many, the `nth` of them. What the others hold takes no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Consecutive bytes: a power of two, from a line to a page.
    pub bytes: u64,
    /// How many take turns.
    pub of: u64,
    /// Which this is, from 0.
    pub nth: u64,
}

impl Turns {
    /// Where an offset of the range is in what is held.
    #[inline]
    fn held(self, offset: u64) -> u64 {
        let block = offset / self.bytes;
        debug_assert_eq!(block % self.of, self.nth, "another's turn");
        block / self.of * self.bytes + offset % self.bytes
    }

    /// The offset in the range of a place in what is held.
    fn offset(self, held: u64) -> u64 {
        (held / self.bytes * self.of + self.nth) * self.bytes + held % self.bytes
    }
}

/// A range of memory with its bytes; untouched pages are zero and cost nothing. A clone shares every page
/// until one of the two writes it, so a crash point costs what changed, not the footprint.
#[derive(Clone, Default)]
pub struct Image {
    base: u64,
    turns: Option<Turns>,
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

    /// An empty image that holds a part of the range from `base` on.
    pub fn in_turns(base: u64, turns: Turns) -> Image {
        Image { turns: (turns.of > 1).then_some(turns), ..Image::new(base) }
    }

    /// Forgets every byte.
    pub fn clear(&mut self) {
        *self = Image { base: self.base, turns: self.turns, ..Image::default() };
    }

    /// The address of the first byte.
    pub fn base(&self) -> u64 {
        self.base
    }

    #[inline]
    fn place(&self, line: Line) -> (usize, usize) {
        let offset = line.address() - self.base;
        let offset = self.turns.map_or(offset, |turns| turns.held(offset));
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

    fn chunks(&self) -> impl Iterator<Item = (usize, &Arc<Chunk>)> {
        let near = self.near.iter().enumerate().filter_map(|(i, c)| Some((i, c.as_ref()?)));
        near.chain(self.far.iter().map(|(i, c)| (*i, c)))
    }

    fn chunk(&self, index: usize) -> Option<&Arc<Chunk>> {
        self.near.get(index).map_or_else(|| self.far.get(&index), Option::as_ref)
    }

    /// The pages that are held, by their number in what is held, in order.
    fn held(&self) -> impl Iterator<Item = (usize, &Arc<PageBytes>)> {
        self.chunks().flat_map(|(i, chunk)| {
            let pages = chunk.iter().enumerate().filter_map(|(k, page)| Some((k, page.as_ref()?)));
            pages.map(move |(k, page)| (i * CHUNK + k, page))
        })
    }

    /// The pages that were touched, with their addresses, in order. Not of an image that holds a part of its range.
    pub fn touched(&self) -> impl Iterator<Item = (u64, &[u8; PAGE_BYTES as usize])> {
        debug_assert!(self.turns.is_none(), "its pages are no pages of the range");
        self.held().map(|(page, bytes)| (self.base + page as u64 * PAGE_BYTES, &**bytes))
    }

    /// Addresses of the pages of the range in which something may be, in order.
    pub fn pages(&self) -> impl Iterator<Item = u64> {
        let each = self.turns.map_or(1, |turns| turns.of);
        let numbers = self.held().flat_map(move |(page, _)| (0..each).map(move |k| page as u64 * each + k));
        numbers.map(|page| self.base + page * PAGE_BYTES)
    }

    /// The lines of the pages that are held.
    fn lines(&self) -> impl Iterator<Item = (Line, &Block)> {
        self.held().flat_map(move |(page, bytes)| {
            bytes.as_chunks::<64>().0.iter().enumerate().map(move |(k, block)| {
                let held = page as u64 * PAGE_BYTES + 64 * k as u64;
                let offset = self.turns.map_or(held, |turns| turns.offset(held));
                (crate::line_of(self.base + offset), block)
            })
        })
    }

    /// Bytes of pages that this image does not share with `other`. Costs little where most are shared.
    pub fn bytes_apart(&self, other: &Image) -> u64 {
        let mut apart = 0;
        for (i, chunk) in self.chunks() {
            let theirs = other.chunk(i);
            if theirs.is_some_and(|theirs| Arc::ptr_eq(chunk, theirs)) {
                continue;
            }
            let shared = |k: usize, page: &Arc<PageBytes>| {
                theirs.and_then(|t| t[k].as_ref()).is_some_and(|t| Arc::ptr_eq(page, t))
            };
            let pages = chunk.iter().enumerate().filter_map(|(k, page)| Some((k, page.as_ref()?)));
            apart += pages.filter(|(k, page)| !shared(*k, page)).count() as u64 * PAGE_BYTES;
        }
        apart
    }

    /// The block of a line.
    pub fn read(&self, line: Line) -> Block {
        let (page, at) = self.place(line);
        match self.get(page) {
            Some(bytes) => bytes[at..at + 64].try_into().expect("a page holds whole lines"),
            None => [0; 64],
        }
    }

    /// Writes the masked bytes of a line. Zeros do not make a page that is not there.
    pub fn write(&mut self, line: Line, block: &Block, mask: Mask) {
        let (page, at) = self.place(line);
        if self.get(page).is_none() && has_only_zeros(block, mask) {
            self.pages = self.pages.max(page + 1);
            return;
        }
        let bytes = self.slot(page).get_or_insert_with(|| Arc::new([0; PAGE_BYTES as usize]));
        let bytes = &mut Arc::make_mut(bytes)[at..at + 64];
        merge(bytes.try_into().expect("a page holds whole lines"), block, mask);
    }

    /// The page at `address`, to be shared; none where it was never touched.
    pub fn page(&self, address: u64) -> Option<SharedPage> {
        debug_assert!(self.turns.is_none());
        self.get(((address - self.base) / PAGE_BYTES) as usize).cloned()
    }

    /// Replaces the page at `address`; none makes it zero. Costs no copy.
    pub fn put_page(&mut self, address: u64, page: Option<SharedPage>) {
        debug_assert!(self.turns.is_none());
        let index = ((address - self.base) / PAGE_BYTES) as usize;
        *self.slot(index) = page;
    }

    /// Puts every touched page of `other` into this image: used to put the parts of an interleaved memory
    /// together, `owns` telling which lines are `other`'s.
    pub fn adopt(&mut self, other: &Image, owns: impl Fn(Line) -> bool) {
        debug_assert_eq!(self.base, other.base);
        for (line, block) in other.lines().filter(|(line, _)| owns(*line)) {
            // A page of a part spans several of the range, some of which may never have been touched.
            if *block != [0; 64] || self.get(self.place(line).0).is_some() {
                self.write(line, block, Mask::MAX);
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

/// Whether a page that is held has the bytes of another; no page has zeros.
fn same_page(one: Option<&Arc<PageBytes>>, other: Option<&Arc<PageBytes>>) -> bool {
    match (one, other) {
        (None, _) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
        (Some(one), None) => one.iter().all(|b| *b == 0),
    }
}

/// Equal bytes, whether their pages were touched or not. Costs the pages that are not shared.
impl PartialEq for Image {
    fn eq(&self, other: &Image) -> bool {
        let same = |from: &Image, to: &Image| {
            from.chunks().all(|(i, chunk)| {
                let theirs = to.chunk(i);
                theirs.is_some_and(|theirs| Arc::ptr_eq(chunk, theirs))
                    || chunk.iter().enumerate().all(|(k, page)| {
                        same_page(page.as_ref(), theirs.and_then(|theirs| theirs[k].as_ref()))
                    })
            })
        };
        self.base == other.base && self.turns == other.turns && same(self, other) && same(other, self)
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
    fn bytes_are_merged_as_one_by_one() {
        let mut random = units::Random::new(1, 0);
        for _ in 0..2_000 {
            let mask = random.below(u64::MAX) & (random.below(u64::MAX) | (1 << random.below(64)));
            let block = |random: &mut units::Random| std::array::from_fn(|_| random.below(256) as u8);
            let (before, from): (Block, Block) = (block(&mut random), block(&mut random));
            let mut to = before;
            merge(&mut to, &from, mask);
            let one_by_one: Block =
                std::array::from_fn(|at| if mask >> at & 1 == 1 { from[at] } else { before[at] });
            assert_eq!(to, one_by_one, "mask {mask:#x}");
        }
    }

    #[test]
    fn zeros_take_no_room() {
        let mut image = Image::new(PM_BASE);
        image.write(line_of(PM_BASE + 4096), &[0; 64], Mask::MAX);
        image.write(line_of(PM_BASE + 4096), &[7; 64], 0);
        assert_eq!((image.held().count(), image.len()), (0, 2 * PAGE_BYTES));
        image.write(line_of(PM_BASE), &[7; 64], Mask::MAX);
        image.write(line_of(PM_BASE), &[0; 64], mask_of(1, 1));
        assert_eq!(image.bytes(PM_BASE, 3), [7, 0, 7], "over something they count");
    }

    #[test]
    fn images_that_take_turns_hold_their_own_bytes_in_as_little_room() {
        let mut whole = Image::new(PM_BASE);
        let turns = |nth| Turns { bytes: 256, of: 3, nth };
        let mut parts = [0, 1, 2].map(|nth| Image::in_turns(PM_BASE, turns(nth)));
        let owner = |line: Line| (line.address() - PM_BASE) / 256 % 3;
        for line in (0..6 * 64).map(|n| Line(PM_BASE / 64 + n)) {
            let block = [line.0 as u8; 64];
            whole.write(line, &block, Mask::MAX);
            parts[owner(line) as usize].write(line, &block, Mask::MAX);
        }
        assert_eq!(parts.each_ref().map(|part| part.held().count()), [2; 3], "a third of six pages each");
        let pages: Vec<u64> = whole.touched().map(|(address, _)| address).collect();
        assert_eq!(parts[1].pages().collect::<Vec<_>>(), pages);
        let mut together = Image::new(PM_BASE);
        for (nth, part) in parts.iter().enumerate() {
            together.adopt(part, |line| owner(line) == nth as u64);
        }
        assert!(together == whole);
        let before = parts[2].clone();
        assert_eq!(parts[2].bytes_apart(&before), 0);
        parts[2].write(line_of(PM_BASE + 512), &[9; 64], Mask::MAX);
        assert_eq!(parts[2].bytes_apart(&before), PAGE_BYTES);
        assert!(parts[2] != before && parts[2].read(line_of(PM_BASE + 512)) == [9; 64]);
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
