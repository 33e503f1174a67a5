//! A direct-mapped cache of pages in front of persistent memory.

use crate::memory::Level;
use crate::spec::CacheSpec;
use units::{Dur, Time};

const DIRTY: u32 = 1 << 31;

/// What an access found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The page.
    Hit,
    /// Another page, or none: after so much time it is there. The frame that was written back, if one was.
    Miss(Dur, Option<u64>),
}

/// The cache. Cost of an access: one 4-byte tag.
#[derive(Debug)]
pub(crate) struct Cache {
    spec: CacheSpec,
    /// Frame plus one, and whether it was changed; 0 for none.
    tags: Vec<u32>,
    /// Pages that it holds, over time.
    pub(crate) holds: Level,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
}

impl Cache {
    pub(crate) fn new(spec: CacheSpec) -> Cache {
        let tags = vec![0; spec.pages.max(1) as usize];
        Cache { spec, tags, holds: Level::default(), hits: 0, misses: 0 }
    }

    pub(crate) fn access(&mut self, frame: u64, write: bool, now: Time) -> Found {
        let slot = (frame % self.tags.len() as u64) as usize;
        let tag = &mut self.tags[slot];
        let (wanted, there) = (frame as u32 + 1, *tag & !DIRTY);
        let dirty = if write { DIRTY } else { 0 };
        if there == wanted {
            *tag |= dirty;
            self.hits += 1;
            return Found::Hit;
        }
        if there == 0 {
            self.holds.change(now, 1);
        }
        let victim = (*tag & DIRTY != 0).then(|| u64::from(there) - 1);
        *tag = wanted | dirty;
        self.misses += 1;
        let out = if victim.is_some() { self.spec.write_back } else { Dur::ZERO };
        Found::Miss(out + self.spec.fill, victim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_pages_are_written_back_when_their_place_is_taken() {
        let (fill, write_back) = (Dur::ns(3), Dur::ns(5));
        let mut cache = Cache::new(CacheSpec { pages: 4, fill, write_back });
        let mut access = |frame, write| cache.access(frame, write, Time::ZERO);
        assert_eq!(access(1, false), Found::Miss(fill, None));
        assert_eq!(access(1, true), Found::Hit);
        assert_eq!(access(5, false), Found::Miss(fill + write_back, Some(1)));
        assert_eq!(access(1, false), Found::Miss(fill, None), "5 was clean");
        assert_eq!((cache.hits, cache.misses), (1, 3));
        assert_eq!(cache.holds.until(Time::ZERO).pages, 1);
    }
}
