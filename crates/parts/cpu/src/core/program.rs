//! The program's side: what each operation does when it issues, and when it may go on.

use super::caches::Level;
use super::front::{Front, Wait};
use super::store_buffer::{Entry, Kind};
use protocol::{FenceKind, FlushKind, Line, Op, OpKind, Order, Touched, is_uncached, line_of, offset_of};
use std::task::Poll;
use units::{Dur, Time};

impl Front {
    /// Carries out `op`, or keeps the program waiting. Cost of a load of a line that was asked for last in its set:
    /// one comparison of time, one look at the store buffer's filter, the tag comparison, and the read.
    #[inline]
    pub(super) fn poll(&mut self, op: &Op) -> Poll<u64> {
        match self.load_at_once(op) {
            Some(value) => Poll::Ready(value),
            None if self.checkpoint.is_some() => self.poll_kept(op),
            None => self.issue(op, true),
        }
    }

    /// A plain load that nothing stands in the way of. The same as [`Front::load`] would do, which has to ask more.
    #[inline]
    fn load_at_once(&mut self, op: &Op) -> Option<u64> {
        let is_plain = op.kind == OpKind::Load && op.order == Order::Plain && self.takes_short_ways();
        if !is_plain || self.now >= self.clear_until || self.store_buffer.concerns(op.address) {
            return None;
        }
        let slot = self.caches.recent(line_of(op.address))?;
        self.stats.references += 1;
        self.stats.l1_hits += 1;
        self.now += self.spec.l1.latency;
        Some(self.caches.read(slot, offset_of(op.address), op.size))
    }

    /// A plain store to the line that was asked for last in its set, where the store buffer has room. The same as
    /// [`Front::enqueue`] would do, which has to ask more.
    #[inline]
    fn store_at_once(&mut self, op: &Op) -> bool {
        let is_plain = op.kind == OpKind::Store && op.order == Order::Plain && self.takes_short_ways();
        if !is_plain
            || is_uncached(op.address)
            || !self.store_buffer.has_room()
            || self.caches.recent(line_of(op.address)).is_none()
        {
            return false;
        }
        self.stats.l1_hits += 1;
        self.push(op, Kind::Store, self.now + self.spec.store_interval);
        self.now += self.spec.issue;
        true
    }

    /// Carries an operation out, or goes on with it. Whether it `counts`: one that is repeated has counted.
    pub(super) fn issue(&mut self, op: &Op, counts: bool) -> Poll<u64> {
        if self.resumed {
            self.resumed = false;
            return self.carry_out(op);
        }
        if !self.reach() {
            return Poll::Pending;
        }
        if counts && !matches!(op.kind, OpKind::Compute | OpKind::Await | OpKind::Fence(_)) {
            self.stats.references += 1;
        }
        if self.store_at_once(op) {
            return Poll::Ready(0);
        }
        self.carry_out(op)
    }

    /// Brings the background up to the program's clock; false when the engine has to be asked first.
    #[inline]
    pub(super) fn reach(&mut self) -> bool {
        loop {
            if self.now > self.safe_time {
                return false;
            }
            let next = self.background_next();
            if next > self.now {
                // What is kept is kept there, load by load.
                if self.checkpoint.is_none() {
                    self.clear_until = next.min(self.safe_time + Dur::ps(1));
                }
                return true;
            }
            self.background(next);
        }
    }

    #[inline]
    fn carry_out(&mut self, op: &Op) -> Poll<u64> {
        match op.kind {
            OpKind::Compute => {
                self.now += Dur::ps(op.value);
                self.computed += op.address;
                Poll::Ready(0)
            }
            OpKind::Await if self.is_missing(Line(op.value)) => self.pend(Wait::Line(Line(op.value))),
            OpKind::Await => Poll::Ready(0),
            OpKind::Load if is_uncached(op.address) => self.enqueue(op, Kind::RegisterLoad, true),
            OpKind::Load => self.load(op),
            OpKind::Prefetch => self.prefetch(op),
            OpKind::Store if is_uncached(op.address) => self.enqueue(op, Kind::Register, true),
            OpKind::Store => self.enqueue(op, Kind::Store, false),
            OpKind::StoreNonTemporal if self.capabilities.flush_instructions => {
                self.enqueue(op, Kind::NonTemporal, false)
            }
            OpKind::StoreNonTemporal => self.enqueue(op, Kind::Store, false),
            OpKind::Rmw(kind) => self.enqueue(op, Kind::Rmw(kind), true),
            OpKind::Flush(kind)
                if self.capabilities.flush_instructions || kind == FlushKind::WriteBackInvalidate =>
            {
                self.enqueue(op, Kind::Flush(kind), false)
            }
            OpKind::Flush(_) => self.issued(),
            OpKind::Fence(kind) => self.fence(op, kind),
        }
    }

    fn issued(&mut self) -> Poll<u64> {
        self.now += self.spec.issue;
        Poll::Ready(0)
    }

    pub(super) fn pend(&mut self, wait: Wait) -> Poll<u64> {
        self.wait_for(wait);
        Poll::Pending
    }

    fn load(&mut self, op: &Op) -> Poll<u64> {
        let marks_acquire = op.order.acquires() && self.capabilities.orders_stores;
        if marks_acquire && !self.store_buffer.has_room() {
            return self.pend(Wait::Room);
        }
        let line = line_of(op.address);
        let concerned = self.store_buffer.concerns(op.address);
        if concerned {
            let (value, covered) = self.store_buffer.forward(op.address, op.size, 0);
            if covered {
                self.stats.forwarded += 1;
                self.now += self.spec.l1.latency;
                return self.loaded(op, value, marks_acquire);
            }
        }
        let Some((slot, level)) = self.access(self.now, line) else { return self.load_misses(op) };
        self.now += match level {
            Level::L1 => {
                self.stats.l1_hits += 1;
                self.spec.l1.latency
            }
            Level::L2 => {
                self.stats.l2_hits += 1;
                self.spec.l2.latency
            }
        };
        let word = self.caches.read(slot, offset_of(op.address), op.size);
        let value = if concerned { self.store_buffer.forward(op.address, op.size, word).0 } else { word };
        self.loaded(op, value, marks_acquire)
    }

    fn load_misses(&mut self, op: &Op) -> Poll<u64> {
        let line = line_of(op.address);
        if !self.is_missing(line) {
            if !self.has_miss_register() {
                return self.pend(Wait::MissRegister);
            }
            self.request(self.now, line, false);
        }
        self.pend(Wait::Line(line))
    }

    fn loaded(&mut self, op: &Op, value: u64, marks_acquire: bool) -> Poll<u64> {
        if marks_acquire {
            self.push(op, Kind::Acquired, self.now);
        }
        Poll::Ready(value)
    }

    fn prefetch(&mut self, op: &Op) -> Poll<u64> {
        if let Some((place, line)) = self.window.front()
            && place + self.spec.window_references <= self.passed()
        {
            return self.pend(Wait::Line(*line));
        }
        let line = line_of(op.address);
        let there = match self.access(self.now, line) {
            Some((_, Level::L1)) => {
                self.stats.l1_hits += 1;
                Touched::After(self.spec.l1.latency)
            }
            Some((_, Level::L2)) => {
                self.stats.l2_hits += 1;
                Touched::After(self.spec.l2.latency)
            }
            None if self.is_missing(line) => Touched::WithLine(line),
            None if !self.has_miss_register() => return self.pend(Wait::MissRegister),
            None => {
                self.request(self.now, line, false);
                self.window.push_back((self.passed(), line));
                Touched::WithLine(line)
            }
        };
        self.now += self.spec.issue;
        Poll::Ready(there.to_answer())
    }

    /// How far the program is, in references and what it computed between them.
    fn passed(&self) -> u64 {
        self.stats.references + self.computed
    }

    /// Puts an operation into the store buffer; the program goes on, or waits until it is carried out.
    fn enqueue(&mut self, op: &Op, kind: Kind, waits: bool) -> Poll<u64> {
        if waits && self.result_is_ready() {
            return Poll::Ready(self.result);
        }
        if !self.store_buffer.has_room() {
            return self.pend(Wait::Room);
        }
        let (ready, refused) = self.fetch_for_store(op, kind);
        self.push(op, kind, ready);
        if refused {
            self.store_buffer.refuse_last();
        }
        self.now += self.spec.issue;
        if waits {
            self.waits_for_result = true;
            return self.pend(Wait::Drained);
        }
        Poll::Ready(0)
    }

    fn result_is_ready(&mut self) -> bool {
        std::mem::take(&mut self.waits_for_result)
    }

    pub(super) fn push(&mut self, op: &Op, kind: Kind, ready: Time) {
        let (address, size, order, value) = (op.address, op.size, op.order, op.value);
        if let Some(kept) = &mut self.checkpoint {
            kept.enters(kind, order);
        }
        self.clear_until = Time::ZERO;
        self.store_buffer.push(Entry {
            kind,
            address,
            size,
            order,
            value,
            ready,
            progress: 0,
            refused: false,
            untold: 0,
        });
    }

    /// When an operation that writes could act, its line having been fetched or asked for; and whether it could not be
    /// asked for when it was wanted.
    fn fetch_for_store(&mut self, op: &Op, kind: Kind) -> (Time, bool) {
        if !matches!(kind, Kind::Store | Kind::Rmw(_)) {
            return (self.now, false);
        }
        let line = line_of(op.address);
        match self.access(self.now, line) {
            Some((_, Level::L1)) => {
                self.stats.l1_hits += 1;
                (self.now + self.spec.store_interval, false)
            }
            Some((_, Level::L2)) => {
                self.stats.l2_hits += 1;
                (self.now + self.spec.l2.latency, false)
            }
            None => {
                let wanted = self.spec.store_prefetch && !self.is_missing(line);
                let asked = wanted && self.may_ask_to_store();
                if asked {
                    self.request(self.now, line, true);
                }
                (self.now + self.spec.store_interval, wanted && !asked)
            }
        }
    }

    fn fence(&mut self, op: &Op, kind: FenceKind) -> Poll<u64> {
        if self.result_is_ready() {
            return Poll::Ready(0);
        }
        if kind == FenceKind::NewStrand && !self.capabilities.strands {
            return Poll::Ready(0);
        }
        if !self.capabilities.fences && kind != FenceKind::Mfence {
            self.stats.fences += 1;
            return self.issued();
        }
        let kind = if kind == FenceKind::Sfence && self.capabilities.orders_stores {
            self.spec.sfence_as
        } else {
            kind
        };
        let waits = match kind {
            FenceKind::Mfence => true,
            FenceKind::Dfence if self.capabilities.orders_stores => true,
            FenceKind::Ofence | FenceKind::JoinStrand if self.capabilities.orders_stores => false,
            FenceKind::NewStrand => false,
            FenceKind::Sfence | FenceKind::Ofence | FenceKind::Dfence | FenceKind::JoinStrand => {
                self.spec.sfence_blocks
            }
        };
        self.enqueue(op, Kind::Fence(kind), waits)
    }
}
