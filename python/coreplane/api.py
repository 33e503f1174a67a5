"""Machines, workloads and runs for Python. Everything is checked and simulated by the compiled core."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from coreplane import _core, figures

Value = str | int | float | bool


class Machine:
    """A machine by name or TOML file, with changes by section: ``Machine("asap-rp", ordering={"persist_buffer": 16})``."""

    def __init__(self, name: str, **changes: Mapping[str, Value]) -> None:
        self.name = name
        self.settings = _settings(changes)
        _core.call(["show", name])

    def __repr__(self) -> str:
        return f"Machine({self.name!r}, {self.settings!r})"


class Workload:
    """A workload by name, or ``trace:FILE``, with its parameters: ``Workload("cceh", threads=8)``."""

    def __init__(self, name: str, **parameters: Value) -> None:
        self.name = name
        self.settings = {f"workload.{key}": _text(value) for key, value in parameters.items()}

    def __repr__(self) -> str:
        return f"Workload({self.name!r}, {self.settings!r})"


class Run:
    """The result of a run."""

    def __init__(self, data: dict[str, Any]) -> None:
        #: Everything that ``coreplane run --format json`` prints.
        self.data = data

    @property
    def time(self) -> float:
        """Simulated time of the region of interest, in nanoseconds."""
        return self.data["time_ns"]

    @property
    def stats(self) -> pl.DataFrame:
        """Every statistic: name, value, unit, description."""
        rows = [(n, float(v), *_meanings().get(n, ("", ""))) for n, v in self.data["stats"].items()]
        schema = {"name": pl.String, "value": pl.Float64, "unit": pl.String, "description": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row")

    @property
    def series(self) -> pl.DataFrame:
        """What was seen over time, on machines at page fidelity: seconds, and a column each; empty on others."""
        return pl.DataFrame(self.data.get("series", {}))

    def plot(self) -> alt.VConcatChart:
        """Free memory, watermarks and integrated memory, swap, faults and processor time over simulated time.

        Raises ValueError on machines at line fidelity, which have no such series.
        """
        if "series" not in self.data:
            raise ValueError(f"{self.data['machine']}: only machines at page fidelity have something to see over time")
        return figures.memory_over_time(self.data["series"], f"{self.data['workload']} on {self.data['machine']}")

    def __repr__(self) -> str:
        return f"<{self.data['workload']} on {self.data['machine']}: {self.time:.1f} ns>"


class Comparison:
    """The same work on several machines."""

    def __init__(self, data: dict[str, Any]) -> None:
        #: Everything that ``coreplane compare --format json`` prints.
        self.data = data
        self.runs = [Run(row) for row in data["machines"]]

    @property
    def table(self) -> pl.DataFrame:
        """Machine, time in nanoseconds, speedup over the baseline."""
        rows = [(r.data["machine"], r.time, r.data["speedup"]) for r in self.runs]
        return pl.DataFrame(rows, schema=["machine", "time_ns", "speedup"], orient="row")

    def plot(self) -> alt.Chart:
        """Speedups as bars."""
        from coreplane.figures import speedups

        return speedups(self.data)


def run(machine: Machine | str, workload: Workload | str, *, seed: int = 1, engine: str = "fast") -> Run:
    """Simulates ``workload`` on ``machine``.

    Raises ConfigError when either is unknown or they do not fit together.
    """
    machine, workload = _machine(machine), _workload(workload)
    args = ["run", machine.name, workload.name, "--seed", str(seed), "--engine", engine]
    return Run(json.loads(_core.call(args + _sets(machine, workload))))


def compare(
    workload: Workload | str,
    *,
    on: Sequence[Machine | str],
    baseline: str | None = None,
    seed: int = 1,
) -> Comparison:
    """Simulates ``workload`` on each machine of ``on``; speedups are against ``baseline``, the first unless said.

    Machines with changes of their own are run one by one; plain names share one call.
    """
    workload, machines = _workload(workload), [_machine(m) for m in on]
    if not machines:
        raise _core.ConfigError("compare: give at least one machine")
    runs = [run(m, workload, seed=seed) for m in machines]
    names = [m.name for m in machines]
    base = names.index(baseline) if baseline in names else 0
    if baseline is not None and baseline not in names:
        raise _core.ConfigError(f"baseline {baseline}: is not among {', '.join(names)}")
    for r in runs:
        r.data["speedup"] = runs[base].time / r.time
    data = {"workload": workload.name, "baseline": names[base], "machines": [r.data for r in runs]}
    return Comparison(data)


def sweep(campaign: str | Path, *, out: str | Path | None = None, resume: bool = False) -> pl.DataFrame:
    """Makes the runs of a campaign (a TOML file) on this machine's cores.

    Gives a row for each statistic of each run: machine, workload, seed, name, value, unit, description, and the keys that the
    campaign varies. Raises ConfigError when the campaign is not accepted, or a run broke a promise.
    """
    args = ["sweep", str(campaign), *(["--out", str(out)] if out else []), *(["--resume"] if resume else [])]
    done = json.loads(_core.call(args))
    return pl.read_parquet([Path(done["folder"]) / f"{run['name']}.parquet" for run in done["runs"]])


@cache
def _meanings() -> dict[str, tuple[str, str]]:
    return {s["name"]: (s["unit"], s["meaning"]) for s in json.loads(_core.call(["show", "stats"]))}


def _machine(machine: Machine | str) -> Machine:
    return machine if isinstance(machine, Machine) else Machine(machine)


def _workload(workload: Workload | str) -> Workload:
    return workload if isinstance(workload, Workload) else Workload(workload)


def _sets(machine: Machine, workload: Workload) -> list[str]:
    both = machine.settings | workload.settings
    return [part for key, value in both.items() for part in ("--set", f"{key}={value}")]


def _settings(changes: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in changes.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat |= _settings(value, f"{name}.")
        else:
            flat[name] = _text(value)
    return flat


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
