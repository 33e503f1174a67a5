//! What checks said of images that were tried, and which lines they read, in bounded memory.

use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of an image that a check read, by address.
pub(super) type Read = Arc<[Range<u64>]>;

/// Ranges that are held, of all images together: 32 MiB.
const MOST_RANGES: usize = 1 << 21;

/// What tells an image from others.
type Key = (u128, u64);

/// What is known of an image.
#[derive(Clone)]
pub(super) struct Said {
    /// What the check said against it.
    pub(super) message: Option<String>,
    /// What the check read. Where that is not known, or there was no room for it, everything.
    pub(super) read: Option<Read>,
}

/// Images that were tried.
#[derive(Default)]
pub(super) struct Known {
    said: FxHashMap<Key, Said>,
    /// Most images are read in one of a few ways.
    reads: FxHashSet<Read>,
    ranges: usize,
}

impl Known {
    /// What is known of an image.
    pub(super) fn get(&self, key: &Key) -> Option<&Said> {
        self.said.get(key)
    }

    /// A check said this of an image, and read that.
    pub(super) fn note(&mut self, key: Key, message: Option<String>, read: Option<Vec<Range<u64>>>) {
        let read = read.and_then(|read| self.shared(read));
        self.said.insert(key, Said { message, read });
    }

    fn shared(&mut self, read: Vec<Range<u64>>) -> Option<Read> {
        if let Some(known) = self.reads.get(&read[..]) {
            return Some(Arc::clone(known));
        }
        if self.ranges + read.len() > MOST_RANGES {
            return None;
        }
        self.ranges += read.len();
        let read: Read = read.into();
        self.reads.insert(Arc::clone(&read));
        Some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_images_read_takes_bounded_memory() {
        let mut known = Known::default();
        let lines = |step: u64| (0..1 << 18).map(|n| n * step..n * step + 64).collect::<Vec<_>>();
        for image in 0..1000 {
            known.note((image, 0), None, Some(lines(128 + image as u64 % 2)));
        }
        assert_eq!(known.ranges, 2 << 18, "images that are read alike share it");
        for image in 1000..1020 {
            known.note((image, 0), None, Some(lines(image as u64)));
        }
        assert!(known.ranges <= MOST_RANGES);
        let read = |image| known.get(&(image, 0)).and_then(|said| said.read.clone());
        assert_eq!(read(3).as_deref(), Some(&lines(129)[..]));
        assert!(read(1003).is_some() && read(1019).is_none(), "without room everything counts as read");
    }
}
