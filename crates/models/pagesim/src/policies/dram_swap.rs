//! DRAM and a swap device (AMF's design A1): persistent memory, if there is any, is for device files alone.

use crate::policy::{Entry, Layout, Platform, Policy};

pub(super) const ENTRY: Entry = Entry {
    word: "dram-swap",
    about: "DRAM and swap, PM for device files alone (A1)",
    params: &[],
    ignores: &["fusion.hidden", "fusion.cost", "fusion.node_gib", "os.describe_ns", "os.descriptors"],
    statistics: &[],
    check: |_| Ok(()),
    new: |_| Box::new(DramSwap),
};

struct DramSwap;

impl Policy for DramSwap {
    fn boot(&self, platform: &Platform) -> Layout {
        Layout::of([platform.dram_zone()], platform)
    }
}
