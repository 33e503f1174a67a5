//! Where an address lives.

use std::ops::Range;

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

/// The most memories of one machine.
pub const MEMORIES: usize = 8;
/// Pages of a turn: by share, memories take so many pages each of every so many.
pub const TURN: usize = 16;
/// Addresses of a memory that gives programs' addresses other places: each has so many of its own.
const WINDOW: u64 = 1 << 40;

/// One memory of a machine: where programs' pages of it are, and its controllers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryPlace {
    /// Its first controller.
    pub first: usize,
    /// Its controllers.
    pub controllers: usize,
    /// Consecutive bytes on one controller before the next takes over.
    pub interleave_bytes: u64,
    /// The first page of its range, counted from the beginning of persistent memory, and how many; none by share.
    pub range: Option<(u64, u64)>,
    /// Pages that it takes of every [`TURN`] that are in no range.
    pub share: usize,
    /// Whether its addresses are a window of their own, because it gives programs' addresses other places.
    pub has_window: bool,
}

impl MemoryPlace {
    /// The numbers of its controllers among all of them.
    #[inline]
    pub fn numbers(&self) -> Range<usize> {
        self.first..self.first + self.controllers
    }
}

/// Which controller owns which line: persistent controllers first, then those of DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressMap {
    /// Controllers of persistent memory.
    pub pm_controllers: usize,
    /// Controllers of DRAM.
    pub dram_controllers: usize,
    /// Consecutive bytes on one controller before the next takes over: 64 to 4096, a power of two. Of DRAM, and of
    /// persistent memory where there is one.
    pub interleave_bytes: u64,
    memories: [MemoryPlace; MEMORIES],
    count: usize,
    /// The memory of each page of a turn.
    turn: [u8; TURN],
}

impl AddressMap {
    /// One persistent memory of so many controllers, beside DRAM.
    pub fn new(pm_controllers: usize, dram_controllers: usize, interleave_bytes: u64) -> AddressMap {
        let one = MemoryPlace {
            controllers: pm_controllers,
            interleave_bytes,
            share: TURN,
            ..MemoryPlace::default()
        };
        AddressMap::of(&[one], dram_controllers, interleave_bytes)
    }

    /// Several memories beside DRAM. Their first controllers follow from their order.
    ///
    /// # Panics
    /// When there are none or more than [`MEMORIES`], or shares that are not [`TURN`] together.
    pub fn of(memories: &[MemoryPlace], dram_controllers: usize, interleave_bytes: u64) -> AddressMap {
        assert!((1..=MEMORIES).contains(&memories.len()), "1 to {MEMORIES} memories");
        let mut map = AddressMap {
            pm_controllers: 0,
            dram_controllers,
            interleave_bytes,
            memories: [MemoryPlace::default(); MEMORIES],
            count: memories.len(),
            turn: [0; TURN],
        };
        for (place, memory) in map.memories.iter_mut().zip(memories) {
            *place = MemoryPlace { first: map.pm_controllers, ..*memory };
            map.pm_controllers += memory.controllers;
        }
        map.deal();
        map
    }

    /// Deals the pages of a turn: each goes to the memory that is farthest behind its share.
    fn deal(&mut self) {
        let shares: usize = self.memories().map(|m| m.share).sum();
        assert_eq!(shares, TURN, "shares are a turn's pages");
        let mut dealt = [0; MEMORIES];
        for page in 0..TURN {
            let behind = |m: &usize| {
                let wanted = (self.memories[*m].share * (page + 1)) as i64;
                (wanted - (dealt[*m] * TURN) as i64, usize::MAX - m)
            };
            let next = (0..self.count).filter(|m| dealt[*m] < self.memories[*m].share).max_by_key(behind);
            let next = next.unwrap_or_default();
            (self.turn[page], dealt[next]) = (next as u8, dealt[next] + 1);
        }
    }

    /// The memories, in their order.
    pub fn memories(&self) -> impl Iterator<Item = &MemoryPlace> {
        self.memories[..self.count].iter()
    }

    /// The memory at `index` of the list.
    pub fn memory(&self, index: usize) -> &MemoryPlace {
        &self.memories[index]
    }

    /// A map of the memory at `index` alone, and DRAM.
    pub fn only(&self, index: usize) -> AddressMap {
        let memory = &self.memories[index];
        AddressMap::new(memory.controllers, self.dram_controllers, memory.interleave_bytes)
    }

    /// The first address of the memory at `index` as its controllers are addressed.
    pub fn base(&self, index: usize) -> u64 {
        PM_BASE + if self.memories[index].has_window { (index as u64 + 1) * WINDOW } else { 0 }
    }

    /// The memory of an address of a program.
    pub fn memory_of(&self, address: u64) -> usize {
        if self.count == 1 {
            return 0;
        }
        let page = (address - PM_BASE) / PAGE_BYTES;
        let in_range =
            |m: &MemoryPlace| m.range.is_some_and(|(from, pages)| (from..from + pages).contains(&page));
        let ranged = self.memories().position(in_range);
        ranged.unwrap_or_else(|| usize::from(self.turn[page as usize % TURN]))
    }

    /// Whether an address is of the memory at `index` as programs address it.
    #[inline]
    pub fn is_of(&self, index: usize, address: u64) -> bool {
        let Some(offset) = address.checked_sub(PM_BASE) else { return false };
        self.count == 1 || offset < WINDOW && self.memory_of(address) == index
    }

    /// The page of the memory at `index` that a program addresses as page `page`, both counted from 0; a memory that
    /// translates has its pages without gaps.
    pub fn own_page(&self, index: usize, page: u64) -> u64 {
        let memory = &self.memories[index];
        if !memory.has_window {
            return page;
        }
        if let Some((from, _)) = memory.range {
            return page - from;
        }
        let before = self.turn[..page as usize % TURN].iter().filter(|m| usize::from(**m) == index).count();
        page / TURN as u64 * memory.share as u64 + before as u64
    }

    /// The page that a program addresses, of page `own` of the memory at `index`: the inverse of [`AddressMap::own_page`].
    pub fn program_page(&self, index: usize, own: u64) -> u64 {
        let memory = &self.memories[index];
        if !memory.has_window {
            return own;
        }
        if let Some((from, _)) = memory.range {
            return from + own;
        }
        let (turn, rank) = (own / memory.share as u64, (own % memory.share as u64) as usize);
        let mine = (0..TURN).filter(|page| usize::from(self.turn[*page]) == index);
        turn * TURN as u64 + mine.clone().nth(rank).unwrap_or_default() as u64
    }

    /// The controller of `line` as it is addressed behind translations.
    #[inline]
    pub fn controller(&self, line: Line) -> usize {
        if !line.is_pm() {
            let block = line.address() / self.interleave_bytes;
            return self.pm_controllers + (block % self.dram_controllers as u64) as usize;
        }
        let offset = line.address() - PM_BASE;
        if self.count == 1 {
            return (offset / self.interleave_bytes % self.pm_controllers as u64) as usize;
        }
        let window = (offset / WINDOW) as usize;
        let index = window.checked_sub(1).unwrap_or_else(|| self.memory_of(line.address()));
        let memory = &self.memories[index];
        memory.first + (offset % WINDOW / memory.interleave_bytes % memory.controllers as u64) as usize
    }

    /// The memory of a controller of persistent memory.
    pub fn memory_of_controller(&self, controller: usize) -> usize {
        self.memories().position(|m| m.numbers().contains(&controller)).unwrap_or(0)
    }

    /// Where a power failure leaves the line that a program addresses so: a controller, and the line in its image.
    pub fn place(&self, line: Line) -> (usize, Line) {
        if self.count == 1 {
            return (self.controller(line), line);
        }
        let index = self.memory_of(line.address());
        if !self.memories[index].has_window {
            return (self.controller(line), line);
        }
        let offset = line.address() - PM_BASE;
        let page = self.own_page(index, offset / PAGE_BYTES);
        let own = line_of(PM_BASE + page * PAGE_BYTES + offset % PAGE_BYTES);
        let memory = &self.memories[index];
        let block = (own.address() - PM_BASE) / memory.interleave_bytes;
        (memory.first + (block % memory.controllers as u64) as usize, own)
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
        let map = AddressMap::new(2, 1, 256);
        let at = |a| map.controller(line_of(a));
        assert_eq!([at(PM_BASE), at(PM_BASE + 255), at(PM_BASE + 256), at(PM_BASE + 512)], [0, 0, 1, 0]);
        assert_eq!(at(DRAM_BASE), 2);
    }

    fn memory(controllers: usize, share: usize, has_window: bool) -> MemoryPlace {
        MemoryPlace { controllers, interleave_bytes: 256, share, has_window, ..MemoryPlace::default() }
    }

    #[test]
    fn pages_are_dealt_by_share_and_come_back_to_where_they_were() {
        let map = AddressMap::of(&[memory(2, 4, false), memory(1, 12, true)], 1, 256);
        let of = |page: u64| map.memory_of(PM_BASE + page * PAGE_BYTES);
        assert_eq!((0..32).filter(|p| of(*p) == 0).count(), 8);
        for (seen, page) in (0..).zip((0..1000).filter(|p| of(*p) == 1)) {
            assert_eq!((map.own_page(1, page), map.program_page(1, seen)), (seen, page), "no gap, and back");
            let (controller, line) = map.place(line_of(PM_BASE + page * PAGE_BYTES + 64));
            assert_eq!((controller, line), (2, line_of(PM_BASE + seen * PAGE_BYTES + 64)));
        }
        assert_eq!(map.controller(line_of(map.base(1) + 5 * PAGE_BYTES)), 2, "behind its window");
    }

    #[test]
    fn a_range_is_one_memory_and_the_rest_another() {
        let near = MemoryPlace { range: Some((0, 10)), share: 0, ..memory(2, 0, false) };
        let map = AddressMap::of(&[near, memory(1, 16, false)], 1, 256);
        let at = |page: u64| map.controller(line_of(PM_BASE + page * PAGE_BYTES));
        assert_eq!([at(0), at(9), at(10), at(1 << 20)], [0, 0, 2, 2]);
        assert_eq!(map.memory_of_controller(1), 0);
        assert_eq!(map.memory_of_controller(2), 1);
    }
}
