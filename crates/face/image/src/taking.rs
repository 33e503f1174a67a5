//! The child looks now and then: tells how far it is, and has an image of itself written.

use crate::Told;
use crate::channel::Page;
use crate::context::{RESTORED, captured};
use crate::kernel;
use crate::write::{self, Job};
use nix::libc;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Between two looks that do something.
const LOOK: Duration = Duration::from_millis(20);
/// Writing takes at most one part of so many.
const SHARE: u32 = 20;

/// A child at work.
struct Working {
    page: &'static Page,
    channel: i32,
    folder: i32,
    /// When the host's time was counted last, and how much there is.
    counted: Cell<Duration>,
    spent: Cell<Duration>,
    /// When the next image is due; none when no more are taken.
    due: Cell<Option<Duration>>,
    /// Who writes one, and since when.
    writer: Cell<Option<(i32, Duration)>>,
}

thread_local! {
    static WORKING: Cell<Option<&'static Working>> = const { Cell::new(None) };
}

/// From here on this process, which has this thread alone, is a child at work.
pub(crate) fn begin(page: &'static Page, channel: i32, folder: i32) {
    let now = kernel::clock();
    let every = Duration::from_millis(page.every.load(Relaxed));
    let working = Working {
        page,
        channel,
        folder,
        counted: Cell::new(now),
        spent: Cell::default(),
        due: Cell::new(Some(now + every)),
        writer: Cell::default(),
    };
    WORKING.set(Some(Box::leak(Box::new(working))));
}

/// The work has ended: nobody writes any more.
pub(crate) fn end() {
    let writer = WORKING.take().and_then(|working| working.writer.take());
    if let Some((writer, _)) = writer {
        kernel::kill(writer);
        _ = kernel::ended(writer, true);
    }
}

/// Call it every few milliseconds, from work that may be in a child. What it tells is asked for now and then.
#[inline]
pub fn look(tell: impl FnOnce() -> Told) {
    if let Some(working) = WORKING.get() {
        working.look(tell);
    }
}

impl Working {
    fn look(&self, tell: impl FnOnce() -> Told) {
        let now = kernel::clock();
        if now.saturating_sub(self.counted.get()) < LOOK {
            return;
        }
        let told = tell();
        self.page.told.iter().zip(told).for_each(|(place, number)| place.store(number, Relaxed));
        self.count();
        self.look_after_writer(now);
        if self.writer.get().is_none() && self.due.get().is_some_and(|due| due <= now) {
            self.take(now, told);
        }
    }

    /// Counts the host's time up to here.
    fn count(&self) {
        let now = kernel::clock();
        let since = now.saturating_sub(self.counted.replace(now));
        self.spent.set(self.spent.get() + since);
    }

    fn every(&self) -> Duration {
        Duration::from_millis(self.page.every.load(Relaxed))
    }

    /// Asks whether the writer has done its work.
    fn look_after_writer(&self, now: Duration) {
        let Some((writer, since)) = self.writer.get() else { return };
        let Ok(Some(status)) = kernel::ended(writer, false) else { return };
        self.writer.set(None);
        let took = now.saturating_sub(since);
        match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
            (true, 0) => {
                self.page.taken.fetch_add(1, Relaxed);
                self.due.set(Some(now + self.every().max(took * SHARE)));
            }
            (true, why) => {
                self.due.set(None);
                self.page.trouble.store(why as u64, Relaxed);
            }
            // The kernel ended it, where memory was short.
            (false, _) => self.due.set(Some(now + 4 * self.every().max(took * SHARE))),
        }
    }

    fn take(&self, now: Duration, told: Told) {
        if !kernel::is_single() {
            self.due.set(None);
            self.page.trouble.store(write::ODD as u64, Relaxed);
            return;
        }
        let own = std::process::id() as i32;
        let positions = std::array::from_fn(|number| kernel::position(number as i32).unwrap_or(0));
        match kernel::fork() {
            Ok(0) => {
                let (page, channel, folder) = (self.page, self.channel, self.folder);
                let job =
                    Job { parent: own, page, channel, folder, positions, told, spent: self.spent.get() };
                // The writer ends in there. Whoever comes back is another process, at another time.
                if captured(write::take, std::ptr::from_ref(&job).cast()) == RESTORED {
                    self.begin_again();
                }
            }
            Ok(writer) => self.writer.set(Some((writer, now))),
            Err(_) => self.due.set(Some(now + 4 * self.every())),
        }
    }

    /// This process has become what was in an image.
    fn begin_again(&self) {
        kernel::renew_thread_id();
        kernel::forget_used_up(self.page);
        let now = kernel::clock();
        self.counted.set(now);
        self.due.set(Some(now + self.every()));
    }
}
