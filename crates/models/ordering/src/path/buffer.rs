//! The persist buffer: writes on their way to a controller, in the order in which they became visible.

use super::BufferStats;
use super::by_line::ByLine;
use protocol::{EpochId, Line, LineWrite, WouldBlock};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use units::Time;

/// A write in the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) write: LineWrite,
    pub(crate) epoch: EpochId,
    /// Its place in program order.
    sequence: u64,
    /// When its last byte became visible.
    pub(crate) at: Time,
    /// Refused by a controller; goes again when its epoch is safe.
    pub(crate) refused: bool,
    /// Sent, and not answered yet.
    pub(crate) flying: bool,
    /// A release wrote it.
    pub(crate) released: bool,
}

/// Entry `e` as the explorer tells it from others: places in program order matter only relative to each other.
fn hash_entry<H: Hasher>(slots: &[Option<Entry>], e: &Entry, into: &mut H) {
    let Entry { write, epoch, sequence, at: _, refused, flying, released } = e;
    let older = slots.iter().flatten().filter(|o| o.sequence < *sequence).count();
    (write, epoch, older, refused, flying, released).hash(into);
}

/// What decides about the future, without times and counts.
impl Hash for PersistBuffer {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let PersistBuffer { slots, by_line: _, unsent, free, stats: _ } = self;
        for (slot, entry) in slots.iter().enumerate().filter_map(|(slot, e)| Some((slot, e.as_ref()?))) {
            slot.hash(into);
            hash_entry(slots, entry, into);
        }
        (unsent, free).hash(into);
    }
}

/// A bounded set of entries. Those not yet sent keep their order; an entry is free once it is acknowledged.
#[derive(Clone)]
pub(crate) struct PersistBuffer {
    slots: Vec<Option<Entry>>,
    by_line: ByLine,
    unsent: VecDeque<u16>,
    free: Vec<u16>,
    pub(crate) stats: BufferStats,
}

impl PersistBuffer {
    pub(crate) fn new(entries: usize) -> PersistBuffer {
        PersistBuffer {
            slots: vec![None; entries],
            by_line: ByLine::new(entries),
            unsent: VecDeque::with_capacity(entries),
            free: (0..entries as u16).rev().collect(),
            stats: BufferStats::default(),
        }
    }

    /// Takes a write in; true when it needed an entry of its own. A write joins an unsent entry of its line
    /// and epoch.
    pub(crate) fn insert(
        &mut self,
        now: Time,
        write: &LineWrite,
        epoch: EpochId,
    ) -> Result<bool, WouldBlock> {
        if let Some(slot) = self.joined(write.line, epoch) {
            self.merge(now, slot, write);
            return Ok(false);
        }
        let free = self.free.pop().ok_or(WouldBlock)?;
        self.by_line.add(write.line, free);
        self.slots[free as usize] = Some(Entry {
            write: *write,
            epoch,
            sequence: self.stats.entries,
            at: now,
            refused: false,
            flying: false,
            released: false,
        });
        self.unsent.push_back(free);
        self.stats.entries += 1;
        self.stats.persist_buffer.set(now, self.used());
        Ok(true)
    }

    /// The entry that a write of `epoch` joins.
    #[inline]
    fn joined(&self, line: Line, epoch: EpochId) -> Option<u16> {
        if !self.may_join(epoch) {
            return None;
        }
        let joined = self.unsent_on(line).filter(|(_, e)| e.epoch == epoch && !e.refused);
        joined.max_by_key(|(_, e)| e.sequence).map(|(slot, _)| slot)
    }

    /// Whether a write may join an entry of `epoch`: entries keep program order, so none is there unless the youngest is.
    #[inline]
    fn may_join(&self, epoch: EpochId) -> bool {
        self.youngest().and_then(|slot| self.entry(slot)).is_some_and(|e| e.epoch == epoch)
    }

    /// Whether there is certainly no room for a write of `epoch`.
    pub(crate) fn is_closed(&self, epoch: EpochId) -> bool {
        self.free.is_empty() && !self.may_join(epoch)
    }

    /// Takes a write into the unsent entry of its line, whatever epoch that is of, and gives the epoch.
    pub(crate) fn join(&mut self, now: Time, write: &LineWrite) -> Option<EpochId> {
        let slot = self.oldest_on(write.line)?;
        self.merge(now, slot, write)
    }

    /// Takes a write into an entry, and gives its epoch.
    fn merge(&mut self, now: Time, slot: u16, write: &LineWrite) -> Option<EpochId> {
        let entry = self.slots[usize::from(slot)].as_mut()?;
        entry.write.merge(write);
        entry.at = now;
        self.stats.coalesced_stores += 1;
        Some(entry.epoch)
    }

    /// The youngest unsent entry is a release's.
    pub(crate) fn released(&mut self) {
        if let Some(entry) = self.youngest().and_then(|slot| self.slots[usize::from(slot)].as_mut()) {
            entry.released = true;
        }
    }

    /// Unsent entries, oldest first: those of an epoch before those of the next.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (u16, &Entry)> {
        self.unsent.iter().filter_map(|slot| Some((*slot, self.slots[usize::from(*slot)].as_ref()?)))
    }

    /// The oldest unsent entry.
    pub(crate) fn oldest(&self) -> Option<(u16, &Entry)> {
        let slot = *self.unsent.front()?;
        self.slots[slot as usize].as_ref().map(|e| (slot, e))
    }

    /// The oldest unsent entry, where it is of `epoch`: entries keep program order, so no older epoch follows.
    pub(crate) fn oldest_of(&self, epoch: EpochId) -> Option<u16> {
        self.oldest().filter(|(_, e)| e.epoch == epoch).map(|(slot, _)| slot)
    }

    /// The youngest unsent entry.
    pub(crate) fn youngest(&self) -> Option<u16> {
        self.unsent.back().copied()
    }

    /// Unsent entries of a line, in no order.
    fn unsent_on(&self, line: Line) -> impl Iterator<Item = (u16, &Entry)> {
        let used = |slot: u16| Some((slot, self.entry(slot)?));
        self.by_line.of(line).filter_map(used).filter(|(_, e)| !e.flying)
    }

    fn entry(&self, slot: u16) -> Option<&Entry> {
        self.slots[usize::from(slot)].as_ref()
    }

    /// The oldest unsent entry of a line.
    pub(crate) fn oldest_on(&self, line: Line) -> Option<u16> {
        self.unsent_on(line).min_by_key(|(_, e)| e.sequence).map(|(slot, _)| slot)
    }

    /// The epoch of the oldest unsent entry of a line.
    pub(crate) fn oldest_epoch_on(&self, line: Line) -> Option<EpochId> {
        self.unsent_on(line).min_by_key(|(_, e)| e.sequence).map(|(_, e)| e.epoch)
    }

    /// Marks an entry as sent and gives it.
    pub(crate) fn send(&mut self, slot: u16) -> Entry {
        if self.unsent.front() == Some(&slot) {
            self.unsent.pop_front();
        } else {
            self.unsent.retain(|s| *s != slot);
        }
        let entry = self.slots[slot as usize].as_mut().expect("a sent entry is used");
        entry.flying = true;
        *entry
    }

    /// Frees an acknowledged entry and gives its epoch.
    pub(crate) fn acknowledge(&mut self, now: Time, slot: u16) -> EpochId {
        let entry = self.slots[slot as usize].take().expect("an acknowledged entry is used");
        self.by_line.remove(slot);
        self.free.push(slot);
        self.stats.persist_buffer.set(now, self.used());
        entry.epoch
    }

    /// Puts a refused entry back into its place in program order, and gives its epoch. Younger entries of the same line and epoch
    /// may have been accepted meanwhile: their bytes go along, so that the retry cannot bring old ones back.
    pub(crate) fn refuse(&mut self, slot: u16) -> EpochId {
        let mut entry = self.slots[slot as usize].expect("a refused entry is used");
        entry.refused = true;
        entry.flying = false;
        let is_younger = |e: &&Entry| {
            e.sequence > entry.sequence && e.epoch == entry.epoch && e.write.line == entry.write.line
        };
        let mut younger: Vec<Entry> = self.slots.iter().flatten().filter(is_younger).copied().collect();
        younger.sort_by_key(|e| e.sequence);
        younger.iter().for_each(|e| entry.write.merge(&e.write));
        self.slots[slot as usize] = Some(entry);
        let after = |s: &u16| self.slots[*s as usize].as_ref().is_some_and(|e| e.sequence > entry.sequence);
        let place = self.unsent.iter().position(after).unwrap_or(self.unsent.len());
        self.unsent.insert(place, slot);
        entry.epoch
    }

    pub(crate) fn unsent(&self) -> usize {
        self.unsent.len()
    }

    pub(crate) fn used(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(crate) fn holds(&self, line: Line) -> bool {
        self.by_line.of(line).next().is_some()
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.slots.iter().flatten()
    }
}
