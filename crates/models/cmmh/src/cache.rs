//! The DRAM as a cache of pages: which page is in which slot, and the bytes.

use memory::Replacement;
use memory::replacement::Order;
use protocol::{Block, Image, Line, LineWrite, PAGE_BYTES, SharedPage};

/// What is in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Free,
    /// Kept for a page that is on its way.
    Filling,
    Page {
        number: u32,
        is_changed: bool,
    },
}

/// A page that has left its slot.
pub(crate) struct Evicted {
    pub(crate) page: u32,
    /// Its bytes, where they are not the NAND's.
    pub(crate) changed: Option<SharedPage>,
}

/// Slots in sets. Bytes are kept by the host's address.
#[derive(Clone)]
pub(crate) struct Cache {
    sets: u32,
    ways: u32,
    slots: Vec<Slot>,
    order: Order,
    bytes: Image,
}

impl Cache {
    /// Empty, of a memory that begins at `base`.
    pub(crate) fn new(base: u64, sets: u32, ways: u32, rule: Replacement) -> Cache {
        let slots = vec![Slot::Free; (sets * ways) as usize];
        Cache { sets, ways, slots, order: Order::of_sets(rule, sets, ways), bytes: Image::new(base) }
    }

    fn address(&self, page: u32) -> u64 {
        self.bytes.base() + u64::from(page) * PAGE_BYTES
    }

    /// Pages of a host lie anywhere: their numbers are mixed.
    fn set_of(&self, page: u32) -> u32 {
        (units::mix(u64::from(page)) % u64::from(self.sets)) as u32
    }

    fn slots_of(&self, page: u32) -> std::ops::Range<u32> {
        let first = self.set_of(page) * self.ways;
        first..first + self.ways
    }

    /// The slot that a page is in. Cost: a look at each of its set.
    pub(crate) fn find(&self, page: u32) -> Option<u32> {
        let has =
            |slot: &u32| matches!(self.slots[*slot as usize], Slot::Page { number, .. } if number == page);
        self.slots_of(page).find(has)
    }

    /// A slot for a page that is in none, and the page that has to leave it; none where every slot of its set is being
    /// filled.
    pub(crate) fn make_room(&mut self, page: u32) -> Option<(u32, Option<Evicted>)> {
        let free = self.slots_of(page).find(|slot| self.slots[*slot as usize] == Slot::Free);
        let slot = free.or_else(|| self.order.victim_of(self.set_of(page)))?;
        let evicted = match std::mem::replace(&mut self.slots[slot as usize], Slot::Filling) {
            Slot::Free | Slot::Filling => None,
            Slot::Page { number, is_changed } => {
                let address = self.address(number);
                let bytes = self.bytes.page(address);
                self.bytes.put_page(address, None);
                let blank = || SharedPage::new([0; PAGE_BYTES as usize]);
                Some(Evicted { page: number, changed: is_changed.then(|| bytes.unwrap_or_else(blank)) })
            }
        };
        Some((slot, evicted))
    }

    /// The page that `slot` was kept for is there.
    pub(crate) fn fill(&mut self, slot: u32, page: u32, bytes: SharedPage) {
        debug_assert_eq!(self.slots[slot as usize], Slot::Filling, "kept for it");
        self.slots[slot as usize] = Slot::Page { number: page, is_changed: false };
        self.bytes.put_page(self.address(page), Some(bytes));
        self.order.cached(slot);
    }

    /// A line of a page that is in `slot`.
    pub(crate) fn read(&mut self, slot: u32, line: Line) -> Block {
        self.order.touch(slot);
        self.bytes.read(line)
    }

    /// A line of a page that is in `slot` changes.
    pub(crate) fn write(&mut self, slot: u32, write: &LineWrite) {
        self.order.touch(slot);
        if let Slot::Page { is_changed, .. } = &mut self.slots[slot as usize] {
            *is_changed = true;
        }
        self.bytes.write(write.line, &write.data, write.mask);
    }

    /// A line as it is, whoever used it last.
    pub(crate) fn peek(&self, line: Line) -> Block {
        self.bytes.read(line)
    }

    /// The pages in it, slot by slot: whether each was changed, and its bytes; none where all of them are zero.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (u32, bool, Option<SharedPage>)> + '_ {
        self.slots.iter().filter_map(|slot| match *slot {
            Slot::Free | Slot::Filling => None,
            Slot::Page { number, is_changed } => {
                Some((number, is_changed, self.bytes.page(self.address(number))))
            }
        })
    }
}
