//! A host's link that fails in a run, for how long, and who waits for it.

use crate::link::Use;
use crate::world::{HostCore, World, place_of};
use protocol::{Op, OpKind};
use units::{Dur, Time};

impl World {
    /// The link of a core's host fails, and would be back after `time`. Both ends try again for as long as the machine's time-out says;
    /// after that the fabric manager fences the host off, which then has an error that it does not survive.
    pub(crate) fn link_fails(&mut self, id: usize, time: Dur) {
        let host = self.host_of(id);
        if self.state.is_cut_off(host) {
            return;
        }
        let now = self.hosts[id].now;
        let given_up = (time > self.spec.link_timeout_ns).then(|| now + self.spec.link_timeout_ns);
        let back = now + time;
        self.state.link_fails(host);
        self.state.delay(host, now.ps(), time.as_ps());
        self.hold_link(host, now, time);
        self.first_of(host).link_back = Some((back, given_up));
        self.lost_links += 1;
        let then = given_up.unwrap_or(back);
        self.went_on(then);
        self.is_due(then);
    }

    /// A host's lost link is back by now, or the host is fenced off.
    pub(crate) fn link_until(&mut self, host: usize, now: Time) {
        let Some((back, given_up)) = self.first_of(host).link_back else { return };
        if let Some(then) = given_up.filter(|then| *then <= now) {
            // A host that has made no access has nothing that it could lose.
            let cores = &self.hosts[self.cores_of(host)];
            let site = |core: &HostCore| core.asked.map(|(_, site)| site).or(core.last);
            let Some(site) = cores.iter().find_map(site) else { return };
            self.first_of(host).is_fenced_off = true;
            self.crash(host, site, then);
        } else if back <= now {
            self.first_of(host).link_back = None;
            self.lost_links -= 1;
            self.state.link_returns(host);
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
        let waits = self.state.waits_for(self.host_of(id), place_of(op.address).0, uses)?;
        self.hosts[self.cores_of(waits).start].link_back.map(|(back, given_up)| given_up.unwrap_or(back))
    }
}
