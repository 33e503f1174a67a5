//! How cores flush.

use units::{Dur, Time};

/// What distinguishes core sides.
#[derive(Clone, Copy, Debug)]
pub struct EarlySpec {
    /// Flush epochs that are not safe yet. Without it the oldest epoch alone is flushed.
    pub eager: bool,
    /// The next epoch is safe as soon as the commit is sent, not when it is acknowledged.
    pub commit_pipelined: bool,
    /// Controllers hear of commits at whole multiples of this, where it is not zero.
    pub commit_interval: Dur,
    /// A seeded mistake; none in every machine.
    pub mutant: Option<super::Mutant>,
}

impl EarlySpec {
    /// Everything goes as soon as it can.
    pub const EAGER: EarlySpec =
        EarlySpec { eager: true, commit_pipelined: false, commit_interval: Dur::ZERO, mutant: None };

    /// When controllers hear of a commit that is decided at `now`.
    pub(super) fn committed_at(&self, now: Time) -> Time {
        let period = self.commit_interval.as_ps();
        if period == 0 { now } else { Time::from_ps(now.ps().next_multiple_of(period)) }
    }
}
