//! What long work and whoever waits for it tell each other: how far it is, and that it is to stop.
//!
//! Whoever waits enters a [`Watch`] ([`Watch::enter`]) or uses the process's own ([`process`]); the work calls [`check`] now
//! and then, which does not return once the work is to stop: it unwinds, as a panic does but without its message, so that
//! nothing between has to know of it and every guard cleans up. [`stopped_by`] tells such an unwinding from a panic.
//! No result depends on any of it.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// One piece of work, watched.
#[derive(Debug, Default)]
pub struct Watch {
    stop: AtomicBool,
    now: AtomicU64,
    steps: AtomicU64,
    done: AtomicU64,
    all: AtomicU64,
}

/// What is unwound with when the work is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

static PROCESS: Watch = Watch::new();

thread_local! {
    static OWN: RefCell<Option<Arc<Watch>>> = const { RefCell::new(None) };
}

impl Watch {
    const fn new() -> Watch {
        Watch {
            stop: AtomicBool::new(false),
            now: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            done: AtomicU64::new(0),
            all: AtomicU64::new(0),
        }
    }

    /// The work is to stop.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether the work is to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Simulated time, in picoseconds, that the work has come to.
    pub fn now_ps(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// Steps that the work has done, in whatever it counts: references, states, crash points.
    pub fn steps(&self) -> u64 {
        self.steps.load(Relaxed)
    }

    /// Parts of the work that are done, and how many there are; zero where nobody has said.
    pub fn parts(&self) -> (u64, u64) {
        (self.done.load(Relaxed), self.all.load(Relaxed))
    }

    /// Does `work` under this watch, on this thread.
    pub fn enter<T>(self: &Arc<Watch>, work: impl FnOnce() -> T) -> T {
        let _before = Before(OWN.replace(Some(Arc::clone(self))));
        work()
    }
}

/// Puts the watch of before back, also when the work unwinds.
struct Before(Option<Arc<Watch>>);

impl Drop for Before {
    fn drop(&mut self) {
        OWN.set(self.0.take());
    }
}

/// The watch of all work that no other watches.
pub fn process() -> &'static Watch {
    &PROCESS
}

/// The watch that this thread has entered, for other threads that work for it ([`shared`]).
pub fn entered() -> Option<Arc<Watch>> {
    OWN.with_borrow(Clone::clone)
}

/// Does `work` under the watch `of` another thread ([`entered`]), unless it is to stop already.
pub fn shared<T>(of: Option<&Arc<Watch>>, work: impl FnOnce() -> T) -> T {
    let work = || {
        check();
        work()
    };
    match of {
        Some(watch) => watch.enter(work),
        None => work(),
    }
}

fn with<T>(look: impl FnOnce(&Watch) -> T) -> T {
    OWN.with_borrow(|own| look(own.as_deref().unwrap_or(&PROCESS)))
}

/// Whether the work of this thread is to stop.
pub fn is_stopped() -> bool {
    with(Watch::is_stopped)
}

/// Unwinds with [`Stopped`] when the work of this thread is to stop. Call it every few milliseconds.
#[inline]
pub fn check() {
    if is_stopped() {
        unwind();
    }
}

/// Says how far the work of this thread is in simulated time, and checks as [`check`] does.
pub fn at(now_ps: u64) {
    let stop = with(|w| {
        w.now.store(now_ps, Relaxed);
        w.is_stopped()
    });
    if stop {
        unwind();
    }
}

/// Says how many steps the work of this thread has done, and checks as [`check`] does.
pub fn steps(done: u64) {
    let stop = with(|w| {
        w.steps.store(done, Relaxed);
        w.is_stopped()
    });
    if stop {
        unwind();
    }
}

/// Says how many parts of the work of this thread are done, of how many.
pub fn parts(done: u64, all: u64) {
    with(|w| {
        w.done.store(done, Relaxed);
        w.all.store(all, Relaxed);
    });
}

#[cold]
fn unwind() -> ! {
    std::panic::resume_unwind(Box::new(Stopped))
}

/// Whether what was caught is work that was stopped, and no panic.
pub fn stopped_by(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Stopped>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_stopped_by(work: impl FnOnce() + std::panic::UnwindSafe) -> bool {
        std::panic::catch_unwind(work).is_err_and(|payload| stopped_by(&*payload))
    }

    #[test]
    fn work_goes_on_until_its_own_watch_says_stop() {
        let (one, other) = (Arc::new(Watch::default()), Arc::new(Watch::default()));
        one.stop();
        let (a, b) = (Arc::clone(&one), Arc::clone(&other));
        assert!(is_stopped_by(move || a.enter(check)));
        assert!(!is_stopped_by(move || {
            b.enter(|| {
                steps(7);
                parts(3, 9);
            });
        }));
        assert_eq!((one.steps(), one.parts()), (0, (0, 0)));
        assert_eq!((other.steps(), other.parts()), (7, (3, 9)));
        assert!(entered().is_none(), "unwinding leaves no watch behind");
    }

    #[test]
    fn a_watch_within_a_watch_ends_with_its_work() {
        let (outer, inner) = (Arc::new(Watch::default()), Arc::new(Watch::default()));
        inner.stop();
        let (a, b) = (Arc::clone(&outer), Arc::clone(&inner));
        assert!(!is_stopped_by(move || {
            a.enter(|| {
                assert!(is_stopped_by(move || shared(Some(&b), || unreachable!("it is to stop"))));
                at(5);
            });
        }));
        assert_eq!(outer.now_ps(), 5);
    }

    #[test]
    fn a_panic_is_no_stop() {
        let caught = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new("other")));
        assert!(caught.is_err_and(|payload| !stopped_by(&*payload)));
    }
}
