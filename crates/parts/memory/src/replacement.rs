//! Which slot of a cache goes: the order of slots under each rule, in one set or in many.

const NONE: u32 = u32::MAX;

/// A rule of replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, params::Words, Hash)]
pub enum Replacement {
    /// The least recently cached goes: first in, first out. All that page faults reveal; as published.
    Lrc,
    /// The least recently used goes. Needs to see every access.
    Lru,
    /// As LRC, but a slot that was used since goes to the end once. Needs an accessed bit.
    Clock,
}

/// Slots in a list for each set, the next to go first. Every operation is a handful of writes.
#[derive(Clone, Debug, Hash)]
pub struct Order {
    rule: Replacement,
    /// Slots of a set, which lie one after the other.
    ways: u32,
    next: Vec<u32>,
    before: Vec<u32>,
    used: Vec<bool>,
    /// Of each set.
    first: Vec<u32>,
    last: Vec<u32>,
}

impl Order {
    /// One set of so many slots, none of which is in its list.
    pub fn new(rule: Replacement, slots: u32) -> Order {
        Order::of_sets(rule, 1, slots)
    }

    /// So many sets of `ways` slots each.
    pub fn of_sets(rule: Replacement, sets: u32, ways: u32) -> Order {
        let (slots, ends) = (vec![NONE; (sets * ways) as usize], vec![NONE; sets as usize]);
        Order {
            rule,
            ways,
            used: vec![false; slots.len()],
            next: slots.clone(),
            before: slots,
            first: ends.clone(),
            last: ends,
        }
    }

    fn set(&self, slot: u32) -> usize {
        (slot / self.ways) as usize
    }

    /// A page was put into a slot that is in no list.
    pub fn cached(&mut self, slot: u32) {
        self.used[slot as usize] = false;
        self.append(slot);
    }

    /// A slot's page was used.
    pub fn touch(&mut self, slot: u32) {
        match self.rule {
            Replacement::Lrc => {}
            Replacement::Lru => {
                self.take(slot);
                self.append(slot);
            }
            Replacement::Clock => self.used[slot as usize] = true,
        }
    }

    /// Takes out the slot of the first set that goes next; none when no slot is in its list.
    pub fn victim(&mut self) -> Option<u32> {
        self.victim_of(0)
    }

    /// The same of any set.
    pub fn victim_of(&mut self, set: u32) -> Option<u32> {
        loop {
            let slot = self.first[set as usize];
            if slot == NONE {
                return None;
            }
            self.take(slot);
            if self.rule != Replacement::Clock || !std::mem::take(&mut self.used[slot as usize]) {
                return Some(slot);
            }
            self.append(slot);
        }
    }

    fn append(&mut self, slot: u32) {
        let set = self.set(slot);
        let last = std::mem::replace(&mut self.last[set], slot);
        (self.before[slot as usize], self.next[slot as usize]) = (last, NONE);
        if last == NONE {
            self.first[set] = slot;
        } else {
            self.next[last as usize] = slot;
        }
    }

    fn take(&mut self, slot: u32) {
        let (set, before, next) = (self.set(slot), self.before[slot as usize], self.next[slot as usize]);
        match before {
            NONE => self.first[set] = next,
            _ => self.next[before as usize] = next,
        }
        match next {
            NONE => self.last[set] = before,
            _ => self.before[next as usize] = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_gives_its_own_slots_away_and_no_others() {
        let mut order = Order::of_sets(Replacement::Lru, 4, 3);
        (0..12).for_each(|slot| order.cached(slot));
        order.touch(3);
        assert_eq!([(); 4].map(|()| order.victim_of(1)), [Some(4), Some(5), Some(3), None]);
        assert_eq!(order.victim_of(0), Some(0));
        order.cached(4);
        assert_eq!((order.victim_of(1), order.victim_of(3)), (Some(4), Some(9)));
    }
}
