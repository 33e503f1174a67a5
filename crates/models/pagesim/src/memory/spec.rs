//! What a machine's memory and its manager are.

use super::swap::SwapSpec;
use super::watermark::Rule;
use units::Dur;

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Pages of a section (128 MiB, `SECTION_SIZE_BITS` 27 on x86-64).
pub const SECTION: u64 = 1 << 15;

/// What memory is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// DRAM.
    Dram,
    /// Persistent memory, used for its capacity.
    Pm,
}

/// A zone: a stretch of one medium on one node.
#[derive(Clone, Copy, Debug)]
pub struct ZoneSpec {
    /// What it is made of.
    pub medium: Medium,
    /// Its sections of 128 MiB.
    pub sections: u64,
    /// Known to the allocator from boot on; hidden otherwise.
    pub online: bool,
}

/// Where page descriptors live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descriptors {
    /// On the first zone, whatever they describe.
    Dram,
    /// On the memory that they describe (`memmap_on_memory`).
    Added,
}

/// Processor time of the kernel's work.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// A page fault: entry, walk, allocation, mapping, return. Zeroing comes on top.
    pub fault: Dur,
    /// What a major fault takes more: the swap cache, the request, its interrupt.
    pub major: Dur,
    /// Looking at a page on a list.
    pub scan: Dur,
    /// Unmapping a page elsewhere, and its flushes of translation buffers.
    pub unmap: Dur,
    /// Giving a page back.
    pub free: Dur,
    /// Mapping a page of a device file.
    pub map: Dur,
    /// Beginning a page's descriptor.
    pub describe: Dur,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct MemorySpec {
    /// Zones, the allocator's first choice first.
    pub zones: Vec<ZoneSpec>,
    /// Bytes of a page descriptor.
    pub descriptor_bytes: u64,
    /// Where descriptors are.
    pub descriptors: Descriptors,
    /// Sections behind all zones that are for device files only.
    pub device_sections: u64,
    /// Pages of the first zone that the kernel keeps.
    pub reserved: u64,
    /// How watermarks follow from sizes.
    pub rule: Rule,
    /// `vm.min_free_kbytes`; 0: as the kernel would choose.
    pub min_free_kib: u64,
    /// The swap device.
    pub swap: Option<SwapSpec>,
    /// Pages read at once from the swap device, a power of two (`vm.page-cluster` as a number of pages).
    pub readahead: u64,
    /// Processor time.
    pub costs: Costs,
}

impl MemorySpec {
    /// Pages of descriptors for a section.
    pub fn descriptor_pages(&self) -> u64 {
        (SECTION * self.descriptor_bytes).div_ceil(PAGE)
    }
}
