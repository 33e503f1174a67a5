//! Which slot goes: the order of slots under each rule.

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

/// Slots in a list, the next to go first. Every operation is a handful of writes.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Order {
    rule: Replacement,
    next: Vec<u32>,
    before: Vec<u32>,
    used: Vec<bool>,
    first: u32,
    last: u32,
}

impl Order {
    pub(crate) fn new(rule: Replacement, slots: u32) -> Order {
        let none = vec![NONE; slots as usize];
        Order {
            rule,
            next: none.clone(),
            before: none,
            used: vec![false; slots as usize],
            first: NONE,
            last: NONE,
        }
    }

    /// A page was put into a slot that is in no list.
    pub(crate) fn cached(&mut self, slot: u32) {
        self.used[slot as usize] = false;
        self.append(slot);
    }

    /// A slot's page was used.
    pub(crate) fn touch(&mut self, slot: u32) {
        match self.rule {
            Replacement::Lrc => {}
            Replacement::Lru => {
                self.take(slot);
                self.append(slot);
            }
            Replacement::Clock => self.used[slot as usize] = true,
        }
    }

    /// Takes out the slot that goes next; none when no slot is in the list.
    pub(crate) fn victim(&mut self) -> Option<u32> {
        loop {
            let slot = self.first;
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
        (self.before[slot as usize], self.next[slot as usize]) = (self.last, NONE);
        if self.last == NONE {
            self.first = slot;
        } else {
            self.next[self.last as usize] = slot;
        }
        self.last = slot;
    }

    fn take(&mut self, slot: u32) {
        let (before, next) = (self.before[slot as usize], self.next[slot as usize]);
        match before {
            NONE => self.first = next,
            _ => self.next[before as usize] = next,
        }
        match next {
            NONE => self.last = before,
            _ => self.before[next as usize] = before,
        }
    }
}
