//! The event queue: a timing wheel over a slab of messages, and a heap for what is far away.

use crate::{NodeId, PortId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Time;

/// The total order of events: time, then rank of the source, then the source's own counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u128);

impl Key {
    const COUNTER_BITS: u32 = 48;

    #[inline]
    pub(crate) fn new(at: Time, rank: u16, counter: u64) -> Key {
        debug_assert!(counter >> Self::COUNTER_BITS == 0, "a source sends fewer than 2^48 messages");
        Key(u128::from(at.ps()) << 64 | u128::from(rank) << Self::COUNTER_BITS | u128::from(counter))
    }

    #[inline]
    fn at(self) -> Time {
        Time::from_ps((self.0 >> 64) as u64)
    }
}

/// A place in the slab.
type Place = u32;

const NOBODY: Place = Place::MAX;

struct Event<M> {
    key: Key,
    to: u16,
    port: u8,
    /// Whether it is kept in mind as one without lookahead: what was asked of the message once.
    immediate: bool,
    /// The next one in the same slot, or the next free place.
    next: Place,
    msg: M,
}

/// A timing wheel: events of the next 262 ns hang in slots of 4 ns, each slot's in order; one word tells which slots
/// are used. The rest waits in a heap until the wheel has come round. Cost of a push: a look at the last event of a slot, or a walk
/// along its few; of a pop: finding the first bit of a word. No event is moved.
pub(crate) struct EventQueue<M> {
    slab: Vec<Event<M>>,
    free: Place,
    slots: [Place; SLOTS],
    /// The last event of each slot that is used.
    lasts: [Place; SLOTS],
    /// The event that was last hung before another, of each slot that is used and has it still: the next often comes behind it.
    hints: [Place; SLOTS],
    used: u64,
    /// The slot of the last event popped, counted from power-on: the wheel holds this one and those that follow.
    turn: u64,
    far: BinaryHeap<Reverse<(Key, Place)>>,
    /// The slot of the heap's first event, [`u64::MAX`] when it has none.
    far_turn: u64,
}

const SLOTS: usize = u64::BITS as usize;
/// A slot is 2^12 ps: the wheel reaches as far as a read of persistent memory, and few events share a slot.
const SLOT_BITS: u32 = 12;

fn slot_of(key: Key) -> u64 {
    key.at().ps() >> SLOT_BITS
}

impl<M: Copy> EventQueue<M> {
    pub(crate) fn new() -> EventQueue<M> {
        EventQueue {
            slab: Vec::with_capacity(256),
            free: NOBODY,
            slots: [NOBODY; SLOTS],
            lasts: [NOBODY; SLOTS],
            hints: [NOBODY; SLOTS],
            used: 0,
            turn: 0,
            far: BinaryHeap::with_capacity(256),
            far_turn: u64::MAX,
        }
    }

    /// Takes an event in; it is not earlier than the last one popped.
    #[inline]
    pub(crate) fn push(&mut self, key: Key, to: NodeId, port: PortId, immediate: bool, msg: &M) {
        let place = self.free;
        if let Some(event) = self.slab.get_mut(place as usize) {
            self.free = event.next;
            // Field by field: the message is copied once, and not by way of the stack.
            (event.key, event.to, event.port, event.immediate) = (key, to.0, port.0, immediate);
            event.msg = *msg;
            return self.hang(key, place);
        }
        let place = self.slab.len() as Place;
        self.slab.push(Event { key, to: to.0, port: port.0, immediate, next: NOBODY, msg: *msg });
        self.hang(key, place);
    }

    /// Every event of the queue with its time, in no order: all places of the slab but the free ones.
    pub(crate) fn events(&self) -> impl Iterator<Item = (Time, &M)> {
        let mut free = vec![false; self.slab.len()];
        let mut place = self.free;
        while let Some(event) = self.slab.get(place as usize) {
            free[place as usize] = true;
            place = event.next;
        }
        self.slab.iter().zip(free).filter(|(_, free)| !free).map(|(event, _)| (event.key.at(), &event.msg))
    }

    #[inline]
    pub(crate) fn next_at(&self) -> Option<Time> {
        match self.first() {
            Some(place) => Some(self.slab[place as usize].key.at()),
            None => self.far.peek().map(|first| first.0.0.at()),
        }
    }

    /// The next event, if it comes by `last`, and whether it is immediate; its message is written to `msg`.
    #[inline]
    pub(crate) fn pop(&mut self, last: Time, msg: &mut M) -> Option<(Time, NodeId, PortId, bool)> {
        if self.used == 0 {
            let far = self.far.peek()?.0.0;
            if far.at() > last {
                return None;
            }
            self.turn = slot_of(far);
            self.bring_near();
        }
        let place = self.first()?;
        let event = &mut self.slab[place as usize];
        if event.key.at() > last {
            return None;
        }
        *msg = event.msg;
        let (key, to, port, immediate) = (event.key, event.to, event.port, event.immediate);
        let after = std::mem::replace(&mut event.next, self.free);
        self.free = place;
        let turn = slot_of(key);
        let slot = turn as usize % SLOTS;
        self.slots[slot] = after;
        if self.hints[slot] == place {
            self.hints[slot] = NOBODY;
        }
        self.used &= !(u64::from(after == NOBODY) << slot);
        if turn != self.turn {
            self.turn = turn;
            if self.far_turn - turn < SLOTS as u64 {
                self.bring_near();
            }
        }
        Some((key.at(), NodeId(to), PortId(port), immediate))
    }

    /// The first event on the wheel.
    #[inline]
    fn first(&self) -> Option<Place> {
        let ahead = self.used.rotate_right(self.turn as u32 % u64::BITS).trailing_zeros();
        let place = self.slots[(self.turn + u64::from(ahead)) as usize % SLOTS];
        (place != NOBODY).then_some(place)
    }

    /// Hangs an event into its slot, behind those that come before it; into the heap when the wheel does not reach it.
    #[inline]
    fn hang(&mut self, key: Key, place: Place) {
        debug_assert!(slot_of(key) >= self.turn, "no event is pushed into the past");
        if slot_of(key) - self.turn >= SLOTS as u64 {
            return self.leave_for_later(key, place);
        }
        let slot = slot_of(key) as usize % SLOTS;
        if self.used >> slot & 1 == 0 {
            self.used |= 1 << slot;
            self.slab[place as usize].next = NOBODY;
            (self.slots[slot], self.lasts[slot]) = (place, place);
            return;
        }
        // Most come after all others.
        let last = &mut self.slab[self.lasts[slot] as usize];
        if last.key < key {
            last.next = place;
            self.slab[place as usize].next = NOBODY;
            self.lasts[slot] = place;
            return;
        }
        self.hang_before(key, place, slot);
    }

    /// The same of one that comes before another of its slot.
    fn hang_before(&mut self, key: Key, place: Place, slot: usize) {
        let hint = self.slab.get(self.hints[slot] as usize).filter(|event| event.key < key);
        let (mut before, mut after) =
            hint.map_or((NOBODY, self.slots[slot]), |event| (self.hints[slot], event.next));
        self.hints[slot] = place;
        while let Some(event) = self.slab.get(after as usize).filter(|event| event.key < key) {
            before = after;
            after = event.next;
        }
        self.slab[place as usize].next = after;
        match self.slab.get_mut(before as usize) {
            Some(event) => event.next = place,
            None => self.slots[slot] = place,
        }
    }

    #[inline(never)]
    fn leave_for_later(&mut self, key: Key, place: Place) {
        self.far.push(Reverse((key, place)));
        self.far_turn = self.far_turn.min(slot_of(key));
    }

    /// The wheel has turned: what comes within its reach leaves the heap.
    #[inline(never)]
    fn bring_near(&mut self) {
        self.far_turn = u64::MAX;
        while let Some(Reverse((key, place))) = self.far.peek().copied() {
            if slot_of(key) - self.turn >= SLOTS as u64 {
                self.far_turn = slot_of(key);
                return;
            }
            self.far.pop();
            self.hang(key, place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use units::Random;

    #[test]
    fn the_queue_pops_in_the_order_of_a_sorted_map() {
        for seed in 0..200 {
            let mut r = Random::new(seed, 0);
            let (mut queue, mut map) = (EventQueue::new(), BTreeMap::new());
            let mut now = 0;
            for n in 0..2_000u64 {
                if r.chance(550) || map.is_empty() {
                    let (at, rank) = (Time::from_ps(now + r.below(1 << (1 + seed % 24))), r.below(7) as u16);
                    queue.push(Key::new(at, rank, n), NodeId(rank), PortId(0), n % 3 == 0, &n);
                    map.insert((at, rank, n), n);
                } else {
                    let ((at, ..), n) = map.pop_first().unwrap();
                    now = at.ps();
                    assert_eq!(queue.next_at(), Some(at));
                    let mut msg = 0;
                    let (popped, .., immediate) = queue.pop(Time::NEVER, &mut msg).unwrap();
                    assert_eq!((popped, msg, immediate), (at, n, n % 3 == 0));
                }
            }
        }
    }
}
