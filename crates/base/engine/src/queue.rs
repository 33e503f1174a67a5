//! The event queue: small sortable handles; the messages wait in a slab.

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

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Handle {
    key: Key,
    slot: u32,
    to: u16,
    port: u8,
}

/// The next few events in a sorted list, the rest in a heap. A push costs a short shift of 32-byte handles.
pub(crate) struct EventQueue<M> {
    /// Sorted, latest first, so that the next event is popped from the end.
    near: Vec<Handle>,
    far: BinaryHeap<Reverse<Handle>>,
    slab: Vec<M>,
    free: Vec<u32>,
}

impl<M: Copy> EventQueue<M> {
    const NEAR: usize = 32;

    pub(crate) fn new() -> EventQueue<M> {
        EventQueue {
            near: Vec::with_capacity(Self::NEAR + 1),
            far: BinaryHeap::with_capacity(256),
            slab: Vec::with_capacity(256),
            free: Vec::with_capacity(256),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, key: Key, to: NodeId, port: PortId, msg: M) {
        let slot = self.store(msg);
        let handle = Handle { key, slot, to: to.0, port: port.0 };
        if self.far.peek().is_some_and(|f| key > f.0.key) {
            self.far.push(Reverse(handle));
            return;
        }
        let place = self.near.iter().rposition(|h| h.key > key).map_or(0, |i| i + 1);
        self.near.insert(place, handle);
        if self.near.len() > Self::NEAR {
            self.far.extend(self.near.drain(..Self::NEAR / 2).map(Reverse));
        }
    }

    #[inline]
    pub(crate) fn next_at(&mut self) -> Option<Time> {
        self.refill();
        self.near.last().map(|h| h.key.at())
    }

    #[inline]
    pub(crate) fn pop(&mut self, msg: &mut M) -> Option<(Time, NodeId, PortId)> {
        self.refill();
        let h = self.near.pop()?;
        self.free.push(h.slot);
        *msg = self.slab[h.slot as usize];
        Some((h.key.at(), NodeId(h.to), PortId(h.port)))
    }

    #[inline]
    fn store(&mut self, msg: M) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slab[slot as usize] = msg;
            slot
        } else {
            self.slab.push(msg);
            (self.slab.len() - 1) as u32
        }
    }

    #[inline]
    fn refill(&mut self) {
        if !self.near.is_empty() {
            return;
        }
        while self.near.len() < Self::NEAR / 2 {
            let Some(Reverse(h)) = self.far.pop() else { break };
            self.near.push(h);
        }
        self.near.reverse();
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
                    let (at, rank) = (Time::from_ps(now + r.below(1 << (1 + seed % 12))), r.below(7) as u16);
                    queue.push(Key::new(at, rank, n), NodeId(rank), PortId(0), n);
                    map.insert((at, rank, n), n);
                } else {
                    let ((at, ..), n) = map.pop_first().unwrap();
                    now = at.ps();
                    assert_eq!(queue.next_at(), Some(at));
                    let mut msg = 0;
                    let (popped, ..) = queue.pop(&mut msg).unwrap();
                    assert_eq!((popped, msg), (at, n));
                }
            }
        }
    }
}
