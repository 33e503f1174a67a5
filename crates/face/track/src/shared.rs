//! Memory that tracked processes share: a page of it is one page, whoever writes it.

use crate::DirtyPage;
use crate::compare::PageBytes;
use crate::maps::SharedPage;
use crate::shadow::Shadow;
use std::collections::{BTreeMap, BTreeSet};

/// What a process that has ended saw last, and where it had it.
struct Left {
    process: i32,
    page: u64,
    bytes: Box<PageBytes>,
}

/// Shared pages as they were at the window's start, and those that this window has counted.
#[derive(Default)]
pub(crate) struct Shared {
    shadow: Shadow<SharedPage>,
    counted: BTreeSet<SharedPage>,
    left: BTreeMap<SharedPage, Left>,
}

impl Shared {
    pub(crate) fn is_known(&self, page: SharedPage) -> bool {
        self.shadow.has(page)
    }

    /// Takes a page as it is when first seen.
    pub(crate) fn begin(&mut self, page: SharedPage, bytes: &PageBytes) {
        if !self.shadow.has(page) {
            self.shadow.set(page, bytes);
        }
    }

    /// Whether this window has not counted the page yet; from now on it has.
    pub(crate) fn counts(&mut self, page: SharedPage) -> bool {
        self.counted.insert(page)
    }

    pub(crate) fn is_counted(&self, page: SharedPage) -> bool {
        self.counted.contains(&page)
    }

    /// At the window's end: what changed of a page, of whoever is asked first.
    pub(crate) fn update(&mut self, page: SharedPage, bytes: &PageBytes) -> Option<(u64, u32)> {
        self.left.remove(&page);
        if self.counts(page) { self.shadow.update(page, bytes) } else { None }
    }

    /// Keeps what a process that ends has written until the window's end: others may write the page again.
    pub(crate) fn leave(&mut self, process: i32, page: u64, shared: SharedPage, bytes: &PageBytes) {
        self.left.insert(shared, Left { process, page, bytes: Box::new(*bytes) });
    }

    /// Ends the window: what changed of pages that only processes wrote that have ended.
    pub(crate) fn end(&mut self) -> Vec<DirtyPage> {
        self.counted.clear();
        let left = std::mem::take(&mut self.left);
        let changed = |(shared, left): (SharedPage, Left)| {
            let (lines, bytes) = self.shadow.update(shared, &left.bytes)?;
            Some(DirtyPage { process: left.process, page: left.page, lines, bytes })
        };
        left.into_iter().filter_map(changed).collect()
    }

    /// Forgets the other pages.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(SharedPage) -> bool) {
        self.shadow.retain(is_kept);
    }
}
