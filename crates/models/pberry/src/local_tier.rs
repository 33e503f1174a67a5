//! Pages in memory attached to the processor: faster than the agent's, and out of its sight. Pages that come back again and again
//! are placed there; a fault at their first write says whether they have to be brought back when they go.

use protocol::{DRAM_BASE, PAGE_BYTES};
use std::collections::VecDeque;

/// Where the frames lie: above all that programs keep in DRAM.
const FRAMES: u64 = DRAM_BASE + (1 << 34);
/// The operating system's own entries for such pages.
const TABLE: u64 = DRAM_BASE + (1 << 33);

/// The address of a frame's byte.
pub(crate) fn address(frame: u32, offset: u64) -> u64 {
    FRAMES + u64::from(frame) * PAGE_BYTES + offset % PAGE_BYTES
}

/// The address of a page's entry.
pub(crate) fn entry(page: u32) -> u64 {
    TABLE + u64::from(page) * 8
}

#[derive(Clone, Copy, Debug)]
struct Placed {
    page: u32,
    frame: u32,
    /// Times that it had come from the remote host, less what it has lost to pages that wanted its place.
    refaults: u32,
    referenced: bool,
    writable: bool,
}

/// The frames and their pages. Small: looked through page by page.
#[derive(Clone, Debug)]
pub(crate) struct LocalTier {
    free: Vec<u32>,
    placed: VecDeque<Placed>,
    /// The page that is on its way in or out: others wait for the lock.
    pub(crate) moving: Option<u32>,
    /// Pages placed.
    pub(crate) placements: u64,
    /// Pages that went back, changed.
    pub(crate) returns: u64,
}

impl LocalTier {
    /// With so many frames.
    pub(crate) fn new(frames: u32) -> LocalTier {
        LocalTier {
            free: (0..frames).rev().collect(),
            placed: VecDeque::new(),
            moving: None,
            placements: 0,
            returns: 0,
        }
    }

    fn find(&mut self, page: u32) -> Option<&mut Placed> {
        self.placed.iter_mut().find(|p| p.page == page)
    }

    /// The frame of a page, and whether it may be written without a fault.
    pub(crate) fn frame(&self, page: u32) -> Option<(u32, bool)> {
        self.placed.iter().find(|p| p.page == page).map(|p| (p.frame, p.writable))
    }

    /// A core has looked the page up.
    pub(crate) fn walked(&mut self, page: u32) {
        self.find(page).into_iter().for_each(|p| p.referenced = true);
    }

    /// The page may be written from now on.
    pub(crate) fn written(&mut self, page: u32) {
        self.find(page).into_iter().for_each(|p| p.writable = true);
    }

    /// Whether a page that came so often may move in: a frame is free, or the next page to go (CLOCK) came less often, and
    /// ages when it did not. So pages that come in turn do not drive each other out.
    pub(crate) fn accepts(&mut self, refaults: u32) -> bool {
        if !self.free.is_empty() {
            return true;
        }
        for _ in 0..self.placed.len() {
            match self.placed.front_mut() {
                Some(p) if p.referenced => {
                    p.referenced = false;
                    self.placed.rotate_left(1);
                }
                Some(p) if p.refaults >= refaults => {
                    p.refaults -= 1;
                    self.placed.rotate_left(1);
                    return false;
                }
                Some(_) => return true,
                None => return false,
            }
        }
        false
    }

    /// A frame for a page that moves in.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// The page is there.
    pub(crate) fn place(&mut self, page: u32, frame: u32, refaults: u32) {
        self.placements += 1;
        self.placed.push_back(Placed { page, frame, refaults, referenced: true, writable: false });
    }

    /// Whether a frame is free.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// The next page to go: its frame, which stays taken, and whether it was written.
    pub(crate) fn choose(&mut self) -> Option<(u32, u32, bool)> {
        let p = self.placed.pop_front()?;
        self.returns += u64::from(p.writable);
        Some((p.page, p.frame, p.writable))
    }

    /// The frame is free.
    pub(crate) fn give(&mut self, frame: u32) {
        self.free.push(frame);
    }

    /// All pages and their frames.
    pub(crate) fn pages(&self) -> Vec<(u32, u32)> {
        self.placed.iter().map(|p| (p.page, p.frame)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_goes_for_one_that_came_more_often() {
        let mut near = LocalTier::new(2);
        for page in [7, 9] {
            assert!(near.accepts(1));
            let frame = near.take().unwrap();
            near.place(page, frame, 3);
        }
        assert!(!near.has_room() && near.take().is_none());
        assert!(!near.accepts(3), "both were looked up");
        assert!(!near.accepts(3), "7 came as often, and ages");
        assert!(!near.accepts(3), "so does 9");
        near.written(9);
        assert!(near.accepts(3));
        assert_eq!(near.choose(), Some((7, 0, false)));
        near.give(0);
        assert_eq!((near.frame(9), near.choose()), (Some((1, true)), Some((9, 1, true))));
        assert_eq!((near.placements, near.returns, near.choose()), (2, 1, None));
    }
}
