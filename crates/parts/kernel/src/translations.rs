//! A translation buffer.

/// Translations of a set.
const WAYS: usize = 4;

/// Pages with their places: sets of four, the last used first. Cost of a hit: one look at a set.
#[derive(Clone, Debug)]
pub struct Translations {
    entries: Vec<Option<(u32, u32)>>,
}

impl Translations {
    /// Room for `count` pages, rounded up to whole sets.
    pub fn new(count: usize) -> Translations {
        Translations { entries: vec![None; count.next_multiple_of(WAYS).max(WAYS)] }
    }

    fn set(&mut self, page: u32) -> &mut [Option<(u32, u32)>] {
        let sets = self.entries.len() / WAYS;
        // Neighbouring pages, and pages a power of two apart, are in different sets.
        let set = (page.wrapping_mul(0x9E37_79B1) >> 16) as usize % sets;
        &mut self.entries[set * WAYS..(set + 1) * WAYS]
    }

    /// The place of a page, which is then the last used of its set.
    pub fn find(&mut self, page: u32) -> Option<u32> {
        let set = self.set(page);
        let at = set.iter().position(|entry| entry.is_some_and(|(p, _)| p == page))?;
        if at > 0 {
            set[..=at].rotate_right(1);
        }
        set[0].map(|(_, place)| place)
    }

    /// Keeps a page's place; the set's last used goes.
    pub fn keep(&mut self, page: u32, place: u32) {
        self.forget(page);
        let set = self.set(page);
        set.rotate_right(1);
        set[0] = Some((page, place));
    }

    /// Drops a page's place.
    pub fn forget(&mut self, page: u32) {
        let wanted = |entry: &&mut Option<(u32, u32)>| entry.is_some_and(|(p, _)| p == page);
        if let Some(entry) = self.set(page).iter_mut().find(wanted) {
            *entry = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_four_of_a_set_and_forgets() {
        let mut all = Translations::new(1);
        for page in 0..5 {
            all.keep(page, page + 100);
        }
        assert_eq!(all.find(0), None);
        assert_eq!(all.find(1), Some(101));
        all.keep(9, 9);
        assert_eq!((all.find(1), all.find(2)), (Some(101), None), "the last used stays");
        all.keep(1, 7);
        all.forget(1);
        assert_eq!(all.find(1), None);
    }
}
