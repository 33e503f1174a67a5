//! Machines, workloads, and a function for each command.

use crate::values::to_python;
use crate::work::{raised, watched};
use cli::calls::{self, Bands, How, Pairs, Part, PowerFailure, Texts};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

type Any<'py> = PyResult<Bound<'py, PyAny>>;

/// A machine that was read and checked.
#[pyclass(frozen, module = "coreplane._core")]
pub(crate) struct Machine(calls::Machine);

#[pymethods]
impl Machine {
    #[new]
    #[pyo3(signature = (source, settings, memories, label=None, texts=Texts::new()))]
    fn new(
        py: Python<'_>,
        source: &str,
        settings: Pairs,
        memories: Vec<Pairs>,
        label: Option<String>,
        texts: Texts,
    ) -> PyResult<Machine> {
        let machine = py.detach(|| calls::Machine::new(source, &settings, &memories, label, texts));
        machine.map(Machine).map_err(raised)
    }

    /// What reports call it.
    ///
    /// () -> str
    fn name(&self) -> &str {
        self.0.name()
    }

    /// What its files say, by name.
    ///
    /// () -> dict[str, str]
    fn texts(&self) -> Texts {
        self.0.texts().clone()
    }

    /// The parameters that act on it.
    ///
    /// () -> list[dict[str, Any]]
    fn parameters<'py>(&self, py: Python<'py>) -> Any<'py> {
        to_python(py, &self.0.parameters())
    }
}

/// A workload that was read and checked.
#[pyclass(frozen, module = "coreplane._core")]
pub(crate) struct Workload(calls::Workload);

#[pymethods]
impl Workload {
    #[new]
    fn new(py: Python<'_>, name: String, settings: Pairs) -> PyResult<Workload> {
        watched(py, move || calls::Workload::new(&name, settings)).map(Workload)
    }

    /// Its parameters.
    ///
    /// () -> list[dict[str, Any]]
    fn parameters<'py>(&self, py: Python<'py>) -> Any<'py> {
        to_python(py, &self.0.parameters())
    }
}

/// As the functions in Python name them, with the most runs.
fn bands_of((word, runs): &(String, Option<usize>)) -> PyResult<Bands> {
    match word.as_str() {
        "open" => Ok(Bands::Open(*runs)),
        "recordings" => Ok(Bands::Recordings),
        "none" => Ok(Bands::None),
        _ => Err(PyValueError::new_err(format!("bands = {word}: give open, recordings or none"))),
    }
}

/// Simulates a workload on a machine; gives the result, and the timeline's bytes where one was asked for. `power_fails_at` is when the power
/// fails, and the file of what is left.
///
/// (machine: Machine, workload: Workload, seed: int, reference: bool, bands: tuple[str, int | None], timeline: bool, power_fails_at: tuple[str, str | None] | None = None) -> tuple[dict[str, Any], bytes | None]
#[pyfunction]
#[pyo3(signature = (machine, workload, seed, reference, bands, timeline, power_fails_at=None))]
#[expect(clippy::too_many_arguments, reason = "one a keyword of the function in Python")]
fn run<'py>(
    py: Python<'py>,
    machine: &Machine,
    workload: &Workload,
    seed: u64,
    reference: bool,
    bands: (String, Option<usize>),
    timeline: bool,
    power_fails_at: Option<(String, Option<PathBuf>)>,
) -> PyResult<(Bound<'py, PyAny>, Option<Bound<'py, PyBytes>>)> {
    let (machine, workload) = (machine.0.clone(), workload.0.clone());
    let how = How { seed, reference, bands: bands_of(&bands)?, timeline };
    let power = power_fails_at.map(|(at, image)| PowerFailure { at, image });
    let (json, timeline) = watched(py, move || calls::run(&machine, &workload, how, power.as_ref()))?;
    Ok((to_python(py, &json)?, timeline.map(|bytes| PyBytes::new(py, &bytes))))
}

/// Simulates a workload on several machines; speedups are against the one with the number `base`.
///
/// (machines: list[Machine], workload: Workload, base: int, seed: int, reference: bool, bands: tuple[str, int | None]) -> dict[str, Any]
#[pyfunction]
fn compare<'py>(
    py: Python<'py>,
    machines: Vec<Bound<'py, Machine>>,
    workload: &Workload,
    base: usize,
    seed: u64,
    reference: bool,
    bands: (String, Option<usize>),
) -> Any<'py> {
    let machines: Vec<calls::Machine> = machines.iter().map(|m| m.get().0.clone()).collect();
    let (workload, how) =
        (workload.0.clone(), How { seed, reference, bands: bands_of(&bands)?, timeline: false });
    let json = watched(py, move || calls::compare(&machines, &workload, base, how))?;
    to_python(py, &json)
}

/// The names of machines that are to be compared: the family's among them where that word is.
///
/// (on: list[str]) -> list[str]
#[pyfunction]
fn compared(on: Vec<String>) -> PyResult<Vec<String>> {
    calls::compared(&on).map_err(raised)
}

/// Cuts the power, recovers, checks.
///
/// (machine: Machine, workload: Workload, seed: int, *, at: str | None, every: int | None, all: bool, check: str | None, file: str | None, after: int | None, from_start: bool, beside: str | None, accept_unseen: bool, model: str | None, points: int, images: int, time_limit: float, minimise_seconds: float, replay: str | None, out: str | None, resume: bool) -> dict[str, Any]
#[pyfunction]
#[pyo3(signature = (machine, workload, seed, *, at, every, all, check, file, after, from_start, beside, accept_unseen, model, points, images, time_limit, minimise_seconds, replay, out, resume))]
#[expect(clippy::too_many_arguments, reason = "one a keyword of the function in Python")]
fn crash<'py>(
    py: Python<'py>,
    machine: &Machine,
    workload: &Workload,
    seed: u64,
    at: Option<String>,
    every: Option<u64>,
    all: bool,
    check: Option<String>,
    file: Option<String>,
    after: Option<u64>,
    from_start: bool,
    beside: Option<PathBuf>,
    accept_unseen: bool,
    model: Option<String>,
    points: usize,
    images: usize,
    time_limit: f64,
    minimise_seconds: f64,
    replay: Option<String>,
    out: Option<PathBuf>,
    resume: bool,
) -> Any<'py> {
    let (machine, workload) = (machine.0.clone(), workload.0.clone());
    let how = calls::Crash {
        at,
        every,
        all,
        check,
        file,
        after,
        from_start,
        beside,
        accept_unseen,
        model,
        points,
        images,
        time_limit,
        minimise_seconds,
        replay,
        out,
        resume,
    };
    to_python(py, &watched(py, move || calls::crash(&machine, &workload, seed, how))?)
}

/// Runs litmus tests: those of files, of a text, or the project's own.
///
/// (files: list[str], text: str | None, model: str | None, operational: bool, failed_rmw_fences: bool) -> list[dict[str, Any]]
#[pyfunction]
fn litmus<'py>(
    py: Python<'py>,
    files: Vec<PathBuf>,
    text: Option<String>,
    model: Option<String>,
    operational: bool,
    failed_rmw_fences: bool,
) -> Any<'py> {
    let json = watched(py, move || calls::litmus(files, text, model, operational, failed_rmw_fences))?;
    to_python(py, &json)
}

/// Explores a protocol, or takes the steps of a trace again.
///
/// (protocol: str, bounds: list[tuple[str, str]], mutant: str | None, states: int, replay: list[int] | None) -> dict[str, Any]
#[pyfunction]
fn explore<'py>(
    py: Python<'py>,
    protocol: String,
    bounds: Pairs,
    mutant: Option<String>,
    states: usize,
    replay: Option<Vec<u16>>,
) -> Any<'py> {
    let work = move || calls::explore(&protocol, &bounds, mutant.as_deref(), states, replay.as_deref());
    to_python(py, &watched(py, work)?)
}

/// Looks for what is wrong in a program of several hosts.
///
/// (machine: Machine, workload: Workload, seed: int, schedules: int | None) -> dict[str, Any]
#[pyfunction]
fn shared<'py>(
    py: Python<'py>,
    machine: &Machine,
    workload: &Workload,
    seed: u64,
    schedules: Option<u64>,
) -> Any<'py> {
    let (machine, workload) = (machine.0.clone(), workload.0.clone());
    to_python(py, &watched(py, move || calls::shared(&machine, &workload, seed, schedules))?)
}

/// Runs a program and records it.
///
/// (command: list[str], out: str, route: str, memory: str | None, host_per_process: bool, part: list[tuple[str, str]]) -> dict[str, Any]
#[pyfunction]
fn record<'py>(
    py: Python<'py>,
    command: Vec<String>,
    out: PathBuf,
    route: String,
    memory: Option<String>,
    host_per_process: bool,
    part: Vec<(String, String)>,
) -> Any<'py> {
    let part = Part::new(&part);
    to_python(
        py,
        &watched(py, move || calls::record(&command, &out, &route, memory, host_per_process, &part))?,
    )
}

/// What a recording holds.
///
/// (file: str) -> dict[str, Any]
#[pyfunction]
fn trace_summary<'py>(py: Python<'py>, file: PathBuf) -> Any<'py> {
    to_python(py, &watched(py, move || calls::trace_summary(&file))?)
}

/// Tracks a program's dirty data, window by window.
///
/// (processes: list[str], cgroup: str | None, children: bool, accessed: bool, command: list[str], interval: float, windows: int | None, mode: str, mechanism: str | None) -> list[dict[str, Any]]
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one a keyword of the function in Python")]
fn track<'py>(
    py: Python<'py>,
    processes: Vec<String>,
    cgroup: Option<PathBuf>,
    children: bool,
    accessed: bool,
    command: Vec<String>,
    interval: f64,
    windows: Option<u64>,
    mode: String,
    mechanism: Option<String>,
) -> Any<'py> {
    let what =
        calls::Track { processes, cgroup, children, accessed, command, interval, windows, mode, mechanism };
    to_python(py, &watched(py, move || calls::track(what))?)
}

/// Makes a paper's evaluation, or all.
///
/// (paper: str, claims: str | None, seed: int, bands: bool, runs: int | None, out: str | None) -> list[dict[str, Any]]
#[pyfunction]
fn reproduce<'py>(
    py: Python<'py>,
    paper: String,
    claims: Option<PathBuf>,
    seed: u64,
    bands: bool,
    runs: Option<usize>,
    out: Option<PathBuf>,
) -> Any<'py> {
    to_python(py, &watched(py, move || calls::reproduce(&paper, claims, seed, bands, runs, out))?)
}

/// Bandwidth-latency curves of a machine's memory, one for each share of reads; the settings are the workload's.
///
/// (machine: Machine, reads: list[int], settings: list[tuple[str, str]], seed: int) -> list[dict[str, Any]]
#[pyfunction]
fn curve<'py>(py: Python<'py>, machine: &Machine, reads: Vec<u64>, settings: Pairs, seed: u64) -> Any<'py> {
    let machine = machine.0.clone();
    to_python(py, &watched(py, move || calls::curve(&machine, &reads, &settings, seed))?)
}

/// Lines that a power failure loses on a machine, by the energy that is stored for it.
///
/// (machine: Machine, workload: Workload | None, seed: int) -> list[dict[str, Any]]
#[pyfunction]
#[pyo3(signature = (machine, workload, seed))]
fn holdup<'py>(py: Python<'py>, machine: &Machine, workload: Option<&Workload>, seed: u64) -> Any<'py> {
    let (machine, workload) = (machine.0.clone(), workload.map(|w| w.0.clone()));
    to_python(py, &watched(py, move || calls::holdup(&machine, workload.as_ref(), seed))?)
}

/// What differs between two results: paths, or names and JSON of those that are kept in no file.
///
/// (before: tuple[str, str | None], after: tuple[str, str | None]) -> dict[str, Any]
#[pyfunction]
fn diff(py: Python<'_>, before: (PathBuf, Option<String>), after: (PathBuf, Option<String>)) -> Any<'_> {
    let differs = move || calls::diff((&before.0, before.1.as_deref()), (&after.0, after.1.as_deref()));
    to_python(py, &watched(py, differs)?)
}

/// Makes the runs of a campaign on this machine's cores; says where they are. A campaign that is in no file has its text, and is called `campaign`.
///
/// (campaign: str, text: str | None, out: str | None, resume: bool, jobs: int | None) -> dict[str, Any]
#[pyfunction]
fn sweep<'py>(
    py: Python<'py>,
    campaign: PathBuf,
    text: Option<String>,
    out: Option<PathBuf>,
    resume: bool,
    jobs: Option<usize>,
) -> Any<'py> {
    to_python(py, &watched(py, move || calls::sweep(campaign, text, out, resume, jobs))?)
}

/// What there is: machines, workloads, statistics, claims, protocols, or the schema of files.
///
/// (what: str) -> Any
#[pyfunction]
fn listing<'py>(py: Python<'py>, what: &str) -> Any<'py> {
    to_python(py, &calls::list(what).map_err(raised)?)
}

/// What a name means, as rows, and what they are: statistics, parameters, or the settings of a machine or workload.
///
/// (name: str) -> tuple[str, list[dict[str, Any]]]
#[pyfunction]
fn named<'py>(py: Python<'py>, name: &str) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
    let (what, rows) = calls::named(name).map_err(raised)?;
    Ok((what, to_python(py, &rows)?))
}

/// Puts all of it into the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Machine>()?;
    module.add_class::<Workload>()?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(compare, module)?)?;
    module.add_function(wrap_pyfunction!(compared, module)?)?;
    module.add_function(wrap_pyfunction!(crash, module)?)?;
    module.add_function(wrap_pyfunction!(curve, module)?)?;
    module.add_function(wrap_pyfunction!(diff, module)?)?;
    module.add_function(wrap_pyfunction!(holdup, module)?)?;
    module.add_function(wrap_pyfunction!(litmus, module)?)?;
    module.add_function(wrap_pyfunction!(explore, module)?)?;
    module.add_function(wrap_pyfunction!(shared, module)?)?;
    module.add_function(wrap_pyfunction!(record, module)?)?;
    module.add_function(wrap_pyfunction!(trace_summary, module)?)?;
    module.add_function(wrap_pyfunction!(track, module)?)?;
    module.add_function(wrap_pyfunction!(reproduce, module)?)?;
    module.add_function(wrap_pyfunction!(sweep, module)?)?;
    module.add_function(wrap_pyfunction!(listing, module)?)?;
    module.add_function(wrap_pyfunction!(named, module)?)
}
