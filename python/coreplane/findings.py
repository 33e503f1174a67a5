"""What checks give: crash findings, litmus tests, explorations, scoreboards, and dirty data of live programs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from coreplane import notebook, report
from coreplane.inputs import frame


@dataclass(frozen=True)
class Store:
    """A store that a finding speaks of."""

    #: Where it is in the program.
    site: str
    #: Its number among the program's events.
    event: int
    address: int
    value: int
    size: int
    #: Of a recorded program, the file that it is to, or whose name or size it changes.
    file: str | None = None
    #: Where it is in that file.
    offset: int | None = None


@dataclass(frozen=True)
class Finding:
    """A power failure with which recovery does not cope."""

    #: ``run``: it was cut there; ``model``: the persistency model allows the image.
    source: str
    #: What recovery says.
    message: str
    #: Which store should have been ordered before which, in words; of the run, empty.
    why: str = ""
    #: Stores that are not in the image although later ones are.
    missing: tuple[Store, ...] = ()
    #: Stores that are there without them.
    present: tuple[Store, ...] = ()
    #: What ``crash(replay=...)`` takes to see it again.
    replay: str = ""
    #: Simulated time of the cut.
    at_ns: float | None = None
    #: Operations or marks that the program had acknowledged.
    acknowledged: tuple[int, ...] = ()


class Crash:
    """What power failures leave."""

    def __init__(self, data: dict[str, Any]) -> None:
        #: Everything that ``coreplane crash --format json`` prints.
        self.data = data
        timed, search = data["timed"] or {}, data["model_images"] or {}
        self._search: dict[str, Any] = search
        self._timed: dict[str, Any] = timed
        #: Different failures, each once.
        self.findings = [_of_run(f) for f in timed.get("failures", [])] + [_of_model(f) for f in search.get("failures", [])]

    @property
    def ok(self) -> bool:
        """Whether recovery coped with everything that was tried."""
        return bool(self.data["clean"])

    @property
    def model(self) -> str:
        """The persistency model."""
        return str(self.data["model"])

    @property
    def points(self) -> int:
        """Power failures tried, in the run and of the model."""
        return int(self._timed.get("points", 0)) + int(self._search.get("points", 0))

    @property
    def failing_points(self) -> int:
        """Of these, those with which recovery does not cope."""
        return int(self._timed.get("failing_points", 0)) + int(self._search.get("failing_points", 0))

    @property
    def images(self) -> int:
        """Images of the model that were tried."""
        return int(self._search.get("images", 0))

    @property
    def images_possible(self) -> float | None:
        """Images that the model allows at the points tried, at least so many unless ``images_possible_is_exact``.

        None where they were not counted: they are of recordings.
        """
        return float(self._search.get("images_possible") or 0) or None

    @property
    def images_possible_is_exact(self) -> bool:
        """Whether ``images_possible`` is."""
        return bool(self._search.get("images_possible_is_exact", False))

    @property
    def notes(self) -> list[str]:
        """What has to be known to read the result, such as what was made shorter."""
        model = self._search
        tried, there, bounded = model.get("points", 0), model.get("points_in_log", 0), model.get("bounded_points", 0)
        if model.get("ended_with_failures"):
            ended = f"the search of the model ended with {len(model['failures'])} different failures, at {tried:,} of {there:,} points: mend these first"
            return [*self.data["notes"], ended]
        bounds = [f"{tried:,} of {there:,} points of the model were tried, {bounded:,} with images left out: points and images raise the bounds"] if tried < there or bounded else []
        return [*self.data["notes"], *bounds]

    @property
    def persistence_lint(self) -> pl.DataFrame:
        """What the order of flushes and fences shows without any crash: kind, site, how many (`times`), of what (`counted`: times or lines), of names the `file`."""
        return frame(self.data["persistence_lint"], ["kind", "site", "times", "counted", "file", "name"])

    @property
    def table(self) -> pl.DataFrame:
        """The findings: source, why, message, the stores that are missing and those that are there, replay."""
        rows = [{"source": f.source, "why": f.why, "message": f.message, "missing": [s.site for s in f.missing], "present": [s.site for s in f.present], "replay": f.replay} for f in self.findings]
        return frame(rows, ["source", "why", "message", "missing", "present", "replay"])

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        found = "clean" if self.ok else f"{self.failing_points} points fail"
        return f"<{self.data['workload']} on {self.data['machine']}: {self.points} power failures, {self.images} images: {found}>"

    def _repr_html_(self) -> str:
        return notebook.title(f"Power failures of {self.data['workload']} on {self.data['machine']}", repr(self)) + notebook.lines(self.notes) + notebook.table(self.table) + notebook.table(self.persistence_lint)


def _of_run(f: dict[str, Any]) -> Finding:
    said = (f["acknowledged"],) if "acknowledged" in f else tuple(f["ended"])
    return Finding("run", f["message"], at_ns=f["at_ns"], acknowledged=said)


def _of_model(f: dict[str, Any]) -> Finding:
    stores = {key: tuple(Store(s["site"], s["event"], s["address"], s["value"], s["size"], s.get("file"), s.get("offset")) for s in f[key]) for key in ("missing", "present")}
    said = () if f["acknowledged"] is None else (f["acknowledged"],)
    return Finding("model", f["message"], f["why"], stores["missing"], stores["present"], f["replay"], None, said)


@dataclass(frozen=True)
class Test:
    """What a model says of a litmus test."""

    __test__ = False

    file: str
    name: str
    model: str
    #: Every image that a power failure can leave: values by location.
    images: tuple[dict[str, int], ...]
    #: Whether the image that the test asks for is among them.
    reachable: bool
    holds: bool
    expected: str | None
    ok: bool


class Litmus:
    """What models say of litmus tests."""

    def __init__(self, data: list[dict[str, Any]]) -> None:
        #: What ``coreplane litmus --format json`` prints.
        self.data = data
        self.tests = [Test(t["file"], t["name"], t["model"], tuple(t["images"]), t["reachable"], t["holds"], t["expected"], t["ok"]) for t in data]

    @property
    def ok(self) -> bool:
        """Whether every answer is as expected."""
        return all(test.ok for test in self.tests)

    @property
    def table(self) -> pl.DataFrame:
        """Test, model, whether the asked image is reachable, what is expected, number of images, ok."""
        rows = [{"test": t.name, "model": t.model, "reachable": t.reachable, "expected": t.expected, "images": len(t.images), "ok": t.ok} for t in self.tests]
        return frame(rows, ["test", "model", "reachable", "expected", "images", "ok"])

    def __getitem__(self, index: int) -> Test:
        return self.tests[index]

    def __iter__(self) -> Iterator[Test]:
        return iter(self.tests)

    def __len__(self) -> int:
        return len(self.tests)

    def __repr__(self) -> str:
        return f"<{len(self)} answers, {sum(not t.ok for t in self)} not as expected>"

    def _repr_html_(self) -> str:
        return notebook.title("Litmus tests", repr(self)) + notebook.table(self.table)


@dataclass(frozen=True)
class Violation:
    """A broken promise, and a shortest way to it."""

    message: str
    trace: tuple[str, ...]
    #: What ``replay(protocol, choices)`` takes to go the same way.
    choices: tuple[int, ...]


@dataclass(frozen=True)
class Replay:
    """The steps of a trace, taken again."""

    trace: tuple[str, ...]
    #: What is broken where it ends, if anything.
    message: str | None


class Exploration:
    """Every interleaving of a protocol's messages."""

    def __init__(self, data: dict[str, Any]) -> None:
        #: Everything that ``coreplane explore --format json`` prints.
        self.data = data
        found = data["violation"]
        self.violation = Violation(found["message"], tuple(found["trace"]), tuple(found["choices"])) if found else None

    @property
    def ok(self) -> bool:
        """Whether no promise was broken in the states visited."""
        return self.violation is None

    @property
    def complete(self) -> bool:
        """Whether every state was visited."""
        return bool(self.data["complete"])

    @property
    def states(self) -> int:
        """States visited."""
        return int(self.data["states"])

    @property
    def steps(self) -> int:
        """Steps between them."""
        return int(self.data["steps"])

    @property
    def depth(self) -> int:
        """Steps of the longest shortest way."""
        return int(self.data["depth"])

    @property
    def table(self) -> pl.DataFrame:
        """The way to the violation: step, what happens; empty without one."""
        trace = self.violation.trace if self.violation else ()
        return frame([{"step": n, "what": what} for n, what in enumerate(trace, 1)], ["step", "what"])

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        found = self.violation.message if self.violation else "no violation" if self.complete else "no violation so far"
        return f"<{self.data['protocol']}: {self.states} states, {found}>"

    def _repr_html_(self) -> str:
        return notebook.title(f"Exploration of {self.data['protocol']}", repr(self)) + notebook.table(self.table)


@dataclass(frozen=True)
class Side:
    """What one host did, where and when."""

    host: int
    file: str
    line: int
    time_ns: float
    #: ``FILE:LINE`` of the call of its function, where that was recorded and it is called in several places.
    called_at: str | None = None


@dataclass(frozen=True)
class SharedFinding:
    """A mistake in a program of several hosts."""

    #: ``stale-read``, ``publication-before-data``, ``write-write-conflict``, ``lock-release-not-flushed``, ``unordered-read``,
    #: ``host-crash``, ``power-failure``, ``stuck`` or ``broken-invariant``.
    kind: str
    #: A sentence with both places.
    message: str
    #: Where it shows.
    here: Side
    #: The other host's side of it.
    there: Side | None
    #: Simulated time between the two.
    apart_ns: float | None
    #: Operations of the smallest run that shows it; of a recording, steps of the smallest part that does.
    operations: int
    #: What happens in that run besides; nothing in a recording.
    schedule: tuple[str, ...]


class Shared:
    """What is wrong in a program of several hosts."""

    def __init__(self, data: dict[str, Any]) -> None:
        #: Everything that ``coreplane shared --format json`` prints.
        self.data = data
        #: Different mistakes, each once.
        self.findings = [_of_hosts(f) for f in data["findings"]]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def table(self) -> pl.DataFrame:
        """Kind, message, time between the two sides, what happens in the smallest run."""
        rows = [{"kind": f.kind, "message": f.message, "apart_ns": f.apart_ns, "operations": f.operations, "schedule": "; ".join(f.schedule)} for f in self.findings]
        return frame(rows, ["kind", "message", "apart_ns", "operations", "schedule"])

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return f"<{self.data['workload']} on {self.data['machine']}: {self.data['schedules']} schedules, {len(self.findings)} findings>"

    def _repr_html_(self) -> str:
        return notebook.title(f"{self.data['workload']} on {self.data['machine']}", repr(self)) + notebook.table(self.table)


def _of_hosts(f: dict[str, Any]) -> SharedFinding:
    there = Side(**f["there"]) if f["there"] else None
    return SharedFinding(f["kind"], f["message"], Side(**f["here"]), there, f["apart_ns"], f["operations"], tuple(f["schedule"]))


class Scoreboard:
    """Papers' claims: published beside ours."""

    def __init__(self, data: list[dict[str, Any]]) -> None:
        #: What ``coreplane reproduce --out`` keeps, a paper each.
        self.data = data

    @property
    def table(self) -> pl.DataFrame:
        """Paper, claim, verdict; published, ours and ratio as lists of numbers, empty for statements; what it says, and why; with ``bands``, the least and the greatest of each number, and the open parameter that moves it most."""
        rows = [{"paper": paper["paper"], "claim": c["id"], "verdict": c["verdict"], **{key: _numbers(c[key]) for key in ("published", "ours", "ratio")}, "says": c["says"], "because": c.get("because"), "band": _pairs(c.get("band")), "moved_by": c.get("moved_by")} for paper in self.data for c in paper["claims"]]
        lists = pl.List(pl.Float64)
        schema: dict[str, pl.DataType | type[pl.DataType]] = {"paper": pl.String, "claim": pl.String, "verdict": pl.String, "published": lists, "ours": lists, "ratio": lists, "says": pl.String, "because": pl.String, "band": pl.List(lists), "moved_by": pl.String}
        return pl.DataFrame(rows, schema=schema)

    @property
    def verdicts(self) -> dict[str, int]:
        """How many claims have each verdict."""
        found = self.table["verdict"].to_list()
        return {verdict: found.count(verdict) for verdict in dict.fromkeys(found)}

    @property
    def figures(self) -> dict[str, alt.TopLevelMixin]:
        """The papers' figures, drawn from our numbers, by name."""
        return {f["name"]: notebook.offline(report.draw(f)) for paper in self.data for f in paper["figures"]}

    def __len__(self) -> int:
        return sum(len(paper["claims"]) for paper in self.data)

    def __repr__(self) -> str:
        return f"<{', '.join(p['paper'] for p in self.data)}: {', '.join(f'{n} {verdict}' for verdict, n in self.verdicts.items())}>"

    def _repr_html_(self) -> str:
        drawn = "".join(notebook.svg(chart) for chart in self.figures.values())
        return notebook.title("Published beside ours", repr(self)) + notebook.table(self.table) + drawn


def _numbers(value: Any) -> list[float]:
    all_of = value if isinstance(value, list) else [value]
    return [float(v) for v in all_of if isinstance(v, (int, float)) and not isinstance(v, bool)]


def _pairs(band: Any) -> list[list[float]]:
    """The ends of each number of a band; none where there is no band, or it is a statement's."""
    if not isinstance(band, list):
        return []
    pairs = [_numbers(pair) for pair in ([band] if not isinstance(band[0], list) else band)]
    return [pair for pair in pairs if len(pair) == 2]


class Tracking:
    """Dirty data of a live program, window by window."""

    def __init__(self, data: list[dict[str, Any]]) -> None:
        #: What ``coreplane track --format json`` prints.
        self.data = data

    @property
    def table(self) -> pl.DataFrame:
        """A row a window: start_s, end_s, bytes, lines, pages, huge_pages, pause_ms, protect_ms, pages_compared, tracked_bytes; with ``accessed`` pages_resident, pages_accessed."""
        columns = ["start_s", "end_s", "bytes", "lines", "pages", "huge_pages", "pause_ms", "protect_ms", "pages_compared", "tracked_bytes"]
        accessed = ["pages_resident", "pages_accessed"] if any("pages_accessed" in w for w in self.data) else []
        return frame(self.data, columns + accessed)

    @property
    def mappings(self) -> pl.DataFrame:
        """With ``accessed``, a row a window and name of a mapping: window, name, pages_resident, pages_accessed, pages (which changed)."""
        return frame([{"window": n, **m} for n, w in enumerate(self.data) for m in w.get("mappings", [])], ["window", "name", "pages_resident", "pages_accessed", "pages"])

    @property
    def processes(self) -> pl.DataFrame:
        """A row a process and window: window, process, name, bytes, lines, pages, huge_pages, pages_compared, tracked_bytes."""
        columns = ["window", "process", "name", "bytes", "lines", "pages", "huge_pages", "pages_compared", "tracked_bytes"]
        return frame([{"window": n, **p} for n, w in enumerate(self.data) for p in w["processes"]], columns)

    def plot(self) -> alt.Chart:
        """Bytes that lie dirty over time, by the size of the block that is kept clean or dirty as one."""
        sizes = {"bytes": 1, "lines": 64, "pages": 4096, "huge_pages": 2 << 20}
        rows = [{"second": w["end_s"], "tracked by": name.replace("_", " "), "bytes": w[name] * size} for w in self.data for name, size in sizes.items()]
        points = alt.Chart(pl.DataFrame(rows, schema={"second": pl.Float64, "tracked by": pl.String, "bytes": pl.Int64})).mark_line(point=True)
        drawn: alt.Chart = points.encode(x=alt.X("second:Q"), y=alt.Y("bytes:Q", title="dirty bytes", scale=alt.Scale(type="symlog")), color="tracked by:N").properties(width=480, height=260)
        return notebook.offline(drawn)

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{len(self)} windows, {sum(w['bytes'] for w in self.data):,} dirty bytes>"

    def _repr_html_(self) -> str:
        return notebook.title("Dirty data", repr(self)) + notebook.table(self.table) + notebook.svg(self.plot())
