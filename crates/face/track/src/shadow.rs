//! The copy of a process's memory that the next window is compared with.

use crate::DirtyPage;
use crate::compare::{PAGE, PageBytes, page_difference};
use std::collections::BTreeMap;
use std::ops::Range;

const CHUNK: usize = 1024;

/// Pages by number. A page that was never seen is zeros.
#[derive(Default)]
pub(crate) struct Shadow {
    places: BTreeMap<u64, u32>,
    chunks: Vec<Box<[PageBytes]>>,
    free: Vec<u32>,
}

impl Shadow {
    fn page(&mut self, page: u64) -> &mut PageBytes {
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
    pub(crate) fn set(&mut self, page: u64, bytes: &PageBytes) {
        *self.page(page) = *bytes;
    }

    /// What changed of a page, which is `bytes` now; they are kept.
    pub(crate) fn update(&mut self, page: u64, bytes: &PageBytes) -> Option<DirtyPage> {
        let old = self.page(page);
        let (lines, count) = page_difference(old, bytes);
        if lines == 0 {
            return None;
        }
        *old = *bytes;
        Some(DirtyPage { page, lines, bytes: count })
    }

    /// Forgets the pages that are outside every one of `kept`, which are in order of address.
    pub(crate) fn retain(&mut self, kept: &[Range<u64>]) {
        let gone: Vec<u64> =
            self.places.keys().copied().filter(|p| !contains(kept, p * PAGE as u64)).collect();
        for page in gone {
            self.free.extend(self.places.remove(&page));
        }
    }
}

fn contains(ranges: &[Range<u64>], address: u64) -> bool {
    let at = ranges.partition_point(|r| r.end <= address);
    ranges.get(at).is_some_and(|r| r.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_finds_and_forgets_pages() {
        let mut shadow = Shadow::default();
        let mut bytes = [0; PAGE];
        assert_eq!(shadow.update(5, &bytes), None, "a page that was never seen is zeros");
        bytes[64] = 1;
        assert_eq!(shadow.update(5, &bytes), Some(DirtyPage { page: 5, lines: 2, bytes: 1 }));
        assert_eq!(shadow.update(5, &bytes), None);
        shadow.retain(&[0..4096, 6 * 4096..7 * 4096]);
        assert_eq!(shadow.update(5, &bytes), Some(DirtyPage { page: 5, lines: 2, bytes: 1 }));
    }
}
