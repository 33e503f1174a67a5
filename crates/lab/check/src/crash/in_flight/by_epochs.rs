//! What an event does where a thread's stores persist by epochs: of two sides, or a release's of one.

use super::Tracker;
use crate::crash::log::{Event, Kind};
use protocol::{FenceKind, Persistency};

impl Tracker<'_> {
    pub(super) fn step_epochs(&mut self, index: usize, event: &Event) {
        let thread = event.thread;
        let line = event.address / 64;
        self.wait_for_flushes(event);
        if matches!(event.kind, Kind::Locked { .. }) {
            self.epochs.continues(thread, event.address);
        }
        match event.kind {
            Kind::Store | Kind::NonTemporal | Kind::Locked { wrote: true } => {
                let locked = matches!(event.kind, Kind::Locked { .. });
                if self.model == Persistency::Epoch || locked {
                    self.epochs.after(thread, line);
                }
                self.push_own(index, event);
                self.epochs.stores(thread);
                if self.model == Persistency::Epoch || locked {
                    self.epochs.leaves(thread, line);
                }
            }
            Kind::Load if self.model == Persistency::Epoch => self.epochs.after(thread, line),
            Kind::Synchronise(order) => {
                if order.acquires() {
                    self.epochs.after(thread, line);
                }
                if order.releases() {
                    self.epochs.close(thread);
                    self.epochs.gives(thread, event.address);
                }
            }
            Kind::Fence(FenceKind::Dfence) => self.drain(thread),
            Kind::Fence(FenceKind::Sfence) if self.log.sfence_settles => self.drain(thread),
            Kind::Fence(_) => self.epochs.close(thread),
            Kind::Locked { .. }
            | Kind::Load
            | Kind::Flush(_)
            | Kind::Ended
            | Kind::Begins
            | Kind::Written { .. }
            | Kind::Sync
            | Kind::Change => {}
        }
    }

    /// A release has an epoch of its own, which what is stored later does not come after.
    pub(super) fn step_one_sided(&mut self, index: usize, event: &Event) {
        let thread = event.thread;
        self.wait_for_flushes(event);
        if matches!(event.kind, Kind::Locked { .. }) {
            self.epochs.continues(thread, event.address);
        }
        match event.kind {
            Kind::Store | Kind::NonTemporal | Kind::Locked { wrote: true } => {
                let releases = self.epochs.releases(thread, event.address);
                self.push_own(index, event);
                self.epochs.stores(thread);
                if releases {
                    self.epochs.released(thread);
                }
            }
            Kind::Synchronise(order) => {
                if order.acquires() {
                    self.epochs.acquire(thread, event.address);
                }
                if order.releases() {
                    self.epochs.release(thread, event.address);
                }
            }
            Kind::Fence(FenceKind::Dfence) => self.drain(thread),
            Kind::Fence(FenceKind::Sfence) if self.log.sfence_settles => self.drain(thread),
            Kind::Fence(_) => self.epochs.fence(thread),
            // It failed, or its word is no persistent memory.
            Kind::Locked { wrote: false } => self.epochs.stores_nothing(thread, event.address),
            Kind::Load
            | Kind::Flush(_)
            | Kind::Ended
            | Kind::Begins
            | Kind::Written { .. }
            | Kind::Sync
            | Kind::Change => {}
        }
    }

    /// A dfence: everything of this thread so far is persisted, and everything that it comes after.
    pub(super) fn drain(&mut self, thread: u16) {
        let open = self.epochs.open(thread);
        let mut persisted = vec![0; self.log.threads];
        for (t, e) in self.epochs.before(thread, open) {
            persisted[*t as usize] = *e;
        }
        persisted[thread as usize] = open;
        if self.model == Persistency::OneSided {
            self.epochs.fence(thread);
        } else {
            self.epochs.close(thread);
        }
        for unit in self.in_flight.keys().copied().collect::<Vec<_>>() {
            self.settle_out_of_turn(unit, |p| p.epoch <= persisted[p.store.thread as usize]);
        }
    }
}
