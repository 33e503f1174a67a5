//! The store buffer's head becomes visible: stores, locked operations, flushes and fences, one at a time.

use super::account::Blocked;
use super::caches::{Slot, State, put};
use super::combining::Combining;
use super::front::{Front, Wait};
use super::store_buffer::{Entry, Kind};
use protocol::{
    Block, FenceKind, FlushKind, Flushed, Line, LineWrite, Msg, Peer, RmwKind, mask_of, offset_of,
};
use units::{Dur, Time};

/// How long after its step the next entry may act; `None` when the entry has to be looked at again then.
type Step = Result<(Dur, bool), Blocked>;

const AGAIN: bool = false;
const DONE: bool = true;

impl Front {
    /// Whether the head is a plain store that the ordering model need not hear of.
    #[inline]
    pub(super) fn head_is_alone(&self) -> bool {
        let Some(head) = self.store_buffer.head() else { return false };
        head.is_plain_store()
            && !(self.capabilities.orders_stores && head.line().is_pm())
            && self.checkpoint.is_none()
            && self.takes_short_ways()
    }

    /// Such a head becomes visible, where its line was asked for last in its set. The same as [`Front::drain_head`] would do, which has
    /// to ask more.
    #[inline(never)]
    pub(super) fn drain_plain(&mut self, at: Time) -> bool {
        let Some(head) = self.store_buffer.head() else { return false };
        let line = head.line();
        if self.flushes_hold_stores() {
            return false;
        }
        let owned = |slot: &Slot| self.caches.state(*slot) != State::Shared;
        let Some(slot) = self.caches.recent(line).filter(owned) else { return false };
        self.caches.write(slot, offset_of(head.address), head.size, head.value);
        self.caches.set_state(slot, State::Modified);
        self.stats.stores += 1;
        self.stats.pm_stores += u64::from(line.is_pm());
        self.head_free_at = at + self.spec.store_interval;
        self.doubts = self.doubts.saturating_sub(1);
        self.pop_head(at, self.spec.store_interval);
        self.account.passed();
        true
    }

    /// One step of the head at `at`.
    pub(super) fn drain_head(&mut self, at: Time) {
        let Some(entry) = self.store_buffer.head().copied() else { return };
        let step = match entry.kind {
            Kind::Store => self.commit_store(at, &entry),
            Kind::Rmw(kind) => self.commit_rmw(at, &entry, kind),
            Kind::NonTemporal => self.commit_nontemporal(at, entry),
            Kind::Flush(kind) => self.commit_flush(at, &entry, kind),
            Kind::Fence(kind) => self.commit_fence(at, kind),
            Kind::Register => self.commit_register(at, &entry),
            Kind::RegisterLoad => self.commit_register_load(at, &entry),
            Kind::Acquired => self.commit_acquired(at, &entry),
        };
        match step {
            Ok((takes, done)) => {
                self.head_free_at = at + takes;
                self.doubts = self.doubts.saturating_sub(1);
                if done == DONE {
                    self.pop_head(at, takes);
                    self.account.passed();
                }
            }
            Err(why) => {
                self.head_blocked = true;
                // The one that has waited, and the next.
                self.doubts = 2;
                self.account.blocked(why);
            }
        }
    }

    /// Whether the head is a plain store that the ordering model has no room for, and looking at its line would leave no trace:
    /// most of those that were refused are refused again.
    #[inline]
    pub(super) fn is_refused(&self) -> bool {
        let Some(head) = self.store_buffer.head() else { return false };
        let line = head.line();
        if !(self.capabilities.orders_stores && head.is_plain_store() && line.is_pm()) {
            return false;
        }
        let owned = |slot| self.caches.state(slot) != State::Shared;
        self.ordering.refuses() && self.caches.recent(line).is_some_and(owned)
    }

    fn pop_head(&mut self, at: Time, takes: Dur) {
        self.store_buffer.pop();
        if self.checkpoint.is_some() {
            self.head_leaves(at);
        }
        self.resume(at, Wait::Room);
        if self.store_buffer.is_empty() {
            self.resume(at + takes, Wait::Drained);
        }
    }

    fn progress(&mut self, step: u8) {
        if let Some(head) = self.store_buffer.head_mut() {
            head.progress = step;
        }
    }

    /// The stores that wait to become visible, oldest first, up to an operation whose result is not known yet.
    pub(super) fn retired_stores(&self) -> impl Iterator<Item = LineWrite> + '_ {
        let known = |e: &&Entry| !matches!(e.kind, Kind::Rmw(_));
        let stores = self.store_buffer.entries().take_while(known);
        stores.filter(|e| matches!(e.kind, Kind::Store | Kind::NonTemporal)).map(|e| line_write(e, e.value))
    }

    /// The line's place with the right to write it, asking for it where it is missing.
    fn own(&mut self, at: Time, line: Line) -> Result<Slot, Blocked> {
        match self.access(at, line) {
            Some((slot, _)) if self.caches.state(slot) != State::Shared => Ok(slot),
            _ => {
                self.ask_for_head(at, line);
                Err(Blocked::Line)
            }
        }
    }

    /// The head's line is asked for now, or else before all others.
    fn ask_for_head(&mut self, at: Time, line: Line) {
        if self.is_missing(line) {
            return;
        }
        if self.may_ask_to_store() {
            self.request(at, line, true);
        } else {
            self.store_buffer.refuse_head();
        }
    }

    fn commit_store(&mut self, at: Time, entry: &Entry) -> Step {
        let slot = self.own(at, entry.line())?;
        if self.flushes_hold_stores() {
            return Err(Blocked::Flushes);
        }
        self.release_once(at, entry)?;
        self.acquire(at, entry)?;
        self.write(at, slot, entry, entry.value)?;
        self.stats.stores += 1;
        Ok((self.spec.store_interval, DONE))
    }

    fn commit_rmw(&mut self, at: Time, entry: &Entry, kind: RmwKind) -> Step {
        self.durable_flushes(at)?;
        let slot = self.own(at, entry.line())?;
        self.release_once(at, entry)?;
        self.acquire(at, entry)?;
        let old = self.caches.read(slot, offset_of(entry.address), entry.size);
        let width = u64::MAX >> (64 - 8 * u32::from(entry.size));
        if let Some(new) = kind.apply(old, entry.value) {
            self.write(at, slot, entry, new & width)?;
        }
        self.result = old;
        self.stats.locked += 1;
        Ok((self.spec.locked, DONE))
    }

    /// The first step of a release: everything before it is in a closed epoch.
    fn release_once(&mut self, at: Time, entry: &Entry) -> Result<(), Blocked> {
        if !self.capabilities.orders_stores || entry.progress > 0 {
            return Ok(());
        }
        if entry.order.releases() || self.capabilities.rolls_back && matches!(entry.kind, Kind::Rmw(_)) {
            self.release_epoch = self.ordering.release(at, entry.line(), &mut self.outbox)?;
            self.progress(1);
        }
        Ok(())
    }

    /// Before the write: it too is ordered after what the acquired value was released with.
    fn acquire(&mut self, at: Time, entry: &Entry) -> Result<(), Blocked> {
        if entry.acquires() && self.capabilities.orders_stores {
            self.ordering.acquire(at, entry.line(), &mut self.outbox)?;
        }
        Ok(())
    }

    fn write(&mut self, at: Time, slot: Slot, entry: &Entry, value: u64) -> Result<(), Blocked> {
        let line = entry.line();
        let mut publishes = self.release_epoch;
        if line.is_pm() && self.capabilities.orders_stores {
            let write = line_write(entry, value);
            let epoch = self.ordering.store(at, &write, &mut self.outbox)?;
            self.caches.set_written(slot, epoch);
            // A released word that itself persists comes before what its readers write, and before their values of it.
            publishes = epoch;
        }
        self.stats.pm_stores += u64::from(line.is_pm());
        if entry.publishes() {
            self.caches.set_released(slot, publishes);
        }
        let at = offset_of(entry.address);
        if let Some(kept) = &mut self.checkpoint {
            kept.writes(entry, self.caches.read(slot, at, entry.size));
        }
        self.caches.write(slot, at, entry.size, value);
        self.caches.set_state(slot, State::Modified);
        Ok(())
    }

    /// Uncached stores leave one after the other. Nothing later leaves before the port has let this one pass.
    fn commit_register(&mut self, at: Time, entry: &Entry) -> Step {
        if entry.progress == 0 {
            self.progress(1);
            return Ok((self.spec.uncached, AGAIN));
        }
        if entry.progress == 1 {
            self.progress(2);
            self.unacknowledged += 1;
            let (address, value) = (entry.address, entry.value);
            self.outbox.send(at, Peer::Commands, Msg::UncachedWrite { address, value });
            self.register_passed = false;
        }
        if !self.register_passed {
            return Err(Blocked::Ordering);
        }
        self.stats.registers += 1;
        Ok((self.spec.store_interval, DONE))
    }

    fn commit_register_load(&mut self, at: Time, entry: &Entry) -> Step {
        if entry.progress == 0 {
            self.progress(1);
            self.outbox.send(at, Peer::Commands, Msg::UncachedRead { address: entry.address });
            self.register_value = None;
        }
        let Some(value) = self.register_value.take() else { return Err(Blocked::Line) };
        self.result = value;
        self.stats.registers += 1;
        Ok((self.spec.store_interval, DONE))
    }

    fn commit_acquired(&mut self, at: Time, entry: &Entry) -> Step {
        self.ordering.acquire(at, entry.line(), &mut self.outbox)?;
        Ok((Dur::ZERO, DONE))
    }

    /// A line is stored as its words would be: with the first one it has its buffer, with the last one it is whole.
    fn commit_nontemporal(&mut self, at: Time, mut entry: Entry) -> Step {
        let is_first_word = entry.is_of_a_line() && entry.progress == 0;
        if is_first_word {
            entry.size = 8;
        }
        let interval = self.combine(at, &entry)?;
        self.emit_whole(at, usize::from(!is_first_word));
        if is_first_word {
            self.progress(1);
            return Ok((interval * 7, AGAIN));
        }
        self.stats.stores += 1;
        Ok((interval, DONE))
    }

    /// Puts a store past the caches into a write-combining buffer; gives the time to the next one.
    fn combine(&mut self, at: Time, entry: &Entry) -> Result<Dur, Blocked> {
        let line = entry.line();
        if self.is_missing(line) {
            // What arrives would be older than what goes past it.
            return Err(Blocked::Line);
        }
        let joins = self.open_buffer(line);
        let takes_a_buffer = joins.is_none() && self.combining.len() >= self.spec.write_combining;
        if takes_a_buffer {
            self.room_for(self.spec.outstanding_writes)?;
        }
        if self.capabilities.orders_stores && line.is_pm() {
            // It goes past the caches, where nothing could hold it back.
            let after = self.ordering.store(at, &line_write(entry, entry.value), &mut self.outbox)?;
            if after > self.ordering.committed() || self.ordering.holds(line) {
                return Err(Blocked::Ordering);
            }
        }
        if let Some(slot) = self.caches.find(line) {
            self.evict(at, slot, false);
        }
        let was_whole = match joins {
            Some(place) => self.combining[place].join(entry),
            None => {
                if takes_a_buffer {
                    self.emit_combining(at, 0);
                }
                self.combining.push(Combining::new(line_write(entry, entry.value)));
                false
            }
        };
        // What takes time is a line's way out of the core.
        Ok(if was_whole { self.spec.store_interval } else { self.spec.nontemporal_interval })
    }

    /// Lines that are whole leave, as many as may be on their way: but for the one that the next store is of, which joins it. The first `done` entries
    /// of the store buffer have been stored.
    pub(super) fn emit_whole(&mut self, at: Time, done: usize) {
        // Mostly none is, and the next store need not be looked at.
        if !self.combining.iter().any(Combining::is_whole) {
            return;
        }
        let next = self.store_buffer.entries().nth(done);
        let next = next.filter(|next| next.kind == Kind::NonTemporal).map(Entry::line);
        while self.room_for(self.spec.outstanding_writes).is_ok() {
            let Some(place) = self.combining.iter().position(|open| open.leaves(next)) else { return };
            self.emit_combining(at, place);
        }
    }

    /// The write-combining buffer of a line leaves, where there is one.
    pub(super) fn emit_line(&mut self, at: Time, line: Line) {
        if let Some(place) = self.open_buffer(line) {
            self.emit_combining(at, place);
        }
    }

    fn open_buffer(&self, line: Line) -> Option<usize> {
        self.combining.iter().position(|open| open.write.line == line)
    }

    fn emit_combining(&mut self, at: Time, place: usize) {
        let LineWrite { line, data, mask } = self.combining.remove(place).write;
        self.unacknowledged += 1;
        self.send(at, Msg::NonTemporal { line, data, mask });
    }

    fn commit_flush(&mut self, at: Time, entry: &Entry, kind: FlushKind) -> Step {
        if entry.progress == 0 && self.spec.flush.issue > Dur::ZERO {
            self.progress(1);
            return Ok((self.spec.flush.issue, AGAIN));
        }
        if entry.progress < 2 {
            self.room_for(self.spec.outstanding_writes)?;
            if self.store_misses > 0 {
                self.room_for(self.spec.flush.beside_stores)?;
            }
            let drop = kind != FlushKind::Clwb || self.spec.flush.invalidates;
            if !self.offer_flush(at, entry.line(), drop)? {
                self.send_flush(at, entry.line(), drop);
            }
            self.progress(2);
        }
        if (kind == FlushKind::Clflush || !self.spec.flush.overlap) && self.unacknowledged > 0 {
            return Err(Blocked::Flushes);
        }
        Ok((self.spec.store_interval, DONE))
    }

    /// Whether the core side has a flush in hand, so that the caches need not be told.
    fn offer_flush(&mut self, at: Time, line: Line, drop: bool) -> Result<bool, Blocked> {
        if !self.capabilities.takes_flushes || !line.is_pm() {
            return Ok(false);
        }
        let changed = self.changed(line).is_some();
        if changed && self.unacknowledged > 0 {
            // Of two flushes of a line, one in the caches, nobody could tell which one an answer is for.
            return Err(Blocked::Flushes);
        }
        let flushed = self.ordering.flush(at, line, changed, drop, &mut self.outbox)?;
        self.stats.flushes += u64::from(flushed != Flushed::ByCaches);
        Ok(flushed != Flushed::ByCaches)
    }

    fn send_flush(&mut self, at: Time, line: Line, invalidate: bool) {
        self.emit_line(at, line);
        let mut data: Option<Block> = None;
        if let Some(slot) = self.caches.find(line) {
            if self.caches.state(slot) == State::Modified {
                data = Some(*self.caches.data(slot));
                self.caches.set_state(slot, State::Exclusive);
            }
            if invalidate {
                self.caches.remove(slot);
                if self.spec.store_prefetch {
                    self.store_buffer.dropped(line);
                }
            }
        }
        self.stats.flushes += 1;
        self.unacknowledged += 1;
        self.send(at, Msg::LineFlush { line, data, invalidate });
    }

    fn commit_fence(&mut self, at: Time, kind: FenceKind) -> Step {
        self.durable_flushes(at)?;
        if self.capabilities.orders_stores {
            self.ordering.fence(at, kind, &mut self.outbox)?;
        }
        self.stats.fences += 1;
        Ok((self.spec.store_interval, DONE))
    }

    /// Whether so much that goes past the caches is on its way that stores stand still.
    pub(super) fn flushes_hold_stores(&self) -> bool {
        self.room_for(self.spec.flush.beside_stores).is_err()
    }

    /// Whether another flush or non-temporal store may leave, where so many may be on their way.
    fn room_for(&self, most: Option<usize>) -> Result<(), Blocked> {
        let full = most.is_some_and(|most| self.unacknowledged as usize >= most);
        if full { Err(Blocked::Line) } else { Ok(()) }
    }

    /// Every flush and non-temporal store so far has reached the persistence domain.
    fn durable_flushes(&mut self, at: Time) -> Result<(), Blocked> {
        while !self.combining.is_empty() && self.room_for(self.spec.outstanding_writes).is_ok() {
            self.emit_combining(at, 0);
        }
        if self.unacknowledged > 0 { Err(Blocked::Flushes) } else { Ok(()) }
    }
}

fn line_write(entry: &Entry, value: u64) -> LineWrite {
    let (at, size) = (offset_of(entry.address), entry.size as usize);
    let mut data = [0; 64];
    put(&mut data, at, entry.size, value);
    LineWrite { line: entry.line(), mask: mask_of(at, size), data }
}
