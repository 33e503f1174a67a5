//! Persistent memory is the swap device (AMF's design A2): as many requests at once as cores, and the block layer's time.

use crate::memory::{PAGE, SwapSpec};
use crate::policy::{Entry, Layout, Platform, Policy, needs_plain_pm};
use units::Dur;

pub(super) const ENTRY: Entry = Entry {
    word: "pm-block",
    about: "PM is the swap device (A2)",
    params: &[],
    ignores: &["os.swap", "fusion.node_gib", "os.describe_ns", "os.descriptors"],
    statistics: &[],
    check: needs_plain_pm,
    new: |_| Box::new(PmBlock),
};

/// Estimate: submitting a request of a page and its end, the medium's time aside.
const BLOCK_LAYER: Dur = Dur::ns(2000);

struct PmBlock;

impl Policy for PmBlock {
    fn boot(&self, platform: &Platform) -> Layout {
        let [read, write] = platform.pm_latency.map(|medium| BLOCK_LAYER + medium);
        let swap = SwapSpec {
            pages: platform.pm_bytes / PAGE,
            channels: platform.cores,
            read,
            write,
            page: platform.pm_page,
            seeks: false,
            is_pm: true,
        };
        Layout {
            swap: Some(swap),
            block_bytes: platform.pm_bytes,
            ..Layout::of([platform.dram_zone()], platform)
        }
    }
}
