//! Long work on a thread of its own, so that Python's can see signals: Ctrl-C raises KeyboardInterrupt.

use crate::{ConfigError, RunError};
use cli::Failure;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use units::watch::{self, Watch};

/// Between two looks whether Python has got a signal.
const LOOK: Duration = Duration::from_millis(50);
/// How long work that is to stop is waited for. It stops by itself later when it does not look in that time.
const PATIENCE: Duration = Duration::from_millis(400);
/// As much as a main thread has.
const STACK: usize = 8 << 20;

/// Does `work` without the interpreter's lock.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let watch = Arc::new(Watch::default());
    let (send, done) = channel();
    let own = Arc::clone(&watch);
    let all = move || {
        // Nobody listens any more when Ctrl-C came.
        _ = send.send(std::panic::catch_unwind(AssertUnwindSafe(|| own.enter(work))));
    };
    std::thread::Builder::new().name("coreplane".into()).stack_size(STACK).spawn(all)?;
    // Only this thread listens; the lock says so to the compiler.
    let done = Mutex::new(done);
    let wait = |time| done.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time);
    let result = loop {
        match py.detach(|| wait(LOOK)) {
            Ok(result) => break result,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the work has no result"));
            }
        }
        if let Err(raised) = py.check_signals() {
            watch.stop();
            _ = py.detach(|| wait(PATIENCE));
            return Err(raised);
        }
    };
    match result {
        Ok(result) => result.map_err(raised),
        Err(payload) if watch::stopped_by(&*payload) => Err(PyKeyboardInterrupt::new_err(())),
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

/// A failure as Python raises it.
pub(crate) fn raised(failure: Failure) -> PyErr {
    match failure {
        Failure::BadInput(text) => ConfigError::new_err(cli::calls::without_options(&text)),
        Failure::DoesNotHold(text) => RunError::new_err(text),
    }
}
