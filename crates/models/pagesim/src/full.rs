//! Memory when a program was killed for want of it: what was full, and which keys would give more.

use crate::memory::{MemoryManager, PAGE, SECTION};
use crate::tables;
use params::Settings;

/// Pages of a MiB.
const PAGES_OF_MIB: u64 = (1 << 20) / PAGE;

/// What was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full {
    /// Pages of memory that the allocator had, descriptors and the kernel's own aside.
    pages: u64,
    /// Free slots of the swap device, where there is one.
    slots: Option<u64>,
    /// Sections of persistent memory that were hidden.
    hidden: u64,
    /// Whether the allocator gives persistent memory.
    gives_pm: bool,
}

impl Full {
    /// As memory is now.
    pub(crate) fn of(memory: &MemoryManager) -> Full {
        Full {
            pages: memory.zones().iter().map(|zone| zone.managed).sum(),
            slots: memory.free_slots(),
            hidden: memory.hidden(),
            gives_pm: memory.gives_pm(),
        }
    }

    /// In words, with the keys that give more on the machine that `s` describes; `block_bytes` of its persistent memory are the
    /// swap device.
    pub(crate) fn text(&self, s: &Settings, block_bytes: u64) -> String {
        let swap = match self.slots {
            None => "and there is no swap device",
            Some(0) => "and the swap device is full",
            Some(_) => "and no page can leave for the swap device",
        };
        let mib = |pages: u64| pages.div_ceil(PAGES_OF_MIB);
        let hidden = match self.hidden {
            0 => String::new(),
            sections => format!(
                "; {} MiB of persistent memory stay hidden, as their descriptors need DRAM",
                mib(sections * SECTION)
            ),
        };
        let acts = |key: &&str| match *key {
            "fusion.pm_gib" => block_bytes > 0 || (self.gives_pm && self.hidden == 0),
            "os.swap_gib" => self.slots.is_some() && tables::acts(s, key),
            _ => true,
        };
        let keys: Vec<&str> =
            ["fusion.dram_gib", "fusion.pm_gib", "os.swap_gib"].into_iter().filter(acts).collect();
        format!(
            "out of memory, and every program was killed: {} MiB of memory are full, {swap}{hidden} (give more {}, or a smaller workload)",
            mib(self.pages),
            keys.join(" or ")
        )
    }
}
