//! Long work on a thread of its own, so that Python's can see signals: Ctrl-C raises KeyboardInterrupt.

use crate::{ConfigError, RunError};
use cli::Failure;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use units::watch::{self, Watch};

/// Between two looks whether Python has got a signal.
const LOOK: Duration = Duration::from_millis(50);
/// How long work that is to stop is waited for. It stops by itself later when it does not look in that time.
const PATIENCE: Duration = Duration::from_millis(400);
/// Shorter work shows nothing.
const SHORT: Duration = Duration::from_secs(2);
/// Between two lines on how far it is.
const AGAIN: Duration = Duration::from_millis(500);
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
    let mut shown = Shown::new(py);
    let result = loop {
        shown.look(&watch);
        match py.detach(|| wait(LOOK)) {
            Ok(result) => break result,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the work has no result"));
            }
        }
        if let Err(raised) = py.check_signals() {
            drop(shown);
            watch.stop();
            _ = py.detach(|| wait(PATIENCE));
            return Err(raised);
        }
    };
    drop(shown);
    match result {
        Ok(result) => result.map_err(raised),
        Err(payload) if watch::stopped_by(&*payload) => Err(PyKeyboardInterrupt::new_err(())),
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

/// A line on Python's standard error that says how far long work is, where a person looks: on a terminal, and in a notebook.
struct Shown<'py> {
    stderr: Option<Bound<'py, PyAny>>,
    began: Instant,
    next: Duration,
    wide: usize,
}

impl<'py> Shown<'py> {
    #[expect(clippy::disallowed_methods, reason = "how long a person has waited is no result's business")]
    fn new(py: Python<'py>) -> Shown<'py> {
        let stderr = looked_at(py).ok().flatten();
        Shown { stderr, began: Instant::now(), next: SHORT, wide: 0 }
    }

    /// Writes the line anew, now and then; nothing of what goes wrong in that concerns the work.
    fn look(&mut self, watch: &Watch) {
        let took = self.began.elapsed();
        if took >= self.next {
            self.next = took + AGAIN;
            let line = cli::calls::progress_line(watch, took);
            self.write(&line);
        }
    }

    fn write(&mut self, line: &str) {
        let Some(stderr) = &self.stderr else { return };
        let old = std::mem::replace(&mut self.wide, line.chars().count());
        _ = stderr.call_method1("write", (format!("\r{line:<old$}"),));
        _ = stderr.call_method0("flush");
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if self.wide > 0 {
            self.write("");
            self.write("");
        }
    }
}

/// Python's standard error, where somebody looks at it; of several threads the main one alone writes there.
fn looked_at(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?;
    let stderr = py.import("sys")?.getattr("stderr")?;
    if stderr.is_none() || !threading.call_method0("current_thread")?.is(&main) {
        return Ok(None);
    }
    let notebook = stderr.get_type().fully_qualified_name()?.to_cow()?.starts_with("ipykernel.");
    Ok((notebook || stderr.call_method0("isatty")?.extract()?).then_some(stderr))
}

/// A failure as Python raises it.
pub(crate) fn raised(failure: Failure) -> PyErr {
    match failure {
        Failure::BadInput(text) => ConfigError::new_err(cli::calls::without_options(&text)),
        Failure::DoesNotHold(text) => RunError::new_err(text),
    }
}
