//! Bytes of memory that is used here and there: only pages that were written cost anything.

use protocol::{Block, Line, Mask, PAGE_BYTES, line_of, mask_of, merge, offset_of, word_of};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A page's bytes.
pub type PageBytes = [u8; PAGE_BYTES as usize];

/// Sparse memory, zero where nothing was written, with a hash of its bytes that follows every write. A clone shares
/// every page until one of the two writes it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    pages: FxHashMap<u64, Arc<PageBytes>>,
    hash: u128,
}

/// What a word adds to the hash of its memory. Zero adds nothing, so that pages never touched need not be looked at.
pub(super) fn word_hash(address: u64, word: u64) -> u128 {
    if word == 0 {
        return 0;
    }
    // Mixed twice: hashes of words are added, so each has to look random.
    let half =
        |salt: u64| u128::from(units::mix(units::mix(address.wrapping_add(salt)) ^ word.wrapping_add(salt)));
    half(0x9E37_79B9_7F4A_7C15) << 64 | half(0xD1B5_4A32_D192_ED03)
}

/// What the words of a line add to the hash.
pub(super) fn line_hash(address: u64, block: &Block) -> u128 {
    let words = block.as_chunks::<8>().0.iter().enumerate();
    let each = words.map(|(i, w)| word_hash(address + 8 * i as u64, u64::from_le_bytes(*w)));
    each.fold(0, u128::wrapping_add)
}

impl Pages {
    /// The bytes of a line.
    pub(super) fn read(&self, line: Line) -> Block {
        let at = (line.address() % PAGE_BYTES) as usize;
        match self.pages.get(&(line.address() / PAGE_BYTES)) {
            Some(page) => page[at..at + 64].try_into().expect("a page holds whole lines"),
            None => [0; 64],
        }
    }

    /// The word at `address`, of its line: the line's last where it would go beyond.
    pub(super) fn word(&self, address: u64) -> u64 {
        let line = (address % PAGE_BYTES) as usize / 64 * 64;
        let at = line + offset_of(address).min(56);
        self.pages.get(&(address / PAGE_BYTES)).map_or(0, |page| word_of(&page[..], at))
    }

    /// Writes the masked bytes of a line.
    pub(super) fn write(&mut self, line: Line, block: &Block, mask: Mask) {
        let (address, at) = (line.address(), (line.address() % PAGE_BYTES) as usize);
        let page =
            self.pages.entry(address / PAGE_BYTES).or_insert_with(|| Arc::new([0; PAGE_BYTES as usize]));
        let bytes: &mut Block =
            (&mut Arc::make_mut(page)[at..at + 64]).try_into().expect("a page holds whole lines");
        let before = line_hash(address, bytes);
        merge(bytes, block, mask);
        self.hash = self.hash.wrapping_sub(before).wrapping_add(line_hash(address, bytes));
    }

    /// The page at `address`, if it was ever written.
    pub(super) fn page(&self, address: u64) -> Option<&PageBytes> {
        self.pages.get(&(address / PAGE_BYTES)).map(|p| &**p)
    }

    /// Has a page at `address`, as `from` has it, if there is none yet.
    pub(super) fn copy_page(&mut self, from: &Pages, address: u64) {
        let number = address / PAGE_BYTES;
        let page = || from.pages.get(&number).map_or_else(|| Arc::new([0; PAGE_BYTES as usize]), Arc::clone);
        // The hash does not count it: that of a candidate is told by its units.
        self.pages.entry(number).or_insert_with(page);
    }

    /// Makes the bytes from one address to another zero.
    pub(super) fn clear(&mut self, from: u64, to: u64) {
        let pages = self.addresses().filter(|p| *p < to && p + PAGE_BYTES > from).collect::<Vec<_>>();
        for line in pages.into_iter().flat_map(|p| (p..p + PAGE_BYTES).step_by(64)) {
            let (first, last) = (from.max(line), to.min(line + 64));
            if first < last {
                self.write(
                    line_of(line),
                    &[0; 64],
                    mask_of((first - line) as usize, (last - first) as usize),
                );
            }
        }
    }

    /// First addresses of the pages that were written, in no order.
    pub(super) fn addresses(&self) -> impl Iterator<Item = u64> {
        self.pages.keys().map(|p| p * PAGE_BYTES)
    }

    /// The hash of all bytes.
    pub(super) fn hash(&self) -> u128 {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_tells_bytes_and_not_how_they_came() {
        let (mut one, mut other) = (Pages::default(), Pages::default());
        one.write(line_of(64), &[1; 64], 0xFF);
        one.write(line_of(64), &[2; 64], 0xF0);
        other.write(line_of(64), &[2; 64], 0xF0);
        assert_ne!(one.hash(), other.hash());
        other.write(line_of(8192), &[0; 64], Mask::MAX);
        other.write(line_of(64), &[1; 64], 0x0F);
        assert_eq!(one.hash(), other.hash());
        assert_eq!(one.hash(), line_hash(64, &one.read(line_of(64))));
    }
}
