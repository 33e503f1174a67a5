//! `coreplane._core`: the command line and runs for Python. Long work releases the GIL.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(_core, ConfigError, PyValueError, "Bad input; the message is the command line's.");

/// Runs the command line; gives its exit code.
#[pyfunction]
fn cli_main(py: Python<'_>, args: Vec<String>) -> u8 {
    py.detach(|| cli::main_from(&args))
}

/// Runs `command` (`run`, `compare`, `reproduce`, `show`, ...) with its arguments and gives its JSON.
#[pyfunction]
fn call(py: Python<'_>, args: Vec<String>) -> PyResult<String> {
    py.detach(|| cli::call(&args)).map_err(ConfigError::new_err)
}

#[pymodule]
fn _core(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(cli_main, module)?)?;
    module.add_function(wrap_pyfunction!(call, module)?)?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
