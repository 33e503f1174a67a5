//! A table by page number, which may hold thousands of pages: found by hash, gone through in order.

use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};

/// Something for each of some pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByPage<T>(FxHashMap<u32, T>);

impl<T> Default for ByPage<T> {
    fn default() -> ByPage<T> {
        ByPage(FxHashMap::default())
    }
}

impl<T> ByPage<T> {
    pub(crate) fn get(&self, page: u32) -> Option<&T> {
        self.0.get(&page)
    }

    pub(crate) fn get_mut(&mut self, page: u32) -> Option<&mut T> {
        self.0.get_mut(&page)
    }

    pub(crate) fn insert(&mut self, page: u32, value: T) {
        self.0.insert(page, value);
    }

    pub(crate) fn remove(&mut self, page: u32) -> Option<T> {
        self.0.remove(&page)
    }

    /// What the page has, made where it has nothing.
    pub(crate) fn get_or_default(&mut self, page: u32) -> &mut T
    where
        T: Default,
    {
        self.0.entry(page).or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// In order of page.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let mut all: Vec<_> = self.0.iter().map(|(page, value)| (*page, value)).collect();
        all.sort_unstable_by_key(|(page, _)| *page);
        all.into_iter()
    }
}

/// Equal tables hash alike, whatever came into them in which order.
impl<T: Hash> Hash for ByPage<T> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.len().hash(hasher);
        self.iter().for_each(|entry| entry.hash(hasher));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::DefaultHasher;

    fn hash_of(table: &ByPage<u8>) -> u64 {
        let mut hasher = DefaultHasher::new();
        table.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn order_is_that_of_pages_whatever_came_first() {
        let (mut one, mut other) = (ByPage::default(), ByPage::default());
        (0..1_000).for_each(|page| one.insert(page, page as u8));
        (0..1_000).rev().for_each(|page| other.insert(page, page as u8));
        other.insert(5_000, 1);
        assert_ne!(hash_of(&one), hash_of(&other));
        assert_eq!(other.remove(5_000), Some(1));
        assert_eq!((&one, hash_of(&one)), (&other, hash_of(&other)));
        assert!(one.iter().map(|(page, _)| page).eq(0..1_000));
        *other.get_or_default(7) += 1;
        assert_ne!(hash_of(&one), hash_of(&other));
    }
}
