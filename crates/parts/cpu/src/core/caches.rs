//! The two private caches. The second level includes the first and holds the bytes; the first is a set of
//! tags that say which lines are close.

use crate::tags::Tags;
use crate::{CacheShape, least_from};
use protocol::{Block, EpochId, Line};

/// MESI state of a line in a private cache; absent lines are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Shared,
    Exclusive,
    Modified,
}

/// Where a line was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    L1,
    L2,
}

/// A line's place in the second level.
pub(super) use crate::tags::Slot;

/// Above every tick: part of the age of a place that is taken.
const TAKEN: u64 = 1 << 63;

/// A line that leaves the private caches.
pub(super) struct Victim {
    pub(super) line: Line,
    pub(super) data: Block,
    pub(super) written: EpochId,
    pub(super) released: EpochId,
}

/// Writes a little-endian number of 1 to 8 bytes into a block, or a word into all of it.
#[inline]
pub(super) fn put(block: &mut Block, at: usize, size: u8, value: u64) {
    let bytes = value.to_le_bytes();
    match usize::from(size) {
        8 => block[at..at + 8].copy_from_slice(&bytes), // One instruction: by far the most frequent.
        64 => block.as_chunks_mut().0.fill(bytes),
        size => block[at..at + size].copy_from_slice(&bytes[..size]),
    }
}

pub(super) struct Caches {
    l1: CacheShape,
    l1_lines: Tags,
    l1_slots: Vec<u32>,
    l1_ages: Vec<u64>,
    l1_recent: Vec<u8>,
    l2_lines: Tags,
    l2_ages: Vec<u64>,
    states: Vec<State>,
    data: Vec<Block>,
    written: Vec<EpochId>,
    released: Vec<EpochId>,
    tick: u64,
}

impl Caches {
    pub(super) fn new(l1: CacheShape, l2: CacheShape) -> Caches {
        let (n1, n2) = (l1.lines(), l2.lines());
        Caches {
            l1,
            l1_lines: Tags::new(l1),
            l1_slots: vec![0; n1],
            l1_ages: vec![0; n1],
            l1_recent: vec![0; l1.sets],
            l2_lines: Tags::new(l2),
            l2_ages: vec![0; n2],
            states: vec![State::Shared; n2],
            data: vec![[0; 64]; n2],
            written: vec![0; n2],
            released: vec![0; n2],
            tick: 0,
        }
    }

    /// The place of a line that is the one asked for last in its set of the first level.
    #[inline]
    pub(super) fn recent(&self, line: Line) -> Option<Slot> {
        let set = self.l1.set_of(line);
        let place = set * self.l1.ways + self.l1_recent[set] as usize;
        self.l1_lines.is_at(place, line).then(|| self.l1_slots[place] as Slot)
    }

    /// Finds a line for an access and brings it close. Cost on a first-level hit: one tag comparison when the
    /// set's last line is asked for again, one pass over the set otherwise.
    #[inline]
    pub(super) fn access(&mut self, line: Line) -> Option<(Slot, Level)> {
        if let Some(slot) = self.recent(line) {
            return Some((slot, Level::L1));
        }
        self.tick += 1;
        if let Some(place) = self.l1_lines.find(line) {
            let set = self.l1.set_of(line);
            self.l1_recent[set] = (place - set * self.l1.ways) as u8;
            self.l1_ages[place] = self.tick;
            return Some((self.l1_slots[place] as Slot, Level::L1));
        }
        let slot = self.find(line)?;
        self.l2_ages[slot] = TAKEN | self.tick;
        self.bring_close(line, slot);
        Some((slot, Level::L2))
    }

    /// Finds a line without touching its age.
    #[inline]
    pub(super) fn find(&self, line: Line) -> Option<Slot> {
        self.l2_lines.find(line)
    }

    fn bring_close(&mut self, line: Line, slot: Slot) {
        let set = self.l1.set_of(line);
        let first = set * self.l1.ways;
        // A free place has age 0, and so goes first.
        let (_, way) = least_from(&self.l1_ages[first..first + self.l1.ways], 0);
        self.l1_lines.put(first + way, line);
        self.l1_slots[first + way] = slot as u32;
        self.l1_ages[first + way] = self.tick;
        self.l1_recent[set] = way as u8;
    }

    /// Where a new line may go: a free place, or the least recently used one, those that `busy` names last. Mostly that one
    /// is not busy, and no other is asked about.
    pub(super) fn choose(&self, line: Line, busy: impl Fn(&Caches, Slot) -> bool) -> Slot {
        let (taken, oldest) = self.oldest(line, 0).expect("a set has ways");
        let (mut age, mut slot) = (taken, oldest);
        while age >= TAKEN && busy(self, slot) {
            let Some(next) = self.oldest(line, age + 1) else { return oldest };
            (age, slot) = next;
        }
        slot
    }

    /// The place of the least age from `least` on: free ones first.
    fn oldest(&self, line: Line, least: u64) -> Option<(u64, Slot)> {
        let set = self.l2_lines.set(line);
        let (age, way) = least_from(&self.l2_ages[set.clone()], least);
        (age != u64::MAX).then_some((age, set.start + way))
    }

    /// The line in a place, none when it is free.
    pub(super) fn line(&self, slot: Slot) -> Option<Line> {
        self.l2_lines.line(slot)
    }

    /// Puts a line into a place that is free.
    pub(super) fn fill(&mut self, slot: Slot, line: Line, state: State, data: &Block) {
        debug_assert!(self.line(slot).is_none());
        self.tick += 1;
        self.l2_lines.put(slot, line);
        self.l2_ages[slot] = TAKEN | self.tick;
        self.states[slot] = state;
        self.data[slot] = *data;
        self.written[slot] = 0;
        self.released[slot] = 0;
        self.bring_close(line, slot);
    }

    /// Takes a line out of both levels. Its bytes are not read: that is a miss of the host's own caches, and most that leave are clean.
    pub(super) fn remove(&mut self, slot: Slot) {
        let line = self.line(slot).expect("a line leaves a place that it has");
        self.l2_lines.clear(slot);
        self.l2_ages[slot] &= !TAKEN;
        if let Some(place) = self.l1_lines.find(line) {
            self.l1_lines.clear(place);
            self.l1_ages[place] = 0;
        }
    }

    /// A line as it leaves for the write-back buffer.
    pub(super) fn victim(&self, slot: Slot) -> Victim {
        Victim {
            line: self.line(slot).expect("a line leaves a place that it has"),
            data: self.data[slot],
            written: self.written[slot],
            released: self.released[slot],
        }
    }

    #[inline]
    pub(super) fn state(&self, slot: Slot) -> State {
        self.states[slot]
    }

    #[inline]
    pub(super) fn set_state(&mut self, slot: Slot, state: State) {
        self.states[slot] = state;
    }

    #[inline]
    pub(super) fn data(&self, slot: Slot) -> &Block {
        &self.data[slot]
    }

    pub(super) fn set_data(&mut self, slot: Slot, data: &Block) {
        self.data[slot] = *data;
    }

    pub(super) fn written(&self, slot: Slot) -> EpochId {
        self.written[slot]
    }

    pub(super) fn set_written(&mut self, slot: Slot, epoch: EpochId) {
        self.written[slot] = epoch;
    }

    pub(super) fn released(&self, slot: Slot) -> EpochId {
        self.released[slot]
    }

    pub(super) fn set_released(&mut self, slot: Slot, epoch: EpochId) {
        self.released[slot] = epoch;
    }

    /// Reads a little-endian number of 1 to 8 bytes.
    #[inline]
    pub(super) fn read(&self, slot: Slot, at: usize, size: u8) -> u64 {
        let block = &self.data[slot];
        if at + 8 <= 64 {
            let word = protocol::word_of(block, at);
            return word & (u64::MAX >> (64 - 8 * u32::from(size)));
        }
        let mut word = [0; 8];
        word[..size as usize].copy_from_slice(&block[at..at + size as usize]);
        u64::from_le_bytes(word)
    }

    /// Writes a little-endian number of 1 to 8 bytes.
    #[inline]
    pub(super) fn write(&mut self, slot: Slot, at: usize, size: u8, value: u64) {
        put(&mut self.data[slot], at, size, value);
    }

    /// Every modified line with its bytes.
    pub(super) fn modified(&self) -> impl Iterator<Item = (Line, &Block)> {
        let changed = (0..self.l2_lines.count()).filter(|slot| self.states[*slot] == State::Modified);
        changed.filter_map(|slot| Some((self.line(slot)?, &self.data[slot])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use units::Dur;

    fn shape(sets: usize, ways: usize) -> CacheShape {
        CacheShape { sets, ways, latency: Dur::ns(1), index: crate::Index::Modulo }
    }

    /// As a list of lines for each set of each level, the least recently used first.
    #[derive(Default)]
    struct Lists {
        l1: BTreeMap<usize, Vec<u64>>,
        l2: BTreeMap<usize, Vec<u64>>,
    }

    fn use_now(list: &mut Vec<u64>, line: u64) {
        list.retain(|l| *l != line);
        list.push(line);
    }

    proptest! {
        /// Two levels against lists: what is found where, what leaves, and that bytes stay with their line.
        #[test]
        fn lines_are_found_where_the_least_recently_used_have_made_room(
            accesses in prop::collection::vec((0..24_u64, any::<bool>()), 1..200),
            sets in prop::sample::select(&[(2, 4), (3, 4), (1, 3), (2, 5)][..])
        ) {
            let (l1, l2) = (shape(sets.0, 2), shape(sets.1, 3));
            let (mut caches, mut lists) = (Caches::new(l1, l2), Lists::default());
            let mut bytes: BTreeMap<u64, u64> = BTreeMap::new();
            for (n, (number, write)) in accesses.into_iter().enumerate() {
                let line = Line(number);
                let (close, far) = (l1.set_of(line), l2.set_of(line));
                let (close, far) = (lists.l1.entry(close).or_default(), lists.l2.entry(far).or_default());
                let expected = match (close.contains(&number), far.contains(&number)) {
                    (true, _) => Some(Level::L1),
                    (false, true) => Some(Level::L2),
                    (false, false) => None,
                };
                let found = caches.access(line);
                prop_assert_eq!(found.map(|(_, level)| level), expected);
                let slot = found.map_or_else(|| {
                    let slot = caches.choose(line, |_, _| false);
                    if let Some(old) = caches.line(slot) {
                        let victim = caches.victim(slot);
                        caches.remove(slot);
                        assert_eq!(victim.line, old);
                        assert_eq!(victim.data[..8], bytes.remove(&old.0).unwrap_or(0).to_le_bytes());
                    }
                    caches.fill(slot, line, State::Exclusive, &[0; 64]);
                    slot
                }, |(slot, _)| slot);
                // A hit close by leaves the age in the second level as it is.
                if expected != Some(Level::L1) {
                    if expected.is_none() && far.len() == l2.ways {
                        let gone = far.remove(0);
                        lists.l1.values_mut().for_each(|list| list.retain(|l| *l != gone));
                    }
                    use_now(lists.l2.entry(l2.set_of(line)).or_default(), number);
                }
                let close = lists.l1.entry(l1.set_of(line)).or_default();
                use_now(close, number);
                if close.len() > l1.ways {
                    close.remove(0);
                }
                prop_assert_eq!(caches.recent(line), Some(slot));
                prop_assert_eq!(caches.read(slot, 0, 8), bytes.get(&number).copied().unwrap_or(0));
                if write {
                    caches.write(slot, 0, 8, n as u64);
                    caches.set_state(slot, State::Modified);
                    bytes.insert(number, n as u64);
                }
            }
            let changed: BTreeMap<u64, u64> = caches.modified().map(|(l, b)| (l.0, u64::from_le_bytes(b[..8].try_into().unwrap()))).collect();
            prop_assert_eq!(changed, bytes);
        }
    }

    #[test]
    fn a_busy_line_goes_only_where_no_other_can() {
        let mut caches = Caches::new(shape(1, 1), shape(1, 2));
        for number in [1, 2] {
            let slot = caches.choose(Line(number), |_, _| false);
            caches.fill(slot, Line(number), State::Shared, &[number as u8; 64]);
        }
        let is = |wanted: u64| move |c: &Caches, slot| c.line(slot) == Some(Line(wanted));
        let chosen = |caches: &Caches, slot| caches.line(slot);
        assert_eq!(chosen(&caches, caches.choose(Line(3), is(1))), Some(Line(2)));
        assert_eq!(chosen(&caches, caches.choose(Line(3), is(2))), Some(Line(1)));
        assert_eq!(chosen(&caches, caches.choose(Line(3), |_, _| true)), Some(Line(1)), "the older one");
    }

    #[test]
    fn numbers_of_all_sizes_are_read_and_written_to_the_end_of_a_line() {
        let mut caches = Caches::new(shape(1, 1), shape(1, 1));
        caches.fill(0, Line(0), State::Modified, &[0xEE; 64]);
        for size in [1_u8, 2, 4, 8] {
            let at = 64 - usize::from(size);
            caches.write(0, at, size, 0x1122_3344_5566_7788);
            let low = 0x1122_3344_5566_7788 & (u64::MAX >> (64 - 8 * u32::from(size)));
            assert_eq!(caches.read(0, at, size), low);
            assert_eq!(caches.data(0)[at - 1], 0xEE, "and not beside it");
        }
    }
}
