//! A zone: its free pages, its marks, its lists; and the sections that it is made of.

use super::buddy::Buddy;
use super::list::List;
use super::spec::{Medium, SECTION, ZoneSpec};
use super::watermark::Watermarks;

/// A zone as it is now.
#[derive(Debug)]
pub struct Zone {
    /// What it is made of.
    pub medium: Medium,
    /// Its marks, in pages.
    pub marks: Watermarks,
    /// Pages that the allocator knows.
    pub managed: u64,
    /// Its first frame.
    pub(crate) first: u64,
    pub(crate) buddy: Buddy,
    pub(crate) active: List,
    pub(crate) inactive: List,
    /// Pages whose write to the swap device is under way.
    pub(crate) leaving: u64,
    /// kswapd is awake.
    pub(crate) awake: bool,
    /// Looks at pages since one last left.
    pub(crate) fruitless: u64,
}

impl Zone {
    pub(crate) fn new(spec: &ZoneSpec, first: u64) -> Zone {
        Zone {
            medium: spec.medium,
            marks: Watermarks::default(),
            managed: 0,
            first,
            buddy: Buddy::new(spec.sections * SECTION),
            active: List::active(),
            inactive: List::inactive(),
            leaving: 0,
            awake: false,
            fruitless: 0,
        }
    }

    /// Free pages.
    pub fn free(&self) -> u64 {
        self.buddy.free()
    }

    /// Pages on its lists.
    pub(crate) fn listed(&self) -> u64 {
        self.active.len() + self.inactive.len()
    }

    /// So many active pages to an inactive one, at most (`inactive_ratio`: the root of ten times its GiB).
    pub(crate) fn ratio(&self) -> u64 {
        (10 * (self.managed >> 18)).isqrt().max(1)
    }
}

/// A section of 128 MiB.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    pub(crate) zone: u32,
    /// It holds device files, and no zone has it.
    pub(crate) device: bool,
    /// The allocator knows it.
    pub(crate) online: bool,
    /// Pages of it that are in use.
    pub(crate) used: u32,
    /// Blocks that hold its descriptors, where they were allocated after boot: frame, order.
    pub(crate) descriptors: Vec<(u64, u8)>,
    /// Bytes written to it, where it is persistent memory.
    pub(crate) written: u64,
}
