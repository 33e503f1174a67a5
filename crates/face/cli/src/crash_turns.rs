//! Runs of a check beside each other, and one alone when it failed: what two runs write to the same place makes one of them
//! fail on an image that recovery copes with.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

/// So many failures are looked at again; a check that fails as often alone is not disturbed.
const LOOKED_AT: usize = 64;

/// Who runs when.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    lock: RwLock<()>,
    same: AtomicUsize,
    disturbed: AtomicBool,
}

impl Turns {
    /// Runs `check` beside others. What `fails` is run once more with no other beside it, and that counts.
    ///
    /// # Errors
    /// What `check` returns.
    pub(crate) fn run<T, E>(
        &self,
        mut check: impl FnMut() -> Result<T, E>,
        fails: impl Fn(&T) -> bool,
    ) -> Result<T, E> {
        if self.disturbed.load(Ordering::Relaxed) {
            return self.alone(check);
        }
        let beside = {
            let _turn = self.lock.read().unwrap_or_else(PoisonError::into_inner);
            check()?
        };
        if !fails(&beside) || self.same.load(Ordering::Relaxed) >= LOOKED_AT {
            return Ok(beside);
        }
        let alone = self.alone(check)?;
        if fails(&alone) {
            self.same.fetch_add(1, Ordering::Relaxed);
        } else {
            self.disturbed.store(true, Ordering::Relaxed);
        }
        Ok(alone)
    }

    fn alone<T, E>(&self, mut check: impl FnMut() -> Result<T, E>) -> Result<T, E> {
        // A run that was broken off leaves nothing half done here.
        let _turn = self.lock.write().unwrap_or_else(PoisonError::into_inner);
        check()
    }

    /// What is said of a check whose runs disturb each other.
    pub(crate) fn disturbed(&self) -> Option<String> {
        self.disturbed.load(Ordering::Relaxed).then(|| {
            "the check failed on an image beside other runs and held on the same alone, so from there on one ran at a time: \
             what it writes belongs beside {image}, where each run has a folder of its own"
                .into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;
    use std::sync::atomic::AtomicI32;
    use std::time::Duration;

    fn fails(result: &bool) -> bool {
        !result
    }

    /// A check that fails when another runs meanwhile.
    fn alone_only(inside: &AtomicI32) -> bool {
        let first = inside.fetch_add(1, Ordering::SeqCst) == 0;
        std::thread::sleep(Duration::from_millis(5));
        let last = inside.fetch_sub(1, Ordering::SeqCst) == 1;
        first && last
    }

    #[test]
    fn what_fails_only_beside_others_holds() {
        let (turns, inside) = (Turns::default(), AtomicI32::new(0));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        let held = |_| turns.run(|| Ok::<_, ()>(alone_only(&inside)), fails).unwrap();
        let all = pool.install(|| (0..40).into_par_iter().map(held).collect::<Vec<_>>());
        assert!(turns.disturbed().is_some(), "four at a time for 5 ms");
        assert!(all.iter().filter(|held| !**held).count() == 0, "{all:?}");
    }

    #[test]
    fn what_fails_alone_too_fails_and_is_looked_at_so_often() {
        let (turns, mut runs) = (Turns::default(), 0);
        for _ in 0..100 {
            let held = turns.run(
                || {
                    Ok::<_, ()>({
                        runs += 1;
                        false
                    })
                },
                fails,
            );
            assert_eq!(held, Ok(false));
        }
        assert_eq!((runs, turns.disturbed()), (100 + LOOKED_AT, None));
    }

    #[test]
    fn what_breaks_is_not_tried_again() {
        let (turns, mut runs) = (Turns::default(), 0);
        let broke = turns.run(
            || {
                runs += 1;
                Err::<bool, _>("broken")
            },
            fails,
        );
        assert_eq!((broke, runs), (Err("broken"), 1));
    }
}
