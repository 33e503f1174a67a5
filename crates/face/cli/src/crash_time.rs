//! How long checks may take to make failures small.

use crate::Failure;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

thread_local! {
    /// The next check of this thread makes a failure small.
    static NEXT: Cell<bool> = const { Cell::new(false) };
}

/// Seconds of checks, spent by those that follow a question whether to go on.
pub(crate) struct Budget {
    limit_s: f64,
    spent_us: AtomicU64,
    refused: AtomicBool,
}

impl Budget {
    /// So many seconds.
    pub(crate) fn new(limit_s: f64) -> Result<Budget, Failure> {
        if !limit_s.is_finite() || limit_s < 0.0 {
            return Err(Failure::BadInput(format!("--minimise-seconds {limit_s}: give seconds, 0 or more")));
        }
        Ok(Budget { limit_s, spent_us: AtomicU64::new(0), refused: AtomicBool::new(false) })
    }

    /// Whether there is time for another check; its time is counted.
    pub(crate) fn goes_on(&self) -> bool {
        let goes_on = (self.spent_us.load(Ordering::Relaxed) as f64) < self.limit_s * 1e6;
        NEXT.set(goes_on);
        if !goes_on {
            self.refused.store(true, Ordering::Relaxed);
        }
        goes_on
    }

    /// Does a check.
    pub(crate) fn spend<T>(&self, check: impl FnOnce() -> T) -> T {
        let counts = NEXT.replace(false);
        let (result, seconds) = crate::output::timed(check);
        if counts {
            self.spent_us.fetch_add((seconds * 1e6) as u64, Ordering::Relaxed);
        }
        result
    }

    /// Whether there was no time once when it was asked for.
    pub(crate) fn is_spent(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_checks_that_make_failures_small_are_counted() {
        let budget = Budget::new(0.01).unwrap();
        budget.spend(|| std::thread::sleep(Duration::from_millis(30)));
        assert!(budget.goes_on() && !budget.is_spent());
        budget.spend(|| std::thread::sleep(Duration::from_millis(30)));
        assert!(!budget.goes_on() && budget.is_spent());
        assert!(!Budget::new(0.0).unwrap().goes_on());
        assert!(Budget::new(f64::NAN).is_err() && Budget::new(-1.0).is_err());
    }
}
