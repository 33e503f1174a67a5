//! The DRAM as a cache of pages: which page is in which slot, and the bytes.

use crate::mutant::Mutant;
use memory::Replacement;
use memory::replacement::Order;
use protocol::{Block, Image, Line, LineWrite, PAGE_BYTES, SharedPage};
use std::hash::{Hash, Hasher};

/// What is in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// What stored energy does for a page when the power fails.
pub(crate) enum Kept {
    /// It brings it to the NAND; no bytes where all of them are zero.
    Saved(Option<SharedPage>),
    /// None is left for it.
    Lost,
}

/// Slots in sets. Bytes are kept by the host's address.
#[derive(Clone)]
pub(crate) struct Cache {
    sets: u32,
    /// Slots of a set; sets from `whole` on have one less, and the number of their last is nobody's.
    ways: u32,
    whole: u32,
    slots: Vec<Slot>,
    order: Order,
    bytes: Image,
    mutant: Option<Mutant>,
}

/// Bytes are those of the pages in it.
impl Hash for Cache {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Cache { sets: _, ways: _, whole: _, slots, order, bytes: _, mutant: _ } = self;
        (slots, order).hash(into);
        self.pages().for_each(|page| page.hash(into));
    }
}

impl Cache {
    /// Empty, of a memory that begins at `base`: so many slots in as few sets as have `ways` at most, all of them alike
    /// but for one.
    pub(crate) fn new(base: u64, count: u32, ways: u32, rule: Replacement) -> Cache {
        let sets = count.div_ceil(ways);
        let ways = count.div_ceil(sets);
        let whole = count - sets * (ways - 1);
        let slots = vec![Slot::Free; (sets * ways) as usize];
        let order = Order::of_sets(rule, sets, ways);
        Cache { sets, ways, whole, slots, order, bytes: Image::new(base), mutant: None }
    }

    /// The same with a mistake in it.
    pub(crate) fn seeded(self, mutant: Option<Mutant>) -> Cache {
        Cache { mutant, ..self }
    }

    pub(crate) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn address(&self, page: u32) -> u64 {
        self.bytes.base() + u64::from(page) * PAGE_BYTES
    }

    /// Pages of a host lie anywhere: their numbers are mixed.
    fn set_of(&self, page: u32) -> u32 {
        (units::mix(u64::from(page)) % u64::from(self.sets)) as u32
    }

    fn slots_of(&self, page: u32) -> std::ops::Range<u32> {
        let set = self.set_of(page);
        let first = set * self.ways;
        first..first + self.ways - u32::from(set >= self.whole)
    }

    /// The slot that a page is in. Cost: a look at each of its set.
    pub(crate) fn find(&self, page: u32) -> Option<u32> {
        let has =
            |slot: &u32| matches!(self.slots[*slot as usize], Slot::Page { number, .. } if number == page);
        self.slots_of(page).find(has)
    }

    /// Whether a page that is in no slot could get one.
    pub(crate) fn has_room(&self, page: u32) -> bool {
        self.slots_of(page).any(|slot| self.slots[slot as usize] != Slot::Filling)
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
                let is_changed = is_changed && !self.is(Mutant::DropsChanged);
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
            *is_changed = self.mutant != Some(Mutant::KeepsClean);
        }
        self.bytes.write(write.line, &write.data, write.mask);
    }

    /// A line as it is, whoever used it last.
    pub(crate) fn peek(&self, line: Line) -> Block {
        self.bytes.read(line)
    }

    /// The power fails: changed pages are saved slot by slot, `energy` of them; each is told.
    pub(crate) fn power_fails(&self, energy: u64, each: &mut dyn FnMut(u32, Kept)) {
        let pages = self.pages().filter(|(_, is_changed, _)| *is_changed || self.is(Mutant::SavesUnchanged));
        for (nth, (page, _, bytes)) in (0..).zip(pages) {
            match nth < energy {
                true => each(page, Kept::Saved(bytes)),
                false if self.is(Mutant::LosesQuietly) => {}
                false => each(page, Kept::Lost),
            }
        }
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
