//! A host's link that fails in a run, for how long, and who waits for it.

use crate::link::Use;
use crate::world::{World, place_of};
use protocol::{Op, OpKind};
use units::{Dur, Time};

impl World {
    /// A host's link fails, and would be back after `time`. Both ends try again for as long as the machine's time-out says;
    /// after that the fabric manager fences the host off, which then has an error that it does not survive.
    pub(crate) fn link_fails(&mut self, id: usize, time: Dur) {
        if self.state.is_cut_off(id) {
            return;
        }
        let now = self.hosts[id].now;
        let given_up = (time > self.spec.link_timeout_ns).then(|| now + self.spec.link_timeout_ns);
        let back = now + time;
        self.state.link_fails(id);
        self.state.delay(id, now.ps(), time.as_ps());
        self.hold_link(id, time);
        self.hosts[id].link_back = Some((back, given_up));
        self.lost_links += 1;
        let then = given_up.unwrap_or(back);
        self.went_on(then);
        self.is_due(then);
    }

    /// A host's lost link is back by now, or the host is fenced off.
    pub(crate) fn link_until(&mut self, id: usize, now: Time) {
        let Some((back, given_up)) = self.hosts[id].link_back else { return };
        if let Some(then) = given_up.filter(|then| *then <= now) {
            // A host that has made no access has nothing that it could lose.
            let Some(site) = self.hosts[id].asked.map(|(_, site)| site).or(self.hosts[id].last) else {
                return;
            };
            self.hosts[id].is_fenced_off = true;
            self.crash(id, site, then);
        } else if back <= now {
            self.hosts[id].link_back = None;
            self.lost_links -= 1;
            self.state.link_returns(id);
        }
    }

    /// When the link that an access of a host waits for is back, or given up.
    pub(crate) fn link_awaited(&self, id: usize, op: &Op) -> Option<Time> {
        if self.lost_links == 0 {
            return None;
        }
        let uses = match op.kind {
            OpKind::Load | OpKind::Prefetch => Use::Load,
            OpKind::Store | OpKind::Rmw(_) => Use::Store,
            OpKind::StoreNonTemporal => Use::StorePast,
            OpKind::Flush(_) | OpKind::Fence(_) | OpKind::Compute | OpKind::Await => return None,
        };
        let waits = self.state.waits_for(id, place_of(op.address).0, uses)?;
        self.hosts[waits].link_back.map(|(back, given_up)| given_up.unwrap_or(back))
    }
}
