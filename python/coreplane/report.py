"""Reports: one self-contained HTML page a result, and PNG and SVG of each figure. Numbers come from the command's JSON."""

import html
import json
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt

from coreplane import _core, bands, figures, latencies, opening, page, sentences
from coreplane.spent import by_recording, causes, cores, of_a_core, shares
from coreplane.page import quantity, section

# A table of more rows stands behind the figures.
LONG = 100


@cache
def meanings() -> dict[str, tuple[str, str]]:
    """Unit and meaning of each statistic."""
    return {s["name"]: (s["unit"], s["meaning"]) for s in _core.listing("statistics")}


@cache
def columns() -> dict[str, str]:
    """What a comparison's table may show besides time, and how it is headed there."""
    return {s["name"]: s["column"] for s in _core.listing("statistics") if "column" in s}


def shown(name: str, value: float) -> tuple[str, float]:
    """A statistic's value as a table shows it, and what it is sorted by."""
    return quantity(value, meanings().get(name, ("1", ""))[0], name), float(value)


def account(runs: list[dict[str, Any]]) -> str:
    """Where the cores' time went: a row a machine, all of it."""
    named = list(dict.fromkeys(c for r in runs for c in causes(r)))
    rows = []
    for r in runs:
        own = shares(r)
        rows.append([r["machine"], *((f"{own.get(c, 0):.1%}", own.get(c, 0)) for c in named), (f"{sum(own.values()):.1%}", sum(own.values()))])
    return page.table(["share of the cores' time", *named, "all"], rows) if named else ""


def largest(run: dict[str, Any]) -> str:
    """A sentence on what took most of a run's time."""
    ranked = sorted(shares(run).items(), key=lambda c: -c[1])[:2]
    if not ranked:
        return ""
    most = " and ".join(f"{v:.0%} on {c}" for c, v in ranked if v)
    return f"{run['machine']}: {quantity(run['time_ns'], 'ns')}; its cores spend {most}."


def spread(run: dict[str, Any]) -> str:
    """A sentence on how far the time of a recording goes."""
    band = run.get("band", {})
    if "time_ns" not in band or "moved_by" in band:
        return ""
    ends = [f"cpu.ipc from {' to '.join(f'{v:g}' for v in band['cpu.ipc']['values'])}"] if "cpu.ipc" in band else []
    several = [f"{len(band['recordings']['time_ns'])} recordings, of which the numbers here are the means"] if "recordings" in band else []
    low, high = (quantity(v, "ns") for v in band["time_ns"])
    return f"It takes {low} to {high} over {sentences.listed([*ends, *several])}."


def run(folder: Path) -> Path | None:
    """Writes the report of a run from the run.json in ``folder``."""
    data = json.loads((folder / "run.json").read_text())
    title = f"{sentences.titled(data['workload'])} on {data['machine']}"
    rows = [[name, shown(name, value), meanings().get(name, ("", ""))[1]] for name, value in data["stats"].items() if value]
    phases = [[p["name"], (f"{p['operations']:,}", p["operations"]), shown("throughput.operations_per_second", p["operations_per_second"])] for p in data.get("phases", [])]
    figure = section("Memory over time", page.figure(folder, "timeline", figures.memory_over_time(data["series"], title), sentences.over_time(data["series"]))) if "series" in data and figures.lasts(data["series"]) else ""
    rate = data["stats"].get("throughput.operations_per_second")
    said = [largest(data), spread(data), f"{quantity(rate, '1/s').removesuffix('/s')} operations a simulated second." if rate else "", *data.get("remarks", [])]
    drawn = page.figure(folder, "time", figures.causes_of([data], causes, cores), sentences.split(of_a_core([data]))) if causes(data) else ""
    body = [
        page.summary(said),
        section("Where the time went", drawn, account([data])),
        latencies.drawn(folder, [data]),
        figure,
        section("The first microseconds", opening.drawn(folder, [data]), timeline(folder, data)),
        section("Kinds of operations", page.table(["operations", "count", "rate"], phases)),
        section("Statistics", page.table(["statistic", "value", "meaning"], rows)),
        page.configuration([data]),
        page.provenance(data),
    ]
    return page.write(folder, title, f"seed {data['seed']}; {quantity(data['time_ns'], 'ns')} simulated", body)


def timeline(folder: Path, data: dict[str, Any]) -> str:
    """How to open the timeline, where there is one, or else how to make it."""
    if "series" in data:
        return ""
    site = "<a href='https://ui.perfetto.dev'>ui.perfetto.dev</a>"
    if not (folder / "timeline.pftrace").exists():
        return f"<p class='note'>All of it: run a machine with <code>--timeline --out FOLDER</code>, and open the file timeline.pftrace at {site}; nothing is uploaded.</p>"
    how = "Open trace file, then <a href='timeline.pftrace'>timeline.pftrace</a> of this folder; nothing is uploaded. W and S zoom, A and D move."
    tracks = "Each core is a track with its waits and the filling of its persist buffer, each controller one with its queue and tables."
    return f"<p>All of it, at {site}: {how} {tracks}</p>"


def compare(folder: Path) -> Path:
    """Writes the report of a comparison from the compare.json in ``folder``."""
    data = json.loads((folder / "compare.json").read_text())
    runs = data["machines"]
    over_time = "series" in runs[0] and any(figures.lasts(r["series"]) for r in runs)
    heads = columns()
    names = [n for n in heads if any(r["stats"].get(n) for r in runs)]
    rows = []
    for r in runs:
        band = [f"{r['band']['speedup'][0]:.2f}..{r['band']['speedup'][1]:.2f}"] if "speedup" in r.get("band", {}) else ["-"]
        found = [shown(n, r["stats"][n]) if n in r["stats"] else "-" for n in names]
        rows.append([r["machine"], (quantity(r["time_ns"], "ns"), r["time_ns"]), _speedup(r["speedup"]), *band, *found])
    head = ["machine", "time", "speedup", "band", *(heads[n] for n in names)]
    if all(row[3] == "-" for row in rows):
        rows, head = [row[:3] + row[4:] for row in rows], head[:3] + head[4:]
    said = [r["explained"] for r in runs if r.get("explained")] or [largest(r) for r in runs]
    split = page.figure(folder, "time", figures.causes_of(runs, causes, cores), sentences.split(of_a_core(runs), by_recording(runs))) if causes(runs[0]) else ""
    body = [
        page.summary([*bands.said(data), *said, *data.get("remarks", [])]),
        section("Side by side", page.table(head, rows), page.figure(folder, "speedup", figures.speedups(data), sentences.speeds(data)) if any(r["speedup"] for r in runs) else ""),
        *tables(data),
        section("Where the time went", split, account(runs)),
        latencies.drawn(folder, runs),
        section("The first microseconds", opening.drawn(folder, runs), timeline(folder, runs[0])) if any(r.get("opening") for r in runs) else "",
        _over_time(folder, runs) if over_time else "",
        page.configuration(runs),
        page.provenance(data),
    ]
    return page.write(folder, sentences.titled(data["workload"]), f"seed {runs[0]['seed']}; speedups over {data['baseline']}", body)


def _speedup(value: float | None) -> tuple[str, float] | str:
    """A cell of it; there is none where the work took no time."""
    return "-" if value is None else (f"{value:.2f}", value)


def _over_time(folder: Path, runs: list[dict[str, Any]]) -> str:
    """Free memory, swap and integrated memory of machines at page fidelity."""
    parts = []
    for name, title in (("free_gib", "Free memory"), ("pm_integrated_gib", "Persistent memory known to the allocator"), ("swap_gib", "Swap device in use")):
        if not any(v for r in runs for v in r["series"][name]):
            continue
        lines = [{"x": x, "machine": r["machine"], "value": y} for r in runs for x, y in zip(r["series"]["seconds"], r["series"][name], strict=True)]
        parts.append(page.figure(folder, name.removesuffix("_gib"), figures.over_time(lines, title, "seconds", "GiB"), sentences.most_of_each(runs, name, least=name == "free_gib")))
    return section("Memory over time", *parts)


def reproduce(folder: Path) -> Path:
    """Writes the report of a paper's evaluation from the reproduce.json in ``folder``."""
    data = json.loads((folder / "reproduce.json").read_text())
    banded = data.get("joint") is not None
    head = ["claim", "verdict", "published", "ours", "ratio", *(["band", "moved most by"] if banded else [])]
    rows = []
    for c in data["claims"]:
        band = [bands.ends(c["band"]), c.get("moved_by") or "-"] if banded else []
        rows.append([(c["id"], c["id"], c["says"]), c["verdict"], _numbers(c["published"]), _ours(c), _numbers(c["ratio"]), *band])
    verdicts = [c["verdict"] for c in data["claims"]]
    counted = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts))
    worst = [c for c in data["claims"] if c["verdict"] == "missed"]
    said = [f"Of {len(verdicts)} claims: {counted}."]
    if worst:
        said.append(f"Missed: {', '.join(c['id'] for c in worst)}. Why: coreplane show deviations.")
    drawn = [page.figure(folder, f["name"], draw(f), " ".join([f["caption"], sentences.of_bars(f)]).strip()) for f in data["figures"]]
    claims = section("Claims", page.table(head, rows, text=2), *bands.reasons(data, folder))
    joint = section("One setting for all", bands.joint(data)) if banded else ""
    grids = data.get("tables", [])
    short = [beside(t) for t in grids if len(t["rows"]) <= LONG]
    long = [beside(t) for t in grids if len(t["rows"]) > LONG]
    body = [page.summary(said), claims, joint, *short, section("Figures", *drawn), *long, page.provenance(data)]
    return page.write(folder, f"{data['paper']}: published beside ours", data["about"], body)


def words(table: dict[str, Any]) -> int:
    """Columns of a table's rows before its first number."""
    return next((c for c, v in enumerate(table["rows"][0]) if not isinstance(v, str)), len(table["head"]))


def beside(table: dict[str, Any]) -> str:
    """A table that stands beside the figures."""
    rows = [[(page.plain(v), v) if isinstance(v, (int, float)) else v for v in row] for row in table["rows"]]
    return section(table["title"], f"<p class='note'>{html.escape(table['caption'])}</p>", page.table(table["head"], rows, text=words(table)))


def tables(data: dict[str, Any]) -> list[str]:
    """A section a table that stands beside the figures."""
    return [beside(table) for table in data.get("tables", [])]


def draw(f: dict[str, Any]) -> alt.Chart | alt.LayerChart | alt.FacetChart:
    match f["kind"]:
        case "grouped":
            return figures.grouped(f["rows"], f["title"], f["axis"], order=f["order"])
        case "curve":
            return figures.curve(f["rows"], f["title"], f["x"], f["axis"])
        case "time":
            return figures.over_time(f["rows"], f["title"], f["x"], f["axis"])
        case "capped":
            return figures.capped(f["rows"], f["title"], f["axis"], order=f["order"])
        case _:
            return figures.lines(f["rows"], f["title"], f["x"], f["axis"])


def _ours(claim: dict[str, Any]) -> str | tuple[str, ...]:
    """What came out, and what it is of where the claim is a sentence."""
    ours, because = _numbers(claim["ours"]), claim.get("because")
    return (ours, ours, because) if because else ours


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_numbers(v) for v in value)
    if isinstance(value, bool) or value is None:
        return "-" if value is None else str(value).lower()
    return page.plain(value) if isinstance(value, (int, float)) else str(value)
