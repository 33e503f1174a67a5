//! Which entries of a buffer are of a line: chains of slots by a few bits of the line's number.

use protocol::Line;

const NO_SLOT: u16 = u16::MAX;

/// The slots that are used, by line. It follows from the entries.
#[derive(Clone)]
pub(super) struct ByLine {
    /// By slot, and by chain: twice as many chains as slots, so that most have one slot at most.
    places: Vec<Place>,
}

/// A slot in its chain; and the first slot of the chain whose number is this slot's.
#[derive(Clone, Copy)]
struct Place {
    line: Line,
    before: u16,
    after: u16,
    first: u16,
}

impl ByLine {
    pub(super) fn new(slots: usize) -> ByLine {
        let chains = (2 * slots).next_power_of_two();
        debug_assert!(chains <= usize::from(NO_SLOT), "the end of a chain is no place");
        let free = Place { line: Line(0), before: NO_SLOT, after: NO_SLOT, first: NO_SLOT };
        ByLine { places: vec![free; chains] }
    }

    #[inline]
    fn chain(&self, line: Line) -> usize {
        // Lines that follow each other, and those of two regions, are on chains of their own.
        ((line.0 ^ line.0 >> 12) as usize) & (self.places.len() - 1)
    }

    /// A free slot is used.
    pub(super) fn add(&mut self, line: Line, slot: u16) {
        let chain = self.chain(line);
        let after = std::mem::replace(&mut self.places[chain].first, slot);
        let own = &mut self.places[usize::from(slot)];
        (own.line, own.before, own.after) = (line, NO_SLOT, after);
        if let Some(next) = self.places.get_mut(usize::from(after)) {
            next.before = slot;
        }
    }

    /// A slot is free.
    pub(super) fn remove(&mut self, slot: u16) {
        let Place { line, before, after, first: _ } = self.places[usize::from(slot)];
        let chain = self.chain(line);
        match self.places.get_mut(usize::from(before)) {
            Some(last) => last.after = after,
            None => self.places[chain].first = after,
        }
        if let Some(next) = self.places.get_mut(usize::from(after)) {
            next.before = before;
        }
    }

    /// The slots of a line, in no order.
    #[inline]
    pub(super) fn of(&self, line: Line) -> impl Iterator<Item = u16> + '_ {
        let mut at = self.places[self.chain(line)].first;
        std::iter::from_fn(move || {
            while let Some(slot) = self.places.get(usize::from(at)) {
                let found = std::mem::replace(&mut at, slot.after);
                if slot.line == line {
                    return Some(found);
                }
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Random;

    #[test]
    fn the_slots_of_a_line_are_those_of_a_list() {
        let (mut r, mut by_line, mut list) = (Random::new(1, 0), ByLine::new(24), [None; 24]);
        for _ in 0..20_000 {
            let slot = r.below(24) as usize;
            match list[slot].take() {
                Some(_) => by_line.remove(slot as u16),
                None => {
                    let line = Line(r.below(9) << r.below(13));
                    list[slot] = Some(line);
                    by_line.add(line, slot as u16);
                }
            }
            let line = Line(r.below(9) << r.below(13));
            let mut found: Vec<u16> = by_line.of(line).collect();
            found.sort_unstable();
            let wanted = (0..24).filter(|s| list[usize::from(*s)] == Some(line));
            assert_eq!(found, wanted.collect::<Vec<u16>>());
        }
    }
}
