//! Words at which programs look again and again, and when that is waiting for ever.

use crate::finding::Side;
use crate::params::SharedParameters;
use crate::shadow::Version;
use crate::source_line::SourceLine;
use crate::world::{HostCore, World};
use units::{Dur, Time};

/// As long as nothing but looking happens, after which everybody waits for ever; so many accesses of the device where they take
/// long.
const PATIENCE: (Dur, u64) = (Dur::ns(100_000), 300);
/// So many times as long where words change, and yet no operation of any host ends.
const LONGER: u64 = 5;

/// A word that a host looks at again and again.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    pub(crate) place: (usize, usize),
    pub(crate) version: Version,
    pub(crate) side: Side,
    /// The how many-th look of its core it was.
    pub(crate) nth: u64,
}

/// How long only looking may go on.
pub(crate) fn patience(spec: &SharedParameters) -> Dur {
    PATIENCE.0.max((spec.link_ns * 2 + spec.device_ns + spec.line_ns) * PATIENCE.1)
}

impl World {
    /// A host looks at a word that tells of others: something happens where it is another word or has another value.
    pub(crate) fn look(
        &mut self,
        id: usize,
        (site, time): (SourceLine, Time),
        place: (usize, usize),
        version: Version,
    ) {
        let side = Side { host: self.host_of(id), site, time };
        let nth = self.acted;
        let look = Look { place, version, side, nth };
        let looks = &mut self.hosts[id].looks;
        let known = looks.iter_mut().find(|l| l.place == place);
        let is_news = known.as_ref().is_none_or(|l| l.version != version);
        match known {
            Some(known) => *known = look,
            None => looks.push(look),
        }
        if is_news {
            self.progress = self.progress.max(time);
        }
    }

    /// Whether nothing but looking has happened for so long that nothing else will.
    pub(crate) fn is_stuck(&mut self, id: usize) -> bool {
        let now = self.hosts[id].now;
        if now <= self.patient_until {
            return false;
        }
        let patience = self.patience;
        self.patient_until = (self.progress + patience).min(self.ended + patience * LONGER);
        now > self.patient_until
    }

    /// What the hosts that look at words again and again wait for.
    pub(crate) fn note_stuck(&mut self, id: usize) {
        let waiting = self.hosts.iter().filter(|h| h.runs());
        let last_first = |host: &HostCore| {
            let mut looks = host.looks.clone();
            looks.sort_by_key(|look| std::cmp::Reverse(look.nth));
            looks
        };
        let waits: Vec<Look> = waiting.flat_map(last_first).collect();
        // One that misses bytes that were stored is the cause; the others may wait for it. Where words change all the time, it has
        // missed them for long.
        let now = self.hosts[id].now;
        let is_busy = now.since(self.progress) <= self.patience;
        let misses = |look: &&Look| {
            let latest = self.shadow.latest(look.place);
            let is_old = |stored: Time| now.since(stored) > self.patience;
            latest > look.version && (!is_busy || self.shadow.stored(latest).is_some_and(|s| is_old(s.time)))
        };
        let missing = waits.iter().find(misses);
        let finding = match missing.or_else(|| waits.first()) {
            Some(look) if missing.is_none() && is_busy => self.starved(look.side, look.place),
            Some(look) => self.stuck(look.side, look.place, look.version),
            None => return,
        };
        self.note(Some(finding), 0);
    }
}
