//! What long work and whoever waits for it tell each other: how far it is, and that it is to stop.
//!
//! Whoever waits enters a [`Watch`] ([`Watch::enter`]) or uses the process's own ([`process`]); the work calls [`check`] now
//! and then, which does not return once the work is to stop: it unwinds, as a panic does but without its message, so that
//! nothing between has to know of it and every guard cleans up. [`stopped_by`] tells such an unwinding from a panic.
//! No result depends on any of it.

use std::any::Any;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// One piece of work, watched.
#[derive(Debug, Default)]
pub struct Watch {
    stop: AtomicBool,
    now: AtomicU64,
    steps: AtomicU64,
    done: AtomicU64,
    all: AtomicU64,
    passed: AtomicU64,
    to_pass: AtomicU64,
    /// Of one piece of work among several side by side: the watch of all of them, the process's where there is no own.
    outer: Option<Option<Arc<Watch>>>,
    /// Pieces that are under way side by side.
    pieces: Mutex<Vec<Weak<Watch>>>,
}

/// What is unwound with when the work is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

static PROCESS: Watch = Watch::new();
/// What else is done where work tells of itself.
static ALSO: OnceLock<fn()> = OnceLock::new();

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
            passed: AtomicU64::new(0),
            to_pass: AtomicU64::new(0),
            outer: None,
            pieces: Mutex::new(Vec::new()),
        }
    }

    fn outer(&self) -> Option<&Watch> {
        self.outer.as_ref().map(|outer| outer.as_deref().unwrap_or(&PROCESS))
    }

    /// The work is to stop.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether the work is to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed) || self.outer().is_some_and(Watch::is_stopped)
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

    /// Work of another kind begins: nothing is known of it yet.
    pub fn begin(&self) {
        for told in [&self.now, &self.steps, &self.done, &self.all, &self.passed, &self.to_pass] {
            told.store(0, Relaxed);
        }
    }

    /// How far a pass over data is, and how long it is; zero where nobody has said.
    pub fn pass(&self) -> (u64, u64) {
        (self.passed.load(Relaxed), self.to_pass.load(Relaxed))
    }

    /// How much is done of the pieces that are under way side by side ([`one_of`]), a whole one being one.
    pub fn under_way(&self) -> f64 {
        let share =
            |(done, all): (u64, u64)| if all == 0 { 0.0 } else { (done as f64 / all as f64).min(1.0) };
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.retain(|piece| piece.strong_count() > 0);
        pieces.iter().filter_map(Weak::upgrade).map(|piece| share(piece.parts())).sum()
    }

    /// Says something of itself, and to whom it is a piece of.
    fn tell(&self, what: impl Fn(&Watch)) {
        what(self);
        self.outer().into_iter().for_each(what);
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

/// Does `work`, one of several pieces side by side under the watch `of` another thread, as [`shared`] does; how far each
/// piece is is known apart ([`Watch::under_way`]).
pub fn one_of<T>(of: Option<&Arc<Watch>>, work: impl FnOnce() -> T) -> T {
    let own = Arc::new(Watch { outer: Some(of.cloned()), ..Watch::new() });
    let all = of.map_or(&PROCESS, |of| of);
    all.pieces.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&own));
    shared(Some(&own), work)
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

/// From now on `look` is called where any work of this process says how far it is. It is called often, on the work's own thread.
pub fn also(look: fn()) {
    ALSO.get_or_init(|| look);
}

#[inline]
fn look() {
    if let Some(look) = ALSO.get() {
        look();
    }
}

/// Says how far the work of this thread is in simulated time, and checks as [`check`] does.
pub fn at(now_ps: u64) {
    let stop = with(|w| {
        w.tell(|w| w.now.store(now_ps, Relaxed));
        w.is_stopped()
    });
    look();
    if stop {
        unwind();
    }
}

/// Says how many steps the work of this thread has done, and checks as [`check`] does.
pub fn steps(done: u64) {
    let stop = with(|w| {
        w.tell(|w| w.steps.store(done, Relaxed));
        w.is_stopped()
    });
    look();
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

/// Says the same of pieces of work side by side, to whom they are pieces of.
pub fn parts_of(of: Option<&Arc<Watch>>, done: u64, all: u64) {
    let of = of.map_or(&PROCESS, |of| of);
    of.done.store(done, Relaxed);
    of.all.store(all, Relaxed);
}

/// Says how far a pass over data of this thread's work is, of how much, and checks as [`check`] does.
pub fn pass(done: u64, all: u64) {
    let stop = with(|w| {
        w.passed.store(done, Relaxed);
        w.to_pass.store(all, Relaxed);
        w.is_stopped()
    });
    if stop {
        unwind();
    }
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
    fn pieces_side_by_side_are_known_apart_and_stop_together() {
        let all = Arc::new(Watch::default());
        let percent = |share: f64| (100.0 * share).round() as u64;
        let half_of_one = one_of(Some(&all), || {
            parts(1, 2);
            steps(7);
            one_of(Some(&all), || parts(3, 4));
            all.under_way()
        });
        assert_eq!(percent(half_of_one), 50, "what has ended is no longer under way");
        assert_eq!((percent(all.under_way()), all.steps()), (0, 7));
        all.stop();
        let of = Arc::clone(&all);
        assert!(is_stopped_by(move || one_of(Some(&of), || unreachable!("it is to stop"))));
    }

    #[test]
    fn who_looks_is_called_where_work_tells_of_itself() {
        thread_local!(static LOOKED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
        also(|| LOOKED.set(LOOKED.get() + 1));
        at(1);
        steps(1);
        check();
        assert_eq!(LOOKED.get(), 2);
    }

    #[test]
    fn a_panic_is_no_stop() {
        let caught = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new("other")));
        assert!(caught.is_err_and(|payload| !stopped_by(&*payload)));
    }
}
