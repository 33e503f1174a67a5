//! What is found, in words.

use crate::source_line::SourceLine;
use units::{Dur, Time};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A load got bytes that its host knew to be replaced.
    StaleRead,
    /// A load got such bytes, and their replacement was flushed only after it had been told of.
    PublicationBeforeData,
    /// Two hosts stored into one line, and one's write-back destroys the other's bytes.
    WriteConflict,
    /// A host waits for a lock whose release stayed in its holder's caches.
    LockRelease,
    /// A load got bytes of another host that nothing ordered before it.
    Unordered,
    /// What a host that stopped left: bytes that no longer hold, or others that cannot go on.
    HostCrash,
    /// What recovery needs was not on the media when the power failed.
    PowerFailure,
    /// A host waits for ever.
    Stuck,
    /// What the program's own check says.
    Broken,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::StaleRead => "stale-read",
            Kind::PublicationBeforeData => "publication-before-data",
            Kind::WriteConflict => "write-write-conflict",
            Kind::LockRelease => "lock-release-not-flushed",
            Kind::Unordered => "unordered-read",
            Kind::HostCrash => "host-crash",
            Kind::PowerFailure => "power-failure",
            Kind::Stuck => "stuck",
            Kind::Broken => "broken-invariant",
        }
    }
}

/// Something that a host did, where, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// The host.
    pub host: usize,
    /// The place in its program.
    pub site: SourceLine,
    /// When.
    pub time: Time,
}

impl Side {
    /// `FOLDER/FILE:LINE`.
    pub fn place(&self) -> String {
        self.site.to_string()
    }
}

/// Something that is wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What.
    pub kind: Kind,
    /// The word.
    pub address: u64,
    /// Where it shows.
    pub here: Side,
    /// The other host's side of it.
    pub there: Option<Side>,
    /// In a sentence, both places in it.
    pub message: String,
}

/// What is wrong, and the files and lines of its places.
pub(crate) type Mark = (Kind, (&'static str, u32), Option<(&'static str, u32)>);

impl Finding {
    /// Simulated time between the two sides.
    pub fn apart(&self) -> Option<Dur> {
        let there = self.there?;
        Some(self.here.time.since(there.time) + there.time.since(self.here.time))
    }

    /// Whether it is the same mistake: the same is wrong at the same places. Where a host stops or the power fails
    /// is no mistake of its own.
    pub fn is_like(&self, other: &Finding) -> bool {
        self.mark() == other.mark()
    }

    /// The same of two that are the same mistake.
    pub(crate) fn mark(&self) -> Mark {
        let place = |side: &Side| (side.site.file(), side.site.line());
        let stops = matches!(self.kind, Kind::HostCrash | Kind::PowerFailure);
        (self.kind, place(&self.here), self.there.as_ref().filter(|_| !stops).map(place))
    }

    /// Whether it is the same mistake at the same places for the same reason, whenever it shows.
    pub(crate) fn says_the_same(&self, other: &Finding) -> bool {
        self.kind == other.kind && without_times(&self.message).eq(without_times(&other.message))
    }
}

/// The words of a message but those that [`spelled`] gave.
fn without_times(message: &str) -> impl Iterator<Item = &str> {
    let words: Vec<&str> = message.split_whitespace().collect();
    let is_unit =
        |word: Option<&&str>| word.is_some_and(|word| ["ns", "us"].contains(&word.trim_end_matches(',')));
    let times: Vec<bool> =
        (0..words.len()).map(|at| is_unit(words.get(at)) || is_unit(words.get(at + 1))).collect();
    words.into_iter().zip(times).filter(|(_, is_time)| !is_time).map(|(word, _)| word)
}

/// A stretch of time for people.
pub(crate) fn spelled(time: Dur) -> String {
    if time < Dur::ns(1000) {
        format!("{:.0} ns", time.as_ns())
    } else {
        format!("{:.1} us", time.as_ns() / 1e3)
    }
}
