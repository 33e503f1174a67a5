//! DRAM and a swap device (AMF's design A1): persistent memory, if there is any, is for device files alone.

use crate::policy::{Entry, Layout, Platform, Policy};

pub(super) const ENTRY: Entry = Entry {
    word: "dram-swap",
    about: "no PM (A1)",
    params: &[],
    ignores: &[
        "fusion.pm_read_ns",
        "fusion.pm_write_ns",
        "fusion.pm_mbps",
        "fusion.hidden",
        "fusion.cost",
        "fusion.node_gib",
        "os.describe_ns",
        "os.descriptors",
    ],
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
