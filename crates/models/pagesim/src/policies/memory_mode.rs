//! DRAM is a direct-mapped cache of persistent memory (AMF's design A4, memory mode): no memory of its own, but what
//! the kernel keeps and the descriptors need is as fast.

use crate::policy::{Entry, Layout, Platform, Policy, needs_plain_pm};
use crate::spec::CacheSpec;

pub(super) const ENTRY: Entry = Entry {
    word: "dram-cache",
    about: "DRAM caches PM (A4)",
    params: &[],
    ignores: &["os.describe_ns"],
    statistics: &[],
    check: needs_plain_pm,
    new: |_| Box::new(MemoryMode),
};

/// Lines of a page.
const LINES: u64 = 64;

struct MemoryMode;

impl Policy for MemoryMode {
    fn boot(&self, platform: &Platform) -> Layout {
        let front = CacheSpec {
            pages: platform.dram_pages(),
            fill: platform.pm_medium.read * LINES,
            write_back: platform.pm_medium.write * LINES,
        };
        Layout { front: Some(front), ..Layout::of(platform.pm_zones(true), platform) }
    }
}
