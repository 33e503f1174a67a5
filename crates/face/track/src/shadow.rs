//! The copy of memory that the next window is compared with.

use crate::compare::{PAGE, PageBytes, page_difference};
use std::collections::BTreeMap;
use std::ops::Range;

const CHUNK: usize = 1024;

/// Pages by number, or by what else they are known. A page that was never seen is zeros.
pub(crate) struct Shadow<K> {
    places: BTreeMap<K, u32>,
    chunks: Vec<Box<[PageBytes]>>,
    free: Vec<u32>,
}

impl<K> Default for Shadow<K> {
    fn default() -> Shadow<K> {
        Shadow { places: BTreeMap::new(), chunks: Vec::new(), free: Vec::new() }
    }
}

impl<K: Copy + Ord> Shadow<K> {
    fn page(&mut self, page: K) -> &mut PageBytes {
        let place = match self.places.get(&page) {
            Some(place) => *place,
            None => {
                let place = self.free.pop().unwrap_or_else(|| {
                    let first = (self.chunks.len() * CHUNK) as u32;
                    self.chunks.push(vec![[0; PAGE]; CHUNK].into_boxed_slice());
                    self.free.extend((first + 1..first + CHUNK as u32).rev());
                    first
                });
                self.places.insert(page, place);
                self.chunks[place as usize / CHUNK][place as usize % CHUNK] = [0; PAGE];
                place
            }
        };
        &mut self.chunks[place as usize / CHUNK][place as usize % CHUNK]
    }

    /// Takes a page as it is now.
    pub(crate) fn set(&mut self, page: K, bytes: &PageBytes) {
        *self.page(page) = *bytes;
    }

    /// Whether the page was taken.
    pub(crate) fn has(&self, page: K) -> bool {
        self.places.contains_key(&page)
    }

    /// Which lines and how many bytes changed of a page, which is `bytes` now; they are kept.
    pub(crate) fn update(&mut self, page: K, bytes: &PageBytes) -> Option<(u64, u32)> {
        let old = self.page(page);
        let changed = page_difference(old, bytes);
        if changed.0 == 0 {
            return None;
        }
        *old = *bytes;
        Some(changed)
    }

    fn taken(&mut self, range: Range<K>) -> Vec<(K, u32)> {
        let pages: Vec<K> = self.places.range(range).map(|(page, _)| *page).collect();
        pages.into_iter().filter_map(|page| Some((page, self.places.remove(&page)?))).collect()
    }

    /// The pages of `old` are in `new` now, each at its `name`; what was there is forgotten.
    pub(crate) fn rename(&mut self, old: Range<K>, new: Range<K>, name: impl Fn(K) -> K) {
        let over = self.taken(new).into_iter().map(|(_, place)| place);
        self.free.extend(over);
        let moved = self.taken(old).into_iter().map(|(page, place)| (name(page), place));
        self.places.extend(moved);
    }

    /// Forgets the other pages.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(K) -> bool) {
        let gone: Vec<K> = self.places.keys().copied().filter(|page| !is_kept(*page)).collect();
        for page in gone {
            self.free.extend(self.places.remove(&page));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_finds_and_forgets_pages() {
        let mut shadow = Shadow::default();
        assert!(!shadow.has(5));
        let mut bytes = [0; PAGE];
        assert_eq!(shadow.update(5, &bytes), None, "a page that was never seen is zeros");
        bytes[64] = 1;
        assert_eq!(shadow.update(5, &bytes), Some((2, 1)));
        assert_eq!(shadow.update(5, &bytes), None);
        shadow.retain(|page| page != 5);
        assert_eq!(shadow.update(5, &bytes), Some((2, 1)));
    }

    #[test]
    fn moves_pages_over_others() {
        let mut shadow = Shadow::default();
        for page in 1..=6u8 {
            shadow.set(u64::from(page), &[page; PAGE]);
        }
        shadow.rename(1..3, 4..6, |page| page + 3);
        let known: Vec<u64> = (0..9).filter(|page| shadow.has(*page)).collect();
        assert_eq!(known, [3, 4, 5, 6]);
        assert_eq!(shadow.update(4, &[1; PAGE]), None);
        assert_eq!(shadow.update(5, &[2; PAGE]), None);
        assert_eq!(shadow.update(1, &[0; PAGE]), None, "where it was there is nothing");
    }
}
