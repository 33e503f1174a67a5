//! What a program has of its host: its core, and who tells which hosts are still there.

use crate::finding::Side;
use crate::world::{World, place_of};
use protocol::{CorePort, Op, Site};
use std::cell::RefCell;
use std::rc::Rc;
use std::task::Poll;
use units::Time;
use workloads::Membership;

/// A core, as its program has it.
pub(crate) struct Port {
    pub(crate) world: Rc<RefCell<World>>,
    pub(crate) id: usize,
}

impl CorePort for Port {
    fn poll(&self, op: &Op) -> Poll<u64> {
        self.poll_at(op, std::panic::Location::caller())
    }

    fn poll_at(&self, op: &Op, site: Site) -> Poll<u64> {
        let world = &mut *self.world.borrow_mut();
        let host = &mut world.hosts[self.id];
        if let Some(value) = host.answer.take() {
            return Poll::Ready(value);
        }
        host.asked = Some((*op, site.into()));
        while world.is_ahead(self.id) {
            world.act(self.id);
            if let Some(value) = world.hosts[self.id].answer.take() {
                return Poll::Ready(value);
            }
        }
        Poll::Pending
    }

    fn core(&self) -> u8 {
        self.id as u8
    }

    fn now(&self) -> Time {
        self.world.borrow().hosts[self.id].now
    }

    fn operation_done(&self) {
        let mut world = self.world.borrow_mut();
        world.operation_ended(self.id);
    }

    fn region(&self, _: bool) {}

    fn moved(&self, _: u64) {}

    fn fail(&self, _: String) {}
}

/// The fabric manager.
pub(crate) struct Members(pub(crate) Rc<RefCell<World>>);

impl Membership for Members {
    fn is_gone(&self, asker: usize, host: usize) -> bool {
        let world = &mut *self.0.borrow_mut();
        let detect = world.spec.detect_ns;
        let is_told = world.hosts[host].stopped.is_some_and(|s| world.hosts[asker].now >= s.time + detect);
        if is_told && !std::mem::replace(&mut world.hosts[asker].told_gone[host], true) {
            world.shadow.told_gone(asker, host);
        }
        is_told
    }

    fn found_broken(&self, host: usize, address: u64, what: &str, site: Site) {
        let world = &mut *self.0.borrow_mut();
        let here = Side { host: world.host_of(host), site: site.into(), time: world.hosts[host].now };
        let finding = world.broken(here, place_of(address), what);
        world.note(Some(finding), 0);
    }
}
