//! Where an address lives.

/// Bytes of a cache line.
pub const LINE_BYTES: u64 = 64;
/// Bytes of a page of the image and of a translated page.
pub const PAGE_BYTES: u64 = 4096;
/// First address of DRAM. Nothing lives at zero, so that a null pointer is never valid.
pub const DRAM_BASE: u64 = 0x0001_0000;
/// First address of the registers of devices: accesses pass every cache, one at a time.
pub const UNCACHED_BASE: u64 = 0x00F0_0000_0000;
/// First address of persistent memory.
pub const PM_BASE: u64 = 0x0100_0000_0000;

/// The number of a 64-byte line: its address divided by 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(pub u64);

impl Line {
    /// The line's first address.
    #[inline]
    pub fn address(self) -> u64 {
        self.0 * LINE_BYTES
    }

    /// Whether the line is persistent memory.
    #[inline]
    pub fn is_pm(self) -> bool {
        self.0 >= PM_BASE / LINE_BYTES
    }
}

/// The line that holds `address`.
#[inline]
pub fn line_of(address: u64) -> Line {
    Line(address / LINE_BYTES)
}

/// The place of `address` in its line, 0 to 63.
#[inline]
pub fn offset_of(address: u64) -> usize {
    (address % LINE_BYTES) as usize
}

/// Whether an address is a device's register.
#[inline]
pub fn is_uncached(address: u64) -> bool {
    (UNCACHED_BASE..PM_BASE).contains(&address)
}

/// Which controller owns which line: persistent controllers first, then those of DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressMap {
    /// Controllers of persistent memory.
    pub pm_controllers: usize,
    /// Controllers of DRAM.
    pub dram_controllers: usize,
    /// Consecutive bytes on one controller before the next takes over: 64 to 4096, a power of two.
    pub interleave_bytes: u64,
}

impl AddressMap {
    /// The controller of `line`.
    #[inline]
    pub fn controller(&self, line: Line) -> usize {
        if line.is_pm() {
            let block = (line.address() - PM_BASE) / self.interleave_bytes;
            (block % self.pm_controllers as u64) as usize
        } else {
            let block = line.address() / self.interleave_bytes;
            self.pm_controllers + (block % self.dram_controllers as u64) as usize
        }
    }

    /// All controllers.
    pub fn controllers(&self) -> usize {
        self.pm_controllers + self.dram_controllers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_alternate_between_controllers_and_dram_follows_pm() {
        let map = AddressMap { pm_controllers: 2, dram_controllers: 1, interleave_bytes: 256 };
        let at = |a| map.controller(line_of(a));
        assert_eq!([at(PM_BASE), at(PM_BASE + 255), at(PM_BASE + 256), at(PM_BASE + 512)], [0, 0, 1, 0]);
        assert_eq!(at(DRAM_BASE), 2);
    }
}
