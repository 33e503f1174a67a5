//! What is under way between the ends of a protocol.

use std::hash::Hash;

/// What can happen to a message under way. The number is its place on its wire, 0 where wires keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<E> {
    /// It arrives.
    Arrives(E, usize),
    /// It is lost.
    Lost(E, usize),
    /// It will come twice.
    Doubled(E, usize),
}

/// Channels between ends that `E` names. A wire keeps its messages in order if they are [sent](Wires::send), and in
/// none if they are [scattered](Wires::scatter): then each may arrive next. So many messages may be lost, and so many
/// come twice, as it was made with.
#[derive(Clone, Debug, Hash)]
pub struct Wires<E, M> {
    /// By wire; one vector, so that a state is copied with one allocation.
    under_way: Vec<(E, M)>,
    losses: u8,
    duplicates: u8,
}

impl<E: Ord + Copy + Hash, M: Clone + Hash> Wires<E, M> {
    /// Nothing under way, and nothing will be lost.
    pub fn new() -> Wires<E, M> {
        Wires::unreliable(0, 0)
    }

    /// Nothing under way; so many messages may be lost, and so many come twice.
    pub fn unreliable(losses: u8, duplicates: u8) -> Wires<E, M> {
        Wires { under_way: Vec::new(), losses, duplicates }
    }

    /// Puts a message behind all others of its wire.
    pub fn send(&mut self, wire: E, message: M) {
        // Few are under way: looking at each is cheaper than halving.
        let place = self.under_way.iter().rposition(|(w, _)| *w <= wire).map_or(0, |last| last + 1);
        self.under_way.insert(place, (wire, message));
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether something is under way on a wire.
    pub fn is_waiting(&self, wire: E) -> bool {
        self.find(wire, 0).is_some()
    }

    /// Everything under way, wire by wire.
    pub fn iter(&self) -> impl Iterator<Item = (E, &M)> {
        self.under_way.iter().map(|(wire, message)| (*wire, message))
    }

    /// The wires on which something is under way, in order.
    pub fn ends(&self) -> impl Iterator<Item = E> + '_ {
        let first = |at: &usize| *at == 0 || self.under_way[at - 1].0 != self.under_way[*at].0;
        (0..self.under_way.len()).filter(first).map(|at| self.under_way[at].0)
    }

    /// What comes out of a wire next.
    pub fn take(&mut self, wire: E) -> Option<M> {
        self.take_at(wire, 0)
    }

    /// The message at a place of a wire comes out.
    fn take_at(&mut self, wire: E, place: usize) -> Option<M> {
        let at = self.find(wire, place)?;
        Some(self.under_way.remove(at).1)
    }

    fn find(&self, wire: E, place: usize) -> Option<usize> {
        let at = self.under_way.iter().position(|(w, _)| *w == wire)? + place;
        self.under_way.get(at).filter(|(w, _)| *w == wire).map(|_| at)
    }
}

impl<E: Ord + Copy + Hash, M: Clone + Hash + Ord> Wires<E, M> {
    /// Puts a message on a wire that keeps no order.
    pub fn scatter(&mut self, wire: E, message: M) {
        let new = (wire, message);
        let place = self.under_way.partition_point(|old| *old <= new);
        self.under_way.insert(place, new);
    }

    /// All that can happen to scattered messages.
    pub fn events(&self) -> impl Iterator<Item = Event<E>> + '_ {
        let mut place = 0;
        let places = self.under_way.iter().enumerate().map(move |(at, (wire, _))| {
            let same = at > 0 && self.under_way[at - 1].0 == *wire;
            place = if same { place + 1 } else { 0 };
            (*wire, place)
        });
        places.flat_map(|(wire, n)| {
            let lost = (self.losses > 0).then_some(Event::Lost(wire, n));
            let doubled = (self.duplicates > 0).then_some(Event::Doubled(wire, n));
            [Some(Event::Arrives(wire, n)), lost, doubled].into_iter().flatten()
        })
    }

    /// Lets an event happen; gives the message that arrives, if one does.
    pub fn happen(&mut self, event: Event<E>) -> Option<M> {
        match event {
            Event::Arrives(wire, place) => return self.take_at(wire, place),
            Event::Lost(wire, place) => {
                self.take_at(wire, place)?;
                self.losses -= 1;
            }
            Event::Doubled(wire, place) => {
                let at = self.find(wire, place)?;
                self.duplicates -= 1;
                let twice = self.under_way[at].clone();
                self.under_way.insert(at, twice);
            }
        }
        None
    }
}

impl<E: Ord + Copy + Hash, M: Clone + Hash> Default for Wires<E, M> {
    fn default() -> Wires<E, M> {
        Wires::new()
    }
}
