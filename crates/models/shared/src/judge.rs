//! From what was seen to what is wrong: the sentence, with both places.

use crate::finding::{Finding, Kind, Side, spelled};
use crate::shadow::{Stored, Version};
use crate::source_line::SourceLine;
use crate::world::World;
use protocol::PM_BASE;
use units::Time;

/// The address of a word.
pub(crate) fn address_of((line, word): (usize, usize)) -> u64 {
    PM_BASE + line as u64 * 64 + word as u64 * 8
}

fn side(stored: &Stored) -> Side {
    Side { host: stored.host, site: stored.site, time: stored.time }
}

/// That an `access` of a host has to do with what another host `did` before.
fn meets(access: &str, here: &Side, what: &str, there: &Side, did: &str) -> String {
    format!(
        "this {access} at {} on host {} {what} host {} {did} {} before, at {}",
        here.place(),
        here.host,
        there.host,
        spelled(here.time.since(there.time)),
        there.place(),
    )
}

impl Finding {
    /// One of two hosts' sides, at a word of a line.
    fn between(kind: Kind, place: (usize, usize), here: Side, there: Side, message: String) -> Finding {
        Finding { kind, address: address_of(place), here, there: Some(there), message }
    }
}

/// A load that did not get what it should have.
const RETURNED: &str = "returned bytes that";

impl World {
    /// A load of `host` at `at` got other bytes than those of store `missed`, of which the host knew.
    pub(crate) fn stale(
        &self,
        host: usize,
        at: (SourceLine, Time),
        place: (usize, usize),
        missed: Version,
    ) -> Option<Finding> {
        let here = Side { host, site: at.0, time: at.1 };
        let stored = self.shadow.stored(missed)?;
        let there = side(stored);
        let (kind, why) = self.why_missed(&here, place, missed, stored);
        let message = format!("{}: {why}", meets("load", &here, RETURNED, &there, "replaced"));
        Some(Finding::between(kind, place, here, there, message))
    }

    /// Where the bytes of store `missed` were, and what would have brought them here.
    fn why_missed(
        &self,
        here: &Side,
        place: (usize, usize),
        missed: Version,
        stored: &Stored,
    ) -> (Kind, String) {
        let (writer, reader) = (stored.host, here.host);
        let on_device = self.state.memory()[place.0][place.1].version;
        let told = self.shadow.told_by(missed).filter(|release| !std::ptr::eq(*release, stored));
        let told_at = told.map(|release| format!(" before it told of it at {}", side(release).place()));
        if on_device >= missed {
            let dropped =
                format!("host {writer} wrote the line back, but host {reader} never invalidated its copy");
            return (Kind::StaleRead, dropped);
        }
        let is_in_flight = self.state.in_flight(writer).iter().any(|write| write.line == place.0);
        match stored.flushed {
            None => (
                Kind::StaleRead,
                format!("host {writer} never flushed the line{}", told_at.unwrap_or_default()),
            ),
            Some((site, _)) if is_in_flight => {
                let flush = Side { host: writer, site, time: stored.time }.place();
                let text = told_at.unwrap_or_default();
                (
                    Kind::PublicationBeforeData,
                    format!("host {writer} flushed the line at {flush}, but no fence waited for that{text}"),
                )
            }
            Some(_) => (Kind::StaleRead, "another host's write-back of the line destroyed them".into()),
        }
    }

    /// `finding` was that a line was never flushed: perhaps it was later on.
    pub(crate) fn look_again(&self, finding: Finding, missed: Version) -> Finding {
        let Some(stored) = self.shadow.stored(missed).filter(|_| finding.kind == Kind::StaleRead) else {
            return finding;
        };
        let Some((site, time)) = stored.flushed.filter(|(_, time)| *time > finding.here.time) else {
            return finding;
        };
        let there = side(stored);
        let flush = Side { site, ..there }.place();
        let why = match self.shadow.told_by(missed) {
            Some(told) => {
                let later = spelled(time.since(told.time));
                format!("told of them at {}, and flushed them {later} later, at {flush}", side(told).place())
            }
            None => {
                let later = spelled(time.since(finding.here.time));
                format!("flushed them only {later} after this load, at {flush}")
            }
        };
        let message = format!(
            "{}: host {} {why}",
            meets("load", &finding.here, RETURNED, &there, "replaced"),
            there.host,
        );
        Finding { kind: Kind::PublicationBeforeData, message, ..finding }
    }

    /// A load that another host's `told` led to got the bytes of `store`, which were not on the device yet when that one told.
    pub(crate) fn told_too_soon(
        &self,
        here: Side,
        place: (usize, usize),
        store: Version,
        told: Side,
    ) -> Option<Finding> {
        let stored = self.shadow.stored(store)?;
        let there = side(stored);
        let host = there.host;
        let teller = format!("host {} told of them at {}", told.host, told.place());
        let why = match stored.flushed {
            None => format!("{teller}, and nothing had waited for them"),
            Some((site, time)) => {
                let flush = Side { site, ..there }.place();
                if time <= told.time {
                    format!(
                        "host {host} flushed the line at {flush}, but no fence had waited for that when {teller}"
                    )
                } else {
                    format!(
                        "{teller}, and they were flushed {} later, at {flush}",
                        spelled(time.since(told.time))
                    )
                }
            }
        };
        let message = format!("{}: {why}", meets("load", &here, "may return bytes that", &there, "replaced"));
        let kind = Kind::PublicationBeforeData;
        Some(Finding::between(kind, place, here, there, message))
    }

    /// `host` stores into a line into which another host stored, and neither knew of the other.
    pub(crate) fn conflict(
        &self,
        host: usize,
        at: (SourceLine, Time),
        place: (usize, usize),
        other: Version,
    ) -> Option<Finding> {
        let text =
            "nothing orders the two, so that whichever writes the line back last destroys the other's bytes";
        self.two_stores(host, at, place, other, text)
    }

    /// `host` stores into a copy that lacks bytes of which it knows.
    pub(crate) fn lacking(
        &self,
        host: usize,
        at: (SourceLine, Time),
        place: (usize, usize),
        other: Version,
    ) -> Option<Finding> {
        let text =
            format!("host {host}'s copy of the line is older, and its write-back destroys those bytes");
        self.two_stores(host, at, place, other, &text)
    }

    pub(crate) fn two_stores(
        &self,
        host: usize,
        at: (SourceLine, Time),
        place: (usize, usize),
        other: Version,
        text: &str,
    ) -> Option<Finding> {
        let here = Side { host, site: at.0, time: at.1 };
        let there = side(self.shadow.stored(other)?);
        let what = "is into a line into which";
        let message = format!("{}: {text}", meets("store", &here, what, &there, "stored"));
        Some(Finding::between(Kind::WriteConflict, place, here, there, message))
    }

    /// A load of data got another host's bytes, and nothing ordered that store before it.
    pub(crate) fn unordered(
        &self,
        host: usize,
        at: (SourceLine, Time),
        place: (usize, usize),
        got: Version,
    ) -> Option<Finding> {
        let here = Side { host, site: at.0, time: at.1 };
        let there = side(self.shadow.stored(got)?);
        let message = format!(
            "{}: nothing orders the two, so that it may as well return half of them",
            meets("load", &here, RETURNED, &there, "stored")
        );
        Some(Finding::between(Kind::Unordered, place, here, there, message))
    }

    /// A load of a copy that its host had fetched before the store `raced`, with nothing between the two that orders them.
    pub(crate) fn fetched_before(
        &self,
        host: usize,
        at: (SourceLine, Time),
        place: (usize, usize),
        raced: Version,
    ) -> Option<Finding> {
        let here = Side { host, site: at.0, time: at.1 };
        let there = side(self.shadow.stored(raced)?);
        let message = format!(
            "this load at {} on host {} and host {}'s store at {} happen at once: the line was fetched before, and nothing orders the two; it is right only where the program finds that out and throws away what it loaded",
            here.place(),
            here.host,
            there.host,
            there.place(),
        );
        Some(Finding::between(Kind::Unordered, place, here, there, message))
    }

    /// `host` has looked at a word again and again, at `here` last, and nothing will change it.
    pub(crate) fn stuck(&self, here: Side, place: (usize, usize), got: Version) -> Finding {
        let latest = self.shadow.latest(place);
        let stored = self.shadow.stored(latest);
        let there = stored.map(side);
        let host = here.host;
        let (kind, why) = match stored.filter(|_| latest > got) {
            Some(s) if s.lost => {
                let text = format!(
                    "what host {} stored there at {} was lost with its caches",
                    s.host,
                    side(s).place()
                );
                (Kind::HostCrash, text)
            }
            Some(s) => {
                let (kind, why) = self.why_missed(&here, place, latest, s);
                let is_lock = self.locks.contains(&address_of(place)) && s.flushed.is_none();
                let kind = if is_lock { Kind::LockRelease } else { kind };
                (
                    kind,
                    format!(
                        "host {} stored there {} before, at {}: {why}",
                        s.host,
                        spelled(here.time.since(s.time)),
                        side(s).place()
                    ),
                )
            }
            None => match self.stopped() {
                Some(stopped) => {
                    (Kind::HostCrash, format!("{}, and nobody does its part", self.stop_of(&stopped)))
                }
                None => (Kind::Stuck, "nobody stores there any more".into()),
            },
        };
        let there = there.filter(|_| latest > got).or_else(|| self.stopped()).or(there);
        let message = format!("host {host} cannot go on at {}: {why}", here.place());
        Finding { kind, address: address_of(place), here, there, message }
    }

    /// A host looks again and again at a word, and at others that change, and yet nobody ends what it does.
    pub(crate) fn starved(&self, here: Side, place: (usize, usize)) -> Finding {
        let there = self.shadow.stored(self.shadow.latest(place)).map(side);
        let stored = there
            .map(|there| format!("; the last store there is host {}'s at {}", there.host, there.place()));
        let message = format!(
            "host {} does not get on at {}: hosts look and store all the time, and no operation ends{}",
            here.host,
            here.place(),
            stored.unwrap_or_default()
        );
        Finding {
            kind: Kind::Stuck,
            address: address_of(place),
            here,
            there: there.or_else(|| self.stopped()),
            message,
        }
    }

    /// A word is not what it must be, as the program of host `here` says.
    pub(crate) fn broken(&self, here: Side, place: (usize, usize), what: &str) -> Finding {
        let stored = self.shadow.stored(self.shadow.latest(place));
        let (kind, text) = self.fate(stored);
        let message = format!("{what}, as host {} sees at {}{text}", here.host, here.place());
        Finding {
            kind,
            address: address_of(place),
            here,
            there: stored.map(side).or_else(|| self.stopped()),
            message,
        }
    }

    /// A word of the device is not what it must be when everybody has ended; nothing where no host ever did anything.
    pub(crate) fn at_the_end(&self, place: (usize, usize), what: &str) -> Option<Finding> {
        let stored = self.shadow.stored(self.shadow.latest(place));
        let (kind, text) = self.fate(stored);
        let on_device = self.shadow.stored(self.state.memory()[place.0][place.1].version);
        let here = stored.map(side).or_else(|| self.stopped())?;
        let there = self.stopped().or_else(|| on_device.map(side));
        Some(Finding {
            kind,
            address: address_of(place),
            here,
            there,
            message: format!("in the end, {what}{text}"),
        })
    }

    /// How a host stopped, and where.
    fn stop_of(&self, stopped: &Side) -> String {
        let is_fenced_off = self.hosts[self.cores_of(stopped.host).start].is_fenced_off;
        let why = if is_fenced_off { ", fenced off since its link was lost" } else { "" };
        format!("host {} stopped at {}{why}", stopped.host, stopped.place())
    }

    /// What became of the last store to a word.
    fn fate(&self, stored: Option<&Stored>) -> (Kind, String) {
        let mut text = String::new();
        if let Some(s) = stored {
            let lost = if s.lost { ", and was lost with its caches" } else { "" };
            text = format!("; the last store there is host {}'s at {}{lost}", s.host, side(s).place());
        }
        let Some(stopped) = self.stopped() else { return (Kind::Broken, text) };
        text += &format!("; {}", self.stop_of(&stopped));
        (Kind::HostCrash, text)
    }
}
