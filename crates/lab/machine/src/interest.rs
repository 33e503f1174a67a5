//! The region of interest as shared devices and the report see it: what was counted outside of it, and the times of its parts.

use params::{Statistics, Tally};
use trace::Region;
use units::{Dur, Time};

/// What is known of it. A bound is met when an event comes that is later: until then devices have counted nothing since.
pub(crate) struct Interest {
    /// A bound that is not met yet, never where there is none, and whether the region is open from there on.
    bound: Time,
    opens: bool,
    /// Whether it has begun, and how often it has begun or ended as the recording tells.
    pub(crate) has_begun: bool,
    pub(crate) seen: Region,
    /// What shared devices had counted outside of it.
    pub(crate) outside: Tally,
    /// Since when it is open.
    opened: Time,
    /// Where it is not open, what they had counted by its end.
    closed: Option<Tally>,
    /// Time of its parts that have ended.
    counted: Dur,
    parts: Parts,
}

/// Times of parts that have ended: how many, and sums of nanoseconds and of their squares.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    count: u64,
    sum: f64,
    squares: f64,
}

/// How far the parts of a recording stand for the rest.
#[derive(Statistics)]
#[statistics(prefix = "sampling", sometimes)]
pub(crate) struct Sampling {
    /// parts of the recording that are counted, where it has several, and have ended
    pub(crate) windows: f64,
    /// time of such a part
    #[stat(unit = "ns")]
    pub(crate) window_time: f64,
    /// standard error of that time, as a mean of parts that were taken from many
    #[stat(unit = "%")]
    pub(crate) error_percent: f64,
}

impl Default for Interest {
    fn default() -> Interest {
        Interest {
            bound: Time::NEVER,
            opens: false,
            has_begun: false,
            seen: Region::default(),
            outside: Tally::default(),
            opened: Time::ZERO,
            closed: None,
            counted: Dur::ZERO,
            parts: Parts::default(),
        }
    }
}

impl Interest {
    /// The bound that is to be met, or never.
    #[inline]
    pub(crate) fn bound(&self) -> Time {
        self.bound
    }

    /// It begins for the first time, on some core: the first of them counts.
    pub(crate) fn begins(&mut self, at: Time) {
        self.opens = true;
        self.bound = self.bound.min(at);
    }

    /// It ends, or begins once more, or both at one time.
    pub(crate) fn turns(&mut self, at: Time, opens: bool) {
        let is_open = self.closed.is_none();
        if opens != is_open {
            (self.bound, self.opens) = (at, opens);
        } else if is_open {
            self.part_ends(at);
            self.opened = at;
        }
    }

    fn part_ends(&mut self, at: Time) {
        let time = at.since(self.opened);
        self.counted += time;
        self.parts.add(time);
    }

    /// The bound is met; `counted` is what shared devices had counted by then.
    pub(crate) fn meet(&mut self, mut counted: Tally) {
        let at = std::mem::replace(&mut self.bound, Time::NEVER);
        if !self.opens {
            self.part_ends(at);
            self.closed = Some(counted);
            return;
        }
        if let Some(before) = self.closed.take() {
            counted.subtract(&before);
        }
        self.outside.add(&counted);
        (self.opened, self.has_begun) = (at, true);
    }

    /// The time that is counted, where it has begun; an open part ends at `end`. Asked before the run is over.
    pub(crate) fn time(&self, end: Time) -> Option<Dur> {
        let open = if self.closed.is_none() { end.since(self.opened) } else { Dur::ZERO };
        self.has_begun.then(|| self.counted + open)
    }

    /// The run is over, with devices having counted `counted`.
    pub(crate) fn finish(&mut self, mut counted: Tally) {
        if let Some(before) = self.closed.take() {
            counted.subtract(&before);
            self.outside.add(&counted);
        }
    }

    /// What its parts say of all of the program; none where it has one part.
    pub(crate) fn sampling(&self) -> Option<Sampling> {
        let Parts { count, sum, squares } = self.parts;
        let (n, mean) = (count as f64, sum / count as f64);
        let variance = ((squares - sum * mean) / (n - 1.0)).max(0.0);
        let error_percent = if mean > 0.0 { (variance / n).sqrt() / mean * 100.0 } else { 0.0 };
        (count > 1).then_some(Sampling { windows: n, window_time: mean, error_percent })
    }
}

impl Parts {
    fn add(&mut self, time: Dur) {
        self.count += 1;
        self.sum += time.as_ns();
        self.squares += time.as_ns() * time.as_ns();
    }
}
