//! Waiting for what any traced thread reports, with a tick that ends the wait.
#![expect(unsafe_code, reason = "system calls; every argument is a plain structure owned by the caller")]

use crate::kernel::{self, Status};
use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;
use std::mem::zeroed;
use std::ptr::null_mut;

/// Between two ticks, nanoseconds.
const TICK_NS: i64 = 5_000_000;

/// What a wait ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// A thread reports.
    Report(Pid, Status),
    /// Nobody did for a while.
    Tick,
    /// Nobody is traced.
    Nobody,
}

/// Waits for what the threads report that the calling thread traces. A timer's signal to this thread interrupts the wait.
pub(crate) struct Waiter {
    timer: libc::timer_t,
    before: libc::sigaction,
}

/// Nobody else uses the last but one of the real-time signals.
fn tick() -> i32 {
    libc::SIGRTMAX() - 1
}

extern "C" fn nothing(_: i32) {}

impl Waiter {
    /// For the calling thread.
    ///
    /// # Errors
    /// As `timer_create(2)`.
    pub(crate) fn new() -> Result<Waiter, Errno> {
        // SAFETY: plain structures of this function, for which zeros are values; the handler does nothing.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = nothing as *const () as usize;
            let mut before: libc::sigaction = zeroed();
            Errno::result(libc::sigaction(tick(), &raw const action, &raw mut before))?;
            let mut mask: libc::sigset_t = zeroed();
            libc::sigaddset(&raw mut mask, tick());
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const mask, null_mut());
            let mut event: libc::sigevent = zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = tick();
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer: libc::timer_t = null_mut();
            let made = libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer);
            Errno::result(made)
                .inspect_err(|_| _ = libc::sigaction(tick(), &raw const before, null_mut()))?;
            Ok(Waiter { timer, before })
        }
    }

    fn set(&self, nanoseconds: i64) {
        let every = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds };
        let time = libc::itimerspec { it_interval: every, it_value: every };
        // SAFETY: the timer is this one's own; the time is a variable of this function.
        _ = unsafe { libc::timer_settime(self.timer, 0, &raw const time, null_mut()) };
    }

    /// The next report.
    pub(crate) fn next(&self) -> Waited {
        match kernel::wait_any(true) {
            Ok(None) => {}
            other => return told(other),
        }
        // A tick that comes before the wait begins is lost: the next one ends it.
        self.set(TICK_NS);
        let waited = kernel::wait_any(false);
        self.set(0);
        told(waited)
    }
}

fn told(waited: Result<Option<(Pid, Status)>, Errno>) -> Waited {
    match waited {
        Ok(Some((thread, status))) => Waited::Report(thread, status),
        Ok(None) | Err(Errno::EINTR) => Waited::Tick,
        Err(_) => Waited::Nobody,
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // SAFETY: the timer is this one's own, and what was there before is put back.
        unsafe {
            libc::timer_delete(self.timer);
            libc::sigaction(tick(), &raw const self.before, null_mut());
        }
    }
}
