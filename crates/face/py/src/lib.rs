//! `coreplane._core`: the command line and runs for Python. Long work releases the GIL.

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use units::watch::{self, Watch};

pyo3::create_exception!(_core, ConfigError, PyValueError, "Bad input; the message is the command line's.");

/// Between two looks whether Python has got a signal.
const LOOK: Duration = Duration::from_millis(50);
/// How long work that is to stop is waited for. It stops by itself later when it does not look in that time.
const PATIENCE: Duration = Duration::from_millis(400);
/// As much as a main thread has.
const STACK: usize = 8 << 20;

/// Runs the command line; gives its exit code.
#[pyfunction]
fn cli_main(py: Python<'_>, args: Vec<String>) -> u8 {
    py.detach(|| cli::main_from(&args))
}

/// What work on another thread ends with.
type Done = std::thread::Result<Result<String, String>>;

/// Runs `command` (`run`, `compare`, `reproduce`, `show`, ...) with its arguments and gives its JSON. The work has a thread of
/// its own, so that this one can see signals: Ctrl-C raises KeyboardInterrupt.
#[pyfunction]
fn call(py: Python<'_>, args: Vec<String>) -> PyResult<String> {
    let watch = Arc::new(Watch::default());
    // Only this thread listens; the lock says so to the compiler.
    let done = Mutex::new(begin(Arc::clone(&watch), args)?);
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
        Ok(result) => result.map_err(ConfigError::new_err),
        Err(payload) if watch::stopped_by(&*payload) => Err(PyKeyboardInterrupt::new_err(())),
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

fn begin(watch: Arc<Watch>, args: Vec<String>) -> std::io::Result<Receiver<Done>> {
    let (send, done) = channel();
    let work = move || {
        let call = std::panic::AssertUnwindSafe(|| watch.enter(|| cli::call(&args)));
        // Nobody listens any more when Ctrl-C came.
        _ = send.send(std::panic::catch_unwind(call));
    };
    std::thread::Builder::new().name("coreplane".into()).stack_size(STACK).spawn(work)?;
    Ok(done)
}

#[pymodule]
fn _core(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(cli_main, module)?)?;
    module.add_function(wrap_pyfunction!(call, module)?)?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
