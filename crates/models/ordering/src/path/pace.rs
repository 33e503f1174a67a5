//! When the persist buffer sends: its rate, its trigger and its timer; and for how long it could not.

use crate::spec::PathSpec;
use units::{Dur, Time};

/// The pace of flushing.
#[derive(Clone)]
pub(crate) struct Pace {
    issue: Dur,
    trigger: usize,
    timer: Dur,
    free_at: Time,
    last_active: Time,
}

impl Pace {
    pub(crate) fn new(spec: &PathSpec) -> Pace {
        Pace {
            issue: spec.flush_issue,
            trigger: spec.flush_trigger,
            timer: spec.flush_timer,
            free_at: Time::ZERO,
            last_active: Time::ZERO,
        }
    }

    /// When the next of `unsent` entries may go; `drain` says that a fence waits for them.
    pub(crate) fn next(&self, unsent: usize, drain: bool) -> Time {
        if unsent == 0 {
            Time::NEVER
        } else if drain || unsent >= self.trigger {
            self.free_at
        } else {
            self.free_at.max(self.last_active + self.timer)
        }
    }

    /// Whether `unsent` entries are enough to be sent.
    pub(crate) fn is_armed(&self, unsent: usize, drain: bool) -> bool {
        unsent > 0 && (drain || unsent >= self.trigger)
    }

    /// An entry was sent at `now`.
    pub(crate) fn sent(&mut self, now: Time) {
        self.free_at = now + self.issue;
        self.last_active = now;
    }

    /// The buffer became sendable at `now` (an entry came, or an epoch became safe): nothing goes earlier.
    pub(crate) fn not_before(&mut self, now: Time) {
        self.free_at = self.free_at.max(now);
    }

    /// The first entry came into an empty buffer: the timer starts.
    pub(crate) fn woken(&mut self, now: Time) {
        self.last_active = self.last_active.max(now);
    }
}

/// Time during which entries that would have been sent waited only because of ordering.
#[derive(Clone, Default)]
pub(crate) struct Blocked {
    since: Option<Time>,
    pub(crate) total: Dur,
}

impl Blocked {
    pub(crate) fn set(&mut self, now: Time, blocked: bool) {
        self.pass(now);
        self.since = blocked.then_some(now);
    }

    pub(crate) fn pass(&mut self, now: Time) {
        if let Some(since) = &mut self.since {
            self.total += now.since(*since);
            *since = (*since).max(now);
        }
    }
}
