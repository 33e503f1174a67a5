//! Lines on their way: requests, arrivals, and where the evicted go.

use super::caches::{Caches, Level, Slot, State};
use super::front::{Front, Wait};
use protocol::{Block, EpochTag, Grant, Line, Msg, Peer};
use units::{Places, Time};

/// A miss register.
struct Miss {
    /// It was asked for to store to it.
    to_store: bool,
    /// The line has arrived but could not be put in place yet.
    arrived: Option<(Block, Grant, Option<EpochTag>)>,
}

/// The miss registers in use, side by side in no order.
pub(super) struct Misses {
    registers: Vec<Miss>,
    /// Their lines.
    lines: Places,
}

impl Misses {
    pub(super) fn new(room: usize) -> Misses {
        Misses { registers: Vec::with_capacity(room), lines: Places::new(room) }
    }

    pub(super) fn len(&self) -> usize {
        self.registers.len()
    }

    #[inline]
    fn find(&self, line: Line) -> Option<usize> {
        self.lines.find(line.0, 0..self.len())
    }

    /// Whether a line has arrived that could not be put in place yet.
    pub(super) fn has_arrived(&self, line: Line) -> bool {
        self.find(line).is_some_and(|index| self.registers[index].arrived.is_some())
    }

    fn line(&self, index: usize) -> Line {
        Line(self.lines.number(index).expect("a register in use is a line's"))
    }

    fn add(&mut self, line: Line, to_store: bool) {
        self.lines.put(self.len(), line.0);
        self.registers.push(Miss { to_store, arrived: None });
    }

    /// Frees a register, whose place the last one takes; whether its line was to be stored to.
    fn take(&mut self, index: usize) -> bool {
        let last = self.len() - 1;
        let line = self.line(last);
        self.lines.put(index, line.0);
        self.lines.free(last);
        self.registers.swap_remove(index).to_store
    }
}

impl Front {
    /// Finds a line for an access at `at`, in the caches or among the evicted lines that still wait here.
    #[inline]
    pub(super) fn access(&mut self, at: Time, line: Line) -> Option<(Slot, Level)> {
        match self.caches.access(line) {
            None if !self.write_back.is_empty() => self.take_back(at, line),
            found => found,
        }
    }

    /// An evicted line is wanted again before it could leave.
    fn take_back(&mut self, at: Time, line: Line) -> Option<(Slot, Level)> {
        let index = self.write_back.iter().position(|v| v.line == line)?;
        let back = self.write_back.swap_remove(index);
        let slot = self.choose_victim(line);
        if self.caches.line(slot).is_some() {
            let waits = self.must_wait(&self.caches, slot);
            self.evict(at, slot, waits);
        }
        self.caches.fill(slot, line, State::Modified, &back.data);
        self.caches.set_written(slot, back.written);
        self.caches.set_released(slot, back.released);
        Some((slot, Level::L2))
    }

    pub(super) fn is_missing(&self, line: Line) -> bool {
        self.misses.find(line).is_some()
    }

    pub(super) fn has_miss_register(&self) -> bool {
        self.misses.len() < self.spec.outstanding_misses
    }

    /// Whether a line may be asked for that is to be stored to: not while stores stand still for flushes.
    pub(super) fn may_ask_to_store(&self) -> bool {
        self.has_miss_register()
            && self.store_misses < self.spec.outstanding_store_misses
            && !self.flushes_hold_stores()
    }

    /// Asks the directory for a line, after both private levels were looked up from `at` on.
    pub(super) fn request(&mut self, at: Time, line: Line, modify: bool) {
        debug_assert!(self.has_miss_register() && !self.is_missing(line));
        self.emit_line(at, line);
        self.stats.misses += 1;
        self.misses.add(line, modify);
        self.store_misses += usize::from(modify);
        let leaves = at + self.spec.l1.latency + self.spec.l2.latency;
        self.send(leaves, if modify { Msg::GetM { line } } else { Msg::GetS { line } });
        self.shrink_safe_time();
    }

    pub(super) fn arrived(
        &mut self,
        now: Time,
        line: Line,
        data: &Block,
        grant: Grant,
        tag: Option<EpochTag>,
    ) {
        let index = self.misses.find(line).expect("data was asked for");
        if !self.try_fill(now, index, data, grant, tag) {
            self.misses.registers[index].arrived = Some((*data, grant, tag));
        }
    }

    pub(super) fn retry_fills(&mut self, now: Time) {
        let mut index = 0;
        while index < self.misses.len() {
            let filled = match self.misses.registers[index].arrived {
                Some((data, grant, tag)) => self.try_fill(now, index, &data, grant, tag),
                None => false,
            };
            index += usize::from(!filled);
        }
    }

    /// Puts an arrived line in place; false when the epoch table or the write-back buffer has no room.
    fn try_fill(
        &mut self,
        now: Time,
        index: usize,
        data: &Block,
        grant: Grant,
        tag: Option<EpochTag>,
    ) -> bool {
        let line = self.misses.line(index);
        let present = self.caches.find(line);
        let slot = present.unwrap_or_else(|| self.choose_victim(line));
        let evicts = present.is_none() && self.caches.line(slot).is_some();
        let waits = evicts && self.must_wait(&self.caches, slot);
        if waits {
            let epoch = self.caches.written(slot).max(self.caches.released(slot));
            self.ordering.split(now, epoch, &mut self.outbox);
        }
        if waits && self.write_back.len() == self.spec.write_back_buffer {
            self.stats.path.write_back_waits += 1;
            return false;
        }
        let modify = grant == Grant::Modified;
        if let Some(tag) = tag
            && self.ordering.received(now, line, tag, modify, &mut self.outbox).is_err()
        {
            return false;
        }
        self.store_misses -= usize::from(self.misses.take(index));
        if evicts {
            self.evict(now, slot, waits);
        }
        self.place(slot, present.is_some(), line, data, grant);
        // The first, mostly, and one at the most.
        if let Some(at) = self.window.iter().position(|(_, touched)| *touched == line) {
            self.window.remove(at);
        }
        self.unblock_head(now);
        self.resume(now, Wait::Line(line));
        self.request_refused(now);
        true
    }

    /// A miss register is free: for the program, where it waits for one, or else for the oldest stores whose lines could not
    /// be asked for.
    fn request_refused(&mut self, now: Time) {
        if self.wait == Wait::MissRegister {
            return self.resume(now, Wait::MissRegister);
        }
        self.request_refused_stores(now);
    }

    /// The oldest stores whose lines could not be asked for ask again, as many as may. Cost: one comparison where there are none.
    pub(super) fn request_refused_stores(&mut self, now: Time) {
        while self.may_ask_to_store()
            && let Some(line) = self.store_buffer.take_refused()
        {
            let leaves = || self.write_back.iter().any(|victim| victim.line == line);
            if !self.is_missing(line) && self.caches.find(line).is_none() && !leaves() {
                self.request(now, line, true);
            }
        }
    }

    fn place(&mut self, slot: Slot, present: bool, line: Line, data: &Block, grant: Grant) {
        let state = if grant == Grant::Shared { State::Shared } else { State::Exclusive };
        if present {
            self.caches.set_state(slot, state);
            self.caches.set_data(slot, data);
        } else {
            self.caches.fill(slot, line, state, data);
        }
    }

    fn choose_victim(&self, line: Line) -> Slot {
        self.caches.choose(line, |caches, slot| self.must_wait(caches, slot))
    }

    /// Whether a line may not leave yet: its writes have not persisted, or a release that others must see
    /// has not committed (ASAP §V-F, write-back buffer).
    fn must_wait(&self, caches: &Caches, slot: Slot) -> bool {
        if !self.capabilities.orders_stores || caches.state(slot) != State::Modified {
            return false;
        }
        let last = caches.written(slot).max(caches.released(slot));
        last > self.ordering.committed()
            || caches.line(slot).is_some_and(|line| line.is_pm() && self.ordering.holds(line))
    }

    /// Gives the bytes of lines that the ordering model asks the caches for. They leave for the directory; the line
    /// stays, clean.
    pub(super) fn write_back_asked(&mut self) {
        for index in 0..self.outbox.0.len() {
            let (at, Peer::Caches, Msg::WriteBack { line, .. }) = self.outbox.0[index] else { continue };
            let data = match self.caches.find(line) {
                Some(slot) => {
                    if self.caches.state(slot) == State::Modified {
                        self.caches.set_state(slot, State::Exclusive);
                    }
                    *self.caches.data(slot)
                }
                None => {
                    self.write_back.iter().find(|v| v.line == line).expect("a line asked for is here").data
                }
            };
            self.asked.push(line);
            self.outbox.0[index] = (at, Peer::Directory, Msg::WriteBack { line, data });
        }
    }

    /// Whether an acknowledgement for a line answers the ordering model.
    pub(super) fn takes_written_back(&mut self, line: Line) -> bool {
        let asked = self.asked.iter().position(|l| *l == line);
        asked.is_some_and(|index| {
            self.asked.remove(index);
            true
        })
    }

    /// A line leaves the caches: for the write-back buffer where it `waits`, else for the directory. A clean one is dropped.
    pub(super) fn evict(&mut self, now: Time, slot: Slot, waits: bool) {
        if waits {
            self.write_back.push(self.caches.victim(slot));
        } else if self.caches.state(slot) == State::Modified
            && let Some(line) = self.caches.line(slot)
        {
            self.send(now, Msg::PutM { line, data: *self.caches.data(slot) });
        }
        self.caches.remove(slot);
    }

    pub(super) fn release_write_backs(&mut self, now: Time) {
        let mut index = 0;
        while index < self.write_back.len() {
            let v = &self.write_back[index];
            let last = v.written.max(v.released);
            if last > self.ordering.committed() || self.ordering.holds(v.line) {
                self.ordering.split(now, last, &mut self.outbox);
                index += 1;
                continue;
            }
            let v = self.write_back.swap_remove(index);
            self.send(now, Msg::PutM { line: v.line, data: v.data });
        }
        self.retry_fills(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Random;

    #[test]
    fn a_register_is_found_by_its_line_as_among_a_list() {
        for room in [1, 3, 12, 16, 17, 40] {
            let mut random = Random::new(room as u64, 0);
            let (mut misses, mut list) = (Misses::new(room), Vec::new());
            for _ in 0..2_000 {
                let line = Line(random.below(3 * room as u64));
                let place = list.iter().position(|(other, _)| *other == line);
                assert_eq!(misses.find(line), place, "{line:?} of {list:?}");
                match place {
                    Some(place) => {
                        assert_eq!(misses.line(place), line);
                        assert_eq!(misses.take(place), list.swap_remove(place).1);
                    }
                    None if list.len() < room => {
                        let to_store = random.chance(500);
                        misses.add(line, to_store);
                        list.push((line, to_store));
                    }
                    None => {}
                }
                assert_eq!(misses.len(), list.len());
            }
        }
    }
}
