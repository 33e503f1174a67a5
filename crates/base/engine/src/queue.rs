//! The event queue: a timing wheel over a slab of messages, and a heap for what is far away.

use crate::{NodeId, PortId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::select_unpredictable;
use units::Time;

/// The total order of events: time, then rank of the source, then the source's own counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u128);

impl Key {
    const COUNTER_BITS: u32 = 48;

    #[inline]
    pub(crate) fn new(at: Time, rank: u16, counter: u64) -> Key {
        debug_assert!(counter > 0, "sources count from one on: zero is before all events");
        debug_assert!(counter >> Self::COUNTER_BITS == 0, "a source sends fewer than 2^48 messages");
        Key(u128::from(at.ps()) << 64 | u128::from(rank) << Self::COUNTER_BITS | u128::from(counter))
    }

    #[inline]
    fn at(self) -> Time {
        Time::from_ps((self.0 >> 64) as u64)
    }
}

/// A place: the first ones are the slots' own, which stand before the first event of each, and the others are events'.
type Place = u32;

const NOBODY: Place = Place::MAX;

struct Event<M> {
    to: u16,
    port: u8,
    /// Whether it is kept in mind as one without lookahead: what was asked of the message once.
    immediate: bool,
    msg: M,
}

/// A timing wheel: events of the next 262 ns hang in slots of 4 ns, each slot's in order; one word tells which slots
/// are used. The rest waits in a heap until the wheel has come round. Cost of a push: a look at the last event of a slot, or a walk
/// along its few; of a pop: finding the first bit of a word. No event is moved. Whether a slot has events, and whether the next
/// event is of the slot of the one before, no processor can guess: no jump depends on it.
pub(crate) struct EventQueue<M> {
    events: Vec<Event<M>>,
    /// When the event of each place comes; at zero, before all, where it is a slot's own.
    keys: Vec<Key>,
    /// What comes behind each place in its slot, or the next free place.
    nexts: Vec<Place>,
    free: Place,
    /// The last event of each slot, or the slot's own place.
    lasts: [Place; SLOTS],
    /// The event that was last hung before another, of each slot that has it still, or the slot's own place: the next often comes behind it.
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
        // Each slot's own place.
        let own = std::array::from_fn(|slot| slot as Place);
        EventQueue {
            events: Vec::with_capacity(256),
            keys: vec![Key(0); SLOTS],
            nexts: vec![NOBODY; SLOTS],
            free: NOBODY,
            lasts: own,
            hints: own,
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
        if let Some(event) = self.events.get_mut((place as usize).wrapping_sub(SLOTS)) {
            self.free = self.nexts[place as usize];
            self.keys[place as usize] = key;
            // Field by field: the message is copied once, and not by way of the stack.
            (event.to, event.port, event.immediate) = (to.0, port.0, immediate);
            event.msg = *msg;
            return self.hang(key, place);
        }
        let place = self.keys.len() as Place;
        self.events.push(Event { to: to.0, port: port.0, immediate, msg: *msg });
        self.keys.push(key);
        self.nexts.push(NOBODY);
        self.hang(key, place);
    }

    /// Every event of the queue with its time, in no order: all places of events but the free ones.
    pub(crate) fn events(&self) -> impl Iterator<Item = (Time, &M)> {
        let mut free = vec![false; self.keys.len()];
        let mut place = self.free;
        while place != NOBODY {
            free[place as usize] = true;
            place = self.nexts[place as usize];
        }
        let places = self.events.iter().zip(&self.keys[SLOTS..]).zip(free.into_iter().skip(SLOTS));
        places.filter(|(_, free)| !free).map(|((event, key), _)| (key.at(), &event.msg))
    }

    #[inline]
    pub(crate) fn next_at(&self) -> Option<Time> {
        if self.used == 0 {
            return self.far.peek().map(|first| first.0.0.at());
        }
        Some(self.keys[self.nexts[self.first_slot()] as usize].at())
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
        let slot = self.first_slot();
        let place = self.nexts[slot];
        let key = self.keys[place as usize];
        if key.at() > last {
            return None;
        }
        let event = &self.events[place as usize - SLOTS];
        *msg = event.msg;
        let (to, port, immediate) = (event.to, event.port, event.immediate);
        let after = std::mem::replace(&mut self.nexts[place as usize], self.free);
        self.free = place;
        self.nexts[slot] = after;
        let own = slot as Place;
        let is_empty = after == NOBODY;
        self.lasts[slot] = select_unpredictable(is_empty, own, self.lasts[slot]);
        self.hints[slot] = select_unpredictable(self.hints[slot] == place, own, self.hints[slot]);
        self.used &= !(u64::from(is_empty) << slot);
        self.turn = slot_of(key);
        if self.far_turn - self.turn < SLOTS as u64 {
            self.bring_near();
        }
        Some((key.at(), NodeId(to), PortId(port), immediate))
    }

    /// The slot of the first event on the wheel, which has one.
    #[inline]
    fn first_slot(&self) -> usize {
        let ahead = self.used.rotate_right(self.turn as u32 % u64::BITS).trailing_zeros();
        (self.turn + u64::from(ahead)) as usize % SLOTS
    }

    /// Hangs an event into its slot, behind those that come before it; into the heap when the wheel does not reach it.
    #[inline]
    fn hang(&mut self, key: Key, place: Place) {
        debug_assert!(slot_of(key) >= self.turn, "no event is pushed into the past");
        if slot_of(key) - self.turn >= SLOTS as u64 {
            return self.leave_for_later(key, place);
        }
        let slot = slot_of(key) as usize % SLOTS;
        self.used |= 1 << slot;
        // Most come after all others.
        let last = self.lasts[slot];
        if self.keys[last as usize] < key {
            self.nexts[last as usize] = place;
            self.nexts[place as usize] = NOBODY;
            self.lasts[slot] = place;
            return;
        }
        self.hang_before(key, place, slot);
    }

    /// The same of one that comes before another of its slot.
    fn hang_before(&mut self, key: Key, place: Place, slot: usize) {
        let hint = self.hints[slot];
        let mut before = if self.keys[hint as usize] < key { hint } else { slot as Place };
        self.hints[slot] = place;
        let mut after = self.nexts[before as usize];
        // The last one comes after it.
        while self.keys[after as usize] < key {
            before = after;
            after = self.nexts[after as usize];
        }
        self.nexts[place as usize] = after;
        self.nexts[before as usize] = place;
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
            for n in 1..=2_000u64 {
                if r.chance(550) || map.is_empty() {
                    let (at, rank) = (Time::from_ps(now + r.below(1 << (1 + seed % 24))), r.below(7) as u16);
                    queue.push(Key::new(at, rank, n), NodeId(rank), PortId(0), n % 3 == 0, &n);
                    map.insert((at, rank, n), n);
                    if n % 64 == 0 {
                        let mut waiting: Vec<_> = queue.events().map(|(at, n)| (*n, at)).collect();
                        waiting.sort_unstable();
                        let mut sorted: Vec<_> = map.keys().map(|(at, _, n)| (*n, *at)).collect();
                        sorted.sort_unstable();
                        assert_eq!(waiting, sorted);
                    }
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
