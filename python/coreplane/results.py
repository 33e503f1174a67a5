"""What runs give: times, statistics and charts."""

import math
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from coreplane import _core, figures, notebook, spent
from coreplane.inputs import accept, frame, paths

SPENT = {"cause": pl.String, "time_ns": pl.Float64, "share": pl.Float64}
STATISTICS = {"name": pl.String, "value": pl.Float64, "unit": pl.String, "description": pl.String}


class Run:
    """The result of a run."""

    def __init__(self, data: dict[str, Any], timeline: bytes | None = None) -> None:
        #: Everything that ``coreplane run --format json`` prints.
        self.data = data
        #: The timeline as ui.perfetto.dev reads it, where one was asked for.
        self.timeline = timeline

    @property
    def machine(self) -> str:
        """What the machine is called."""
        return str(self.data["machine"])

    @property
    def workload(self) -> str:
        """What the workload is called."""
        return str(self.data["workload"])

    @property
    def time(self) -> float:
        """Simulated time of the region of interest, in nanoseconds."""
        return float(self.data["time_ns"])

    @property
    def band(self) -> tuple[float, float] | None:
        """The least and the greatest time for all that is known: with ``bands``, and of recordings; none otherwise."""
        found = self.data.get("band")
        return (float(found["time_ns"][0]), float(found["time_ns"][1])) if found else None

    @property
    def moved_by(self) -> str | None:
        """With ``bands``, the open parameter that moves the time most, or the speedup in a comparison."""
        found: str | None = self.data.get("band", {}).get("moved_by")
        return found

    @property
    def effects(self) -> pl.DataFrame:
        """With ``bands``, what each open parameter does alone: parameter, swing, low, at_low, high, at_high; the greatest first."""
        columns = ["parameter", "swing", "low", "at_low", "high", "at_high"]
        return frame(self.data.get("band", {}).get("effects", []), columns)

    @property
    def remarks(self) -> list[str]:
        """What has to be known to read the result."""
        return list(self.data.get("remarks", []))

    @property
    def stats(self) -> pl.DataFrame:
        """Every statistic: name, value, unit, description.

        A column has one type, so counts are floats here, exactly; ``run["memory.writes"]`` gives a whole number.
        """
        rows = [(name, float(value), *meanings().get(name, ("", ""))) for name, value in self.data["stats"].items()]
        return pl.DataFrame(rows, schema=STATISTICS, orient="row")

    @property
    def spent(self) -> pl.DataFrame:
        """What a core's time was spent on, the mean of all cores: cause, time_ns, share; together all of it."""
        own, shares = spent.of_a_core([self.data])[self.machine], spent.shares(self.data)
        return pl.DataFrame([(c, ns, shares[c]) for c, ns in own.items()], schema=SPENT, orient="row")

    @property
    def configuration(self) -> dict[str, str | int | float | bool]:
        """The value of every parameter that acted."""
        return dict(self.data["configuration"])

    @property
    def series(self) -> pl.DataFrame:
        """What was seen over time, on machines at page fidelity: seconds, and a column each; empty on others."""
        return pl.DataFrame(self.data.get("series", {}))

    def __getitem__(self, name: str) -> int | float:
        """A statistic by name; whole numbers are int. Raises KeyError when this machine does not report it."""
        stats: dict[str, int | float] = self.data["stats"]
        accept(isinstance(name, str), f"a statistic is its name, not {name!r}")
        if name in stats:
            return stats[name]
        if name in meanings():
            raise KeyError(f"{name}: {self.machine} does not report it: it has no such part")
        near = get_close_matches(name, stats)
        raise KeyError(f"no statistic is called {name!r}" + (f"; did you mean {', '.join(near)}?" if near else ""))

    def __contains__(self, name: object) -> bool:
        return name in self.data["stats"]

    def save_timeline(self, path: str | Path) -> None:
        """Writes the timeline for ui.perfetto.dev. Raises ValueError unless the run was made with ``timeline=True``."""
        paths(path=path)
        if self.timeline is None:
            raise ValueError("the run has no timeline; make it with timeline=True")
        Path(path).write_bytes(self.timeline)

    def plot(self) -> alt.Chart | alt.VConcatChart:
        """A core's time by what it was spent on; at page fidelity, memory, swap, faults and processor time over simulated time, where there is some."""
        if "series" in self.data and figures.lasts(self.data["series"]):
            return notebook.offline(figures.memory_over_time(self.data["series"], f"{self.workload} on {self.machine}"))
        drawn = figures.causes_of([self.data], spent.causes, spent.cores)
        return notebook.offline(drawn.properties(title=f"{self.workload} on {self.machine}"))

    def __repr__(self) -> str:
        return f"<{self.workload} on {self.machine}: {self.time:.1f} ns>"

    def _repr_html_(self) -> str:
        about = f"{notebook.text(self.time)} ns simulated, seed {self.data['seed']}"
        shown = self.stats.filter(pl.col("value") != 0)
        return notebook.title(f"{self.workload} on {self.machine}", about) + notebook.lines(self.remarks) + notebook.table(self.spent) + notebook.table(shown)


class Comparison(Mapping[str, Run]):
    """The same work on several machines; a mapping from their names to runs."""

    def __init__(self, data: dict[str, Any]) -> None:
        #: Everything that ``coreplane compare --format json`` prints.
        self.data = data
        #: A run for each machine, in order.
        self.runs = [Run(row) for row in data["machines"]]

    @property
    def workload(self) -> str:
        """What the workload is called."""
        return str(self.data["workload"])

    @property
    def baseline(self) -> str:
        """The machine that speedups are against."""
        return str(self.data["baseline"])

    @property
    def speedup(self) -> dict[str, float]:
        """By machine, how many times as fast as the baseline it is; NaN where the work took no time."""
        return {run.machine: math.nan if run.data["speedup"] is None else float(run.data["speedup"]) for run in self.runs}

    @property
    def table(self) -> pl.DataFrame:
        """Machine, time in nanoseconds, speedup over the baseline; of recordings, and with ``bands``, also the band of each speedup."""
        columns: dict[str, list[object]] = {
            "machine": [run.machine for run in self.runs],
            "time_ns": [run.time for run in self.runs],
            "speedup": [run.data["speedup"] for run in self.runs],
        }
        if any(run.band for run in self.runs):
            bands = [run.data.get("band", {}).get("speedup", [None, None]) for run in self.runs]
            columns["speedup_low"] = [low for low, _ in bands]
            columns["speedup_high"] = [high for _, high in bands]
        return pl.DataFrame(columns, schema_overrides={"speedup": pl.Float64})

    @property
    def stats(self) -> pl.DataFrame:
        """Every statistic of every machine: machine, name, value, unit, description."""
        return pl.concat([run.stats.select(pl.lit(run.machine).alias("machine"), *STATISTICS) for run in self.runs])

    @property
    def spent(self) -> pl.DataFrame:
        """What a core's time was spent on, by machine: machine, cause, time_ns, share."""
        return pl.concat([run.spent.select(pl.lit(run.machine).alias("machine"), *SPENT) for run in self.runs])

    @property
    def explained(self) -> list[str]:
        """For each machine but the baseline, a sentence on where the difference comes from."""
        return [run.data["explained"] for run in self.runs if run.data.get("explained")]

    def __getitem__(self, machine: str) -> Run:
        found = next((run for run in self.runs if run.machine == machine), None)
        if found is None:
            raise KeyError(f"{machine} was not compared; {', '.join(self)} were")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter([run.machine for run in self.runs])

    def __len__(self) -> int:
        return len(self.runs)

    def __eq__(self, other: object) -> bool:
        # As every other result: what was run twice is two results.
        return self is other

    def __hash__(self) -> int:
        return object.__hash__(self)

    def plot(self) -> alt.Chart | alt.LayerChart:
        """Speedups as bars; bands, of recordings and with ``bands``, are a second layer. Where the time goes, by machine, is ``plot_spent()``."""
        return notebook.offline(figures.speedups(self.data))

    def plot_spent(self) -> alt.Chart:
        """A core's time on each machine, by what it was spent on."""
        return notebook.offline(figures.causes_of(self.data["machines"], spent.causes, spent.cores))

    def __repr__(self) -> str:
        rows = ", ".join(f"{name} {'-' if math.isnan(speedup) else f'{speedup:.2f}'}" for name, speedup in self.speedup.items())
        return f"<{self.workload}: {rows}>"

    def _repr_html_(self) -> str:
        about = f"speedups over {self.baseline}"
        return notebook.title(self.workload, about) + notebook.lines(self.explained) + notebook.table(self.table) + notebook.table(self.spent) + notebook.svg(self.plot())


class Curve:
    """Bandwidth-latency curves of a machine's memory."""

    def __init__(self, machine: str, data: list[dict[str, float]]) -> None:
        #: The machine's name.
        self.machine = machine
        #: Everything that ``coreplane curve --format json`` prints.
        self.data = data

    @property
    def table(self) -> pl.DataFrame:
        """A row for each point: read_percent, gb_per_s, load_to_use_ns."""
        return frame(self.data, ["read_percent", "gb_per_s", "load_to_use_ns"])

    def plot(self) -> alt.Chart:
        """Latency over bandwidth, a curve for each share of reads."""
        return notebook.offline(figures.under_load(self.data, f"Memory of {self.machine} under load"))

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<memory of {self.machine} under load: {len(self.data)} points>"

    def _repr_html_(self) -> str:
        return notebook.title(f"Memory of {self.machine} under load", f"{len(self.data)} points") + notebook.table(self.table) + notebook.svg(self.plot())


class Sweep:
    """The runs of a campaign."""

    def __init__(self, data: dict[str, Any]) -> None:
        #: The folder of results.
        self.folder = Path(data["folder"])
        #: A description of each run, with its time.
        self.runs: list[dict[str, Any]] = data["runs"]

    @property
    def ok(self) -> bool:
        """Whether every run kept its promises."""
        return not any("failed" in run for run in self.runs)

    @property
    def table(self) -> pl.DataFrame:
        """A row for each run: machine, workload, seed, the keys that were set, time in nanoseconds, why it failed."""
        rows = [{"machine": r["machine"], "workload": r["workload"], "seed": r["seed"], **r["settings"], "time_ns": r.get("time_ns"), "failed": r.get("failed")} for r in self.runs]
        return pl.DataFrame(rows, infer_schema_length=None, strict=False)

    @property
    def stats(self) -> pl.DataFrame:
        """A row for each statistic of each run that ended: machine, workload, seed, name, value, unit, description, and what was varied."""
        files = [self.folder / f"{run['name']}.parquet" for run in self.runs if "failed" not in run]
        return pl.read_parquet(files) if files else pl.DataFrame()

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        return f"<{len(self.runs)} runs in {self.folder}>"

    def _repr_html_(self) -> str:
        return notebook.title(f"{len(self.runs)} runs", str(self.folder)) + notebook.table(self.table)


@cache
def meanings() -> Mapping[str, tuple[str, str]]:
    """Unit and meaning of every statistic."""
    return {s["name"]: (s["unit"], s["meaning"]) for s in _core.listing("statistics")}


class Difference:
    """What differs between two results."""

    def __init__(self, data: dict[str, Any]) -> None:
        #: Everything that ``coreplane diff --format json`` prints.
        self.data = data

    @property
    def speedup(self) -> dict[str, float]:
        """By machine of the second result, how many times as fast it is; NaN where no simulated time passed on a side."""
        return {pair["after"]["machine"]: math.nan if pair["speedup"] is None else float(pair["speedup"]) for pair in self.data["pairs"]}

    @property
    def other_work(self) -> dict[str, str]:
        """By machine of the second result, why the two did not do the same work, where that is known: a speedup says little then."""
        return {pair["after"]["machine"]: pair["other_work"] for pair in self.data["pairs"] if pair.get("other_work")}

    @property
    def parameters(self) -> pl.DataFrame:
        """Keys whose values differ: machine, key, before, after, the values as text; null where a side has no such key."""
        return self._table("parameters", ["key", "before", "after"], lambda value: None if value is None else str(value))

    @property
    def statistics(self) -> pl.DataFrame:
        """Statistics that differ, those that move most first: machine, name, unit, before, after, change_percent; null where a side has none."""
        return self._table("statistics", ["name", "unit", "before", "after", "change_percent"], lambda value: value)

    def _table(self, what: str, columns: list[str], shown: Callable[[Any], Any]) -> pl.DataFrame:
        rows = [{"machine": pair["after"]["machine"]} | {column: shown(entry[column]) for column in columns} for pair in self.data["pairs"] for entry in pair[what]]
        numbers = [column for column in columns if what == "statistics" and column not in ("name", "unit")]
        # Where nothing differs the columns have types all the same: frames of several results are put together.
        types = pl.Schema({column: pl.Float64 if column in numbers else pl.String for column in ("machine", *columns)})
        return frame(rows, ["machine", *columns]).cast(types)

    def __repr__(self) -> str:
        told = {machine: "no speedup" if math.isnan(speedup) else f"{speedup:.2f} times as fast" for machine, speedup in self.speedup.items()}
        return f"<{', '.join(f'{machine}: {how}{self._but(machine)}' for machine, how in told.items())}>"

    def _but(self, machine: str) -> str:
        return f" ({self.other_work[machine]})" if machine in self.other_work else ""

    def _repr_html_(self) -> str:
        return notebook.title("Before and after", repr(self)) + notebook.table(self.parameters) + notebook.table(self.statistics)
