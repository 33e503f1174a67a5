//! The copy of memory that the next window is compared with.

use crate::compare::{PAGE, PageBytes, page_difference};
use std::collections::BTreeMap;

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
}
