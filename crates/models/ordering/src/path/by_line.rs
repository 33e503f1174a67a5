//! Which entries of a buffer are of a line: chains of slots by a few bits of the line's number.

use protocol::Line;

const NO_SLOT: u16 = u16::MAX;

/// The slots that are used, by line. It follows from the entries.
#[derive(Clone)]
pub(super) struct ByLine {
    /// The first slot of each chain; twice as many chains as slots, so that most have one slot at most.
    first: Vec<u16>,
    slots: Vec<Slot>,
}

/// A slot in its chain.
#[derive(Clone, Copy)]
struct Slot {
    line: Line,
    before: u16,
    after: u16,
}

impl ByLine {
    pub(super) fn new(slots: usize) -> ByLine {
        let chains = (2 * slots).next_power_of_two();
        let free = Slot { line: Line(0), before: NO_SLOT, after: NO_SLOT };
        ByLine { first: vec![NO_SLOT; chains], slots: vec![free; slots] }
    }

    #[inline]
    fn chain(&self, line: Line) -> usize {
        // Lines that follow each other, and those of two regions, are on chains of their own.
        ((line.0 ^ line.0 >> 12) as usize) & (self.first.len() - 1)
    }

    /// A free slot is used.
    pub(super) fn add(&mut self, line: Line, slot: u16) {
        let chain = self.chain(line);
        let after = std::mem::replace(&mut self.first[chain], slot);
        self.slots[usize::from(slot)] = Slot { line, before: NO_SLOT, after };
        if let Some(next) = self.slots.get_mut(usize::from(after)) {
            next.before = slot;
        }
    }

    /// A slot is free.
    pub(super) fn remove(&mut self, slot: u16) {
        let Slot { line, before, after } = self.slots[usize::from(slot)];
        let chain = self.chain(line);
        match self.slots.get_mut(usize::from(before)) {
            Some(last) => last.after = after,
            None => self.first[chain] = after,
        }
        if let Some(next) = self.slots.get_mut(usize::from(after)) {
            next.before = before;
        }
    }

    /// The slots of a line, in no order.
    #[inline]
    pub(super) fn of(&self, line: Line) -> impl Iterator<Item = u16> + '_ {
        let mut at = self.first[self.chain(line)];
        std::iter::from_fn(move || {
            while let Some(slot) = self.slots.get(usize::from(at)) {
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
