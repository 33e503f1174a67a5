//! Going back: how a core makes up for what it read too early.

use super::checkpoint::Going;
use super::front::{Front, Wait};
use super::store_buffer::Kind;
use protocol::{Activity, FenceKind, Op, OpKind, Order};
use std::task::Poll;
use units::Time;

/// The fence that ends a long region.
const END: Op =
    Op { kind: OpKind::Fence(FenceKind::Dfence), address: 0, size: 8, order: Order::Plain, value: 0 };

impl Front {
    /// As [`Front::issue`], on a core that can go back.
    pub(super) fn poll_kept(&mut self, op: &Op) -> Poll<u64> {
        if !self.resumed && !self.reach() {
            return Poll::Pending;
        }
        let Some(kept) = &mut self.checkpoint else { return self.issue(op, true) };
        if kept.ending && self.resumed {
            (kept.ending, self.resumed) = (false, false);
        } else if kept.is_full() && !self.resumed && self.store_buffer.has_room() {
            return self.end_region();
        }
        let done = self.issue(op, true);
        if let (Poll::Ready(value), Some(kept)) = (&done, &mut self.checkpoint) {
            kept.ended(op, *value);
        }
        done
    }

    /// The program waits until nothing of its region can be wrong.
    fn end_region(&mut self) -> Poll<u64> {
        if let Some(kept) = &mut self.checkpoint {
            kept.ending = true;
            kept.stats.full_regions += 1;
        }
        self.push(&END, Kind::Fence(FenceKind::Dfence), self.now);
        self.pend(Wait::Drained)
    }

    /// The store buffer's head leaves it.
    pub(super) fn head_leaves(&mut self, at: Time) {
        if let Some(kept) = &mut self.checkpoint
            && kept.leaves()
            && kept.careful
            && kept.going == Going::On
        {
            kept.careful = false;
            self.ordering.goes_back(at, false);
        }
    }

    /// A controller has found that this core read too early.
    pub(super) fn misread(&mut self, now: Time) {
        let Some(kept) = &mut self.checkpoint else { unreachable!("no other core is told") };
        kept.recalls += 1;
        kept.stats.misreads += 1;
        match kept.going {
            Going::On if kept.log.is_empty() => return,
            Going::On => self.stop_program(now),
            Going::Again(_) => self.drop_wait(now),
            // What is taken back has not been repeated yet.
            Going::Draining | Going::Undoing => return,
        }
        self.ordering.goes_back(now, true);
        self.store_buffer.clear();
        self.account.passed();
        self.head_blocked = false;
        self.clear_until = Time::ZERO;
        let Some(kept) = &mut self.checkpoint else { return };
        kept.stats.rollbacks += 1;
        (kept.going, kept.careful, kept.ending) = (Going::Draining, true, false);
        kept.waiting.clear();
        self.now = self.now.max(now) + kept.spec.interrupt;
        self.look_whether_drained(now);
    }

    /// The program goes no further: its core has something to make up for.
    fn stop_program(&mut self, now: Time) {
        self.drop_wait(now);
        let Some(kept) = &mut self.checkpoint else { return };
        kept.since = self.now.max(now);
        // An operation that had not begun begins when the program goes on.
        kept.resumed = std::mem::take(&mut self.resumed) && !kept.ending;
        kept.activity = self.account.turn_to(self.now, Some(Activity::Kernel));
    }

    /// What is waited for is asked for once more.
    fn drop_wait(&mut self, now: Time) {
        if self.wait != Wait::Nothing {
            self.resume(now, self.wait);
        }
        self.waits_for_result = false;
    }

    /// The line is in no cache.
    pub(super) fn recalled(&mut self, now: Time) {
        if let Some(kept) = &mut self.checkpoint {
            kept.recalls -= 1;
        }
        self.look_whether_drained(now);
    }

    /// Whether the core waits no longer for its stores and for caches.
    pub(super) fn look_whether_drained(&mut self, now: Time) {
        let Some(kept) = &self.checkpoint else { return };
        if kept.going == Going::Draining {
            self.runnable = kept.recalls == 0 && self.ordering.level() == 0;
            self.now = self.now.max(now);
        }
    }

    /// Goes on with making up for what was wrong, as far as it comes; false when there is nothing of that.
    pub(super) fn makes_up(&mut self) -> bool {
        loop {
            let Some(kept) = &mut self.checkpoint else { return false };
            match kept.going {
                Going::On => return false,
                Going::Draining => self.begins_to_undo(),
                Going::Undoing => {
                    let Some((_, op)) = kept.undo.back().copied() else {
                        (kept.going, self.resumed) = (Going::Again(kept.first), false);
                        continue;
                    };
                    if self.issue(&op, false).is_pending() {
                        return true;
                    }
                    self.undone();
                }
                Going::Again(next) if next == kept.next_place() => {
                    self.has_made_up();
                    return true;
                }
                Going::Again(next) => {
                    let (op, value) = kept.log[(next - kept.first) as usize];
                    let Poll::Ready(again) = self.issue(&op, false) else { return true };
                    self.replayed(&op, value != again);
                }
            }
        }
    }

    fn begins_to_undo(&mut self) {
        let Some(kept) = &mut self.checkpoint else { return };
        kept.going = Going::Undoing;
        self.account.turn_to(self.now, kept.activity);
    }

    fn undone(&mut self) {
        if let Some(kept) = &mut self.checkpoint {
            kept.undo.pop_back();
            kept.stats.undone_stores += 1;
        }
    }

    fn replayed(&mut self, op: &Op, otherwise: bool) {
        let Some(kept) = &mut self.checkpoint else { return };
        let Going::Again(next) = &mut kept.going else { return };
        *next += 1;
        kept.stats.replayed_operations += 1;
        let is_plain = op.kind == OpKind::Load && op.order == Order::Plain;
        kept.stats.replayed_otherwise += u64::from(is_plain && otherwise);
    }

    fn has_made_up(&mut self) {
        let Some(kept) = &mut self.checkpoint else { return };
        kept.going = Going::On;
        kept.stats.rollback += self.now.since(kept.since);
        self.resumed = kept.resumed;
    }
}
