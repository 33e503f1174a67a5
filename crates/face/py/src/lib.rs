//! `coreplane._core`: the lab for Python. What is typed, drawn and tabled is Python's; here names and keys are checked, and
//! long work runs without the interpreter's lock.
//!
//! The second paragraph of each doc comment is its type in Python: the stub file is made of these (`python/tools/stubs.py`).

mod calls;
mod values;
mod work;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    coreplane,
    ConfigError,
    PyValueError,
    "Bad input: what, where, and what is accepted instead."
);
pyo3::create_exception!(coreplane, RunError, PyRuntimeError, "A run broke a promise, such as to end.");

/// Runs the command line; gives its exit code.
///
/// (args: list[str]) -> int
#[pyfunction]
fn cli_main(py: Python<'_>, args: Vec<String>) -> u8 {
    py.detach(|| cli::main_from(&args))
}

/// A message of the command line as a program reads it.
///
/// (text: str) -> str
#[pyfunction]
fn without_options(text: &str) -> String {
    cli::calls::without_options(text)
}

#[pymodule]
fn _core(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    cli::keep_measured_times();
    module.add_function(wrap_pyfunction!(cli_main, module)?)?;
    module.add_function(wrap_pyfunction!(without_options, module)?)?;
    calls::add(module)?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add("RunError", py.get_type::<RunError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
