//! Requests of the directory: other cores want a line.

use super::caches::State;
use super::front::Front;
use protocol::{Block, EpochTag, Line, Msg, Snoop};
use units::Time;

impl Front {
    pub(super) fn snoop(&mut self, now: Time, line: Line, kind: Snoop) {
        if self.try_snoop(now, line, kind).is_none() {
            self.deferred.push_back((line, kind));
        }
    }

    pub(super) fn retry_snoops(&mut self, now: Time) {
        for _ in 0..self.deferred.len() {
            let Some((line, kind)) = self.deferred.pop_front() else { return };
            self.snoop(now, line, kind);
        }
    }

    /// Answers a snoop; none when it has to wait: the line has arrived but is not in place yet, or the open
    /// epoch cannot be closed for want of room in the epoch table. The table drains without the coherence
    /// protocol's help, so this wait ends.
    fn try_snoop(&mut self, now: Time, line: Line, kind: Snoop) -> Option<()> {
        if self.misses.has_arrived(line) {
            return None;
        }
        let (data, tag) = match self.write_back.iter().position(|v| v.line == line) {
            Some(index) => self.snoop_write_back(now, index)?,
            None => self.snoop_caches(now, line, kind)?,
        };
        let held = line.is_pm() && self.capabilities.persist_path && self.ordering.holds(line);
        if held && !self.owed.contains(&line) {
            self.owed.push(line);
        } else if held {
            // One notice is owed already, and one will be sent.
            self.send(now, Msg::SnoopReply { line, data, tag, held: false });
            return Some(());
        }
        self.send(now, Msg::SnoopReply { line, data, tag, held });
        Some(())
    }

    fn snoop_write_back(&mut self, now: Time, index: usize) -> Option<(Option<Block>, Option<EpochTag>)> {
        let v = &self.write_back[index];
        let tag = self.ordering.snooped(now, v.line, v.written, v.released, &mut self.outbox).ok()?;
        let v = self.write_back.swap_remove(index);
        Some((Some(v.data), tag))
    }

    fn snoop_caches(
        &mut self,
        now: Time,
        line: Line,
        kind: Snoop,
    ) -> Option<(Option<Block>, Option<EpochTag>)> {
        let Some(slot) = self.caches.find(line) else { return Some((None, None)) };
        // A shared copy was answered for when it became one; the directory remembers its tag.
        let (written, released) = match self.caches.state(slot) {
            State::Shared => (0, 0),
            State::Modified | State::Exclusive => (self.caches.written(slot), self.caches.released(slot)),
        };
        let tag = self.ordering.snooped(now, line, written, released, &mut self.outbox).ok()?;
        let data = (self.caches.state(slot) == State::Modified).then(|| *self.caches.data(slot));
        match kind {
            Snoop::Share => self.caches.set_state(slot, State::Shared),
            Snoop::Invalidate => {
                self.caches.remove(slot);
            }
        }
        Some((data, tag))
    }

    /// Tells the directory of lines that were handed over early and have persisted since.
    pub(super) fn settle_owed(&mut self, now: Time) {
        let mut index = 0;
        while index < self.owed.len() {
            if self.ordering.holds(self.owed[index]) {
                index += 1;
                continue;
            }
            let line = self.owed.swap_remove(index);
            self.send(now, Msg::Drained { line });
        }
    }
}
