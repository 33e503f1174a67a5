//! Tags: which pages are in the DRAM. They lie in the DRAM themselves, and those that were used last are at hand.

use units::{Dur, Time};

/// Tags of a set.
const WAYS: usize = 4;

/// A page's tag, and when it is at hand.
#[derive(Clone, Copy, Debug)]
struct Tag {
    page: Option<u32>,
    there: Time,
}

/// The tags at hand: sets of four, the least recently used of which leaves. Cost: one set.
#[derive(Clone, Debug)]
pub(crate) struct Tags {
    sets: Vec<[Tag; WAYS]>,
    fetch: Dur,
    pub(crate) misses: u64,
}

impl Tags {
    /// Room for so many pages' tags; others take `fetch`.
    pub(crate) fn new(pages: usize, fetch: Dur) -> Tags {
        let none = [Tag { page: None, there: Time::ZERO }; WAYS];
        Tags { sets: vec![none; (pages / WAYS).max(1)], fetch, misses: 0 }
    }

    /// When a request of `page` that comes at `now` knows where it is.
    pub(crate) fn look_up(&mut self, now: Time, page: u32) -> Time {
        let index = units::mix(u64::from(page) ^ 0x7467) as usize % self.sets.len();
        let set = &mut self.sets[index];
        let place = set.iter().position(|tag| tag.page == Some(page));
        set[..=place.unwrap_or(WAYS - 1)].rotate_right(1);
        if place.is_none() {
            self.misses += 1;
            set[0] = Tag { page: Some(page), there: now + self.fetch };
        }
        set[0].there.max(now)
    }
}
