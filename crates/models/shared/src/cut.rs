//! The power fails, of all hosts and of the device: what is left, what recovery makes of it, and why something is not there.

use crate::device::{Cut, Reach};
use crate::finding::{Finding, Kind, Side, spelled};
use crate::params::PersistentFlush;
use crate::run::Device;
use crate::shadow::Stored;
use crate::world::{World, place_of};
use params::Settings;
use units::{Dur, Time};
use workloads::{Left, SharedWorkload};

/// How many times `each` fits into `all`.
fn times(all: Dur, each: Dur) -> usize {
    usize::try_from(all.as_ps() / each.as_ps().max(1)).unwrap_or(usize::MAX)
}

impl World {
    /// What the device has had time to bring to its media by now.
    pub(crate) fn drain_until(&mut self, now: Time) {
        self.state.clock = now.ps();
        while let Some(oldest) = self.state.accepted.first() {
            let done = self.drained.max(Time::from_ps(oldest.stamp)) + self.spec.drain_ns;
            if done > now {
                return;
            }
            self.drained = done;
            self.state.drain(0);
        }
    }

    /// How far the flush of a power failure gets, with energy for `lines` where it is short.
    fn reach(&self, lines: Option<u64>) -> Reach {
        let s = &self.spec;
        let way = s.link_ns + s.device_ns;
        let sending = Dur::ps(s.host_flush_timeout_ns.as_ps().saturating_sub(way.as_ps()));
        let by_energy = (s.drain_energy_uj * 1000 / s.drain_line_nj).min(lines.unwrap_or(u64::MAX));
        Reach {
            flush: s.persistent_flush,
            host_lines: times(sending, s.line_ns),
            device_lines: times(s.drain_timeout_ns, s.drain_ns).min(by_energy as usize),
        }
    }

    /// What a power failure leaves at `at`. The world itself goes on.
    pub(crate) fn cut(&mut self, at: Side, lines: Option<u64>) -> Cut {
        self.catch_up(at.time);
        let post_crash = self.state.power_fails(self.reach(lines));
        Cut { at, post_crash, ended: self.hosts.iter().map(|h| h.operations).collect() }
    }

    /// What the program's recovery makes of what a power failure left.
    pub(crate) fn recovered(
        &self,
        cut: &Cut,
        workload: &SharedWorkload,
        settings: &Settings,
    ) -> Option<Finding> {
        let alive = vec![false; self.hosts.len()];
        let left = Left {
            settings,
            ended: &cut.ended,
            alive: &alive,
            power_failed: true,
            dirty_shutdowns: cut.post_crash.dirty_shutdowns,
        };
        let broken = (workload.check)(&mut Device(&cut.post_crash.memory), &left).err()?;
        Some(self.after_power(place_of(broken.address), &broken.what, cut))
    }

    /// A word of the media is not what it must be after a power failure.
    fn after_power(&self, place: (usize, usize), what: &str, cut: &Cut) -> Finding {
        let address = crate::judge::address_of(place);
        let failed = format!("the power failed as host {} was at {}", cut.at.host, cut.at.place());
        let Some(stored) = self.shadow.stored(self.shadow.latest(place)) else {
            let message = format!("after the power failed, {what}; no host stored there; {failed}");
            return Finding { kind: Kind::PowerFailure, address, here: cut.at, there: None, message };
        };
        let here = Side { host: stored.host, site: stored.site, time: stored.time };
        let why = self.why_not_on_media(place, stored, cut);
        let message = format!(
            "after the power failed, {what}: what host {} stored there last, {} before, at {}, {why}; {failed}",
            here.host,
            spelled(cut.at.time.since(here.time)),
            here.place(),
        );
        Finding { kind: Kind::PowerFailure, address, here, there: Some(cut.at), message }
    }

    /// Where the last bytes that were stored to a word were as the power failed.
    fn why_not_on_media(&self, place: (usize, usize), stored: &Stored, cut: &Cut) -> String {
        let (latest, host, post_crash) = (self.shadow.latest(place), stored.host, &cut.post_crash);
        let flush = stored.flushed.map(|(site, time)| Side { host, site, time }.place());
        let in_time = match self.spec.persistent_flush {
            PersistentFlush::Global => ", and the hosts' flush ran out of time before it",
            PersistentFlush::None | PersistentFlush::Device => "",
        };
        if post_crash.memory[place.0][place.1].version >= latest {
            return "is on the media".into();
        }
        if stored.lost {
            return format!("was lost when host {host} stopped");
        }
        if self.state.memory()[place.0][place.1].version >= latest || post_crash.accepted.contains(&place.0) {
            let (drained, all) = (post_crash.drained, post_crash.accepted.len());
            let flushed = flush.map(|flush| format!("was flushed at {flush} and ")).unwrap_or_default();
            let limit = match self.spec.persistent_flush {
                PersistentFlush::None => "which nothing drains".to_string(),
                PersistentFlush::Device | PersistentFlush::Global => {
                    format!("of which time and energy saved {drained} of {all} lines")
                }
            };
            return format!("{flushed}was in the device's buffer, {limit}");
        }
        match flush {
            Some(flush) => format!("was flushed at {flush}, but no fence had waited for that{in_time}"),
            None => format!("was in that host's caches: it had not flushed the line{in_time}"),
        }
    }
}
