"""Figures, as Altair charts. Each takes the JSON of a command and draws it; no number is computed here."""

import json
from collections.abc import Callable
from typing import Any

import altair as alt
import polars as pl

from coreplane import sentences

#: One colour a machine, the same in every figure.
COLOURS = {
    "intel": "#7f7f7f",
    "hops-ep": "#9ecae1",
    "hops-rp": "#3182bd",
    "asap-ep": "#fdae6b",
    "asap-rp": "#e6550d",
    "bbb": "#74c476",
    "eadr": "#238b45",
}


def colour(names: list[str], title: str | None = None) -> alt.Color:
    """The colours of machines, or of other series; unknown ones get a colour of their own."""
    spare = ["#756bb1", "#d6616b", "#17becf", "#bcbd22", "#8c6d31", "#393b79", "#e7969c", "#637939", "#e377c2", "#843c39", "#7f7f00"]
    unknown = [n for n in names if n not in COLOURS]
    chosen = {n: COLOURS.get(n) or spare[unknown.index(n) % len(spare)] for n in names}
    scale = alt.Scale(domain=list(chosen), range=list(chosen.values()))
    # Above the figure, where it is seen on a phone too.
    return alt.Color("machine:N", scale=scale, title=title, sort=names, legend=alt.Legend(orient="top", columns=3))


def speedups(data: dict[str, Any]) -> alt.Chart | alt.LayerChart:
    """Speedup over the baseline, a bar a machine with its number under its name; bands, where there are any, are lines on a layer of their own."""
    # Where the work took no time there is none.
    rows = [{"machine": r["machine"], "speedup": r["speedup"]} for r in data["machines"] if r["speedup"] is not None]
    names = [r["machine"] for r in rows]
    # Numbers on bars would be a second layer, and under the names no band crosses them. Names have a line a word, or they overlap.
    lines = json.dumps({r["machine"]: [*r["machine"].replace(" = ", "=").split(), f"{r['speedup']:.2f}"] for r in rows})
    bars = (
        alt.Chart(pl.DataFrame(rows))
        .mark_bar()
        .encode(
            x=alt.X("machine:N", sort=names, title=None, axis=alt.Axis(labelAngle=0, labelExpr=f"{lines}[datum.label]")),
            y=alt.Y("speedup:Q", title=f"speedup over {data['baseline']}"),
            color=colour(names).legend(None),
        )
    )
    spans = [{"machine": r["machine"], "low": r["band"]["speedup"][0], "high": r["band"]["speedup"][1]} for r in data["machines"] if "speedup" in r.get("band", {})]
    shape: dict[str, Any] = {"title": sentences.titled(data["workload"]), "width": alt.Step(70), "height": 260}
    if not spans:
        alone: alt.Chart = bars.properties(**shape)
        return alone
    rules = alt.Chart(pl.DataFrame(spans)).mark_rule(strokeWidth=2, color="black")
    both: alt.LayerChart = (bars + rules.encode(x=alt.X("machine:N", sort=names), y="low:Q", y2="high:Q")).properties(**shape)
    return both


#: A colour a cause, the same in every figure.
CAUSES = {
    "compute": "#8ce99a",
    "programs": "#8ce99a",
    "memory": "#4dabf7",
    "fences": "#fa5252",
    "buffer full": "#ff922b",
    "locks": "#be4bdb",
    "devices": "#15aabf",
    "kernel": "#fcc419",
    "idle": "#ced4da",
    "idle or I/O": "#ced4da",
}


def cause_colour(named: list[str]) -> alt.Color:
    """The colours of causes, in a legend above the figure."""
    return alt.Color("cause:N", title=None, sort=named, scale=alt.Scale(domain=named, range=[CAUSES[c] for c in named]), legend=alt.Legend(orient="top"))


def time_scale(longest: float) -> tuple[float, str]:
    """The unit of an axis on which times up to ``longest`` ns stand, and how many ns it has."""
    return next(((s, u) for s, u in ((1e9, "s"), (1e6, "ms"), (1e3, "us")) if longest >= s), (1.0, "ns"))


def causes_of(
    runs: list[dict[str, Any]],
    causes: Callable[[dict[str, Any]], dict[str, float]],
    cores: Callable[[dict[str, Any]], float],
) -> alt.Chart:
    """Time of a core, a bar a machine, stacked by what it was spent on: the bars are as long as the runs."""
    longest = max(r["time_ns"] for r in runs)
    size, unit = time_scale(longest)
    rows = [{"machine": r["machine"], "cause": c, "time": v / cores(r) / size} for r in runs for c, v in causes(r).items()]
    machines = [r["machine"] for r in runs]
    named = [c for c in CAUSES if any(row["cause"] == c for row in rows)]
    drawn: alt.Chart = (
        alt.Chart(pl.DataFrame([{**row, "order": named.index(row["cause"])} for row in rows]))
        .mark_bar()
        .encode(
            y=alt.Y("machine:N", sort=machines, title=None),
            x=alt.X("time:Q", title=f"time of a core ({unit})", stack="zero", scale=alt.Scale(nice=False)),
            color=cause_colour(named),
            order="order:Q",
        )
        .properties(width=620, height=alt.Step(34))
    )
    return drawn


def grouped(rows: list[dict[str, Any]], title: str, axis: str, *, order: list[str]) -> alt.Chart | alt.LayerChart:
    """Bars grouped by workload: rows of workload, machine, value. A group that would flatten the others is cut, with its values in its bars."""
    end = sentences.axis_end(rows)
    bars = _bars(rows, axis, order, alt.Scale(domain=[0, end], nice=False) if end else alt.Undefined)
    if end is None:
        return bars.properties(title=title)
    over = [r for r in rows if (r["value"] or 0.0) > end]
    place = {"x": alt.X("workload:N", sort=list(dict.fromkeys(r["workload"] for r in rows))), "xOffset": alt.XOffset("machine:N", sort=order)}
    values = alt.Chart(pl.DataFrame(over)).mark_text(angle=270, align="right", dx=-4, fontSize=11, color="white")
    both: alt.LayerChart = (bars + values.encode(**place, y=alt.value(0), text=alt.Text("value:Q", format=".3g"))).properties(title=title)
    return both


def _bars(rows: list[dict[str, Any]], axis: str, order: list[str], scale: Any) -> alt.Chart:
    workloads = list(dict.fromkeys(r["workload"] for r in rows))
    drawn: alt.Chart = (
        alt.Chart(pl.DataFrame(rows))
        .mark_bar(clip=True)
        .encode(
            x=alt.X("workload:N", sort=workloads, title=None, axis=alt.Axis(labelAngle=-35, labelOverlap=False)),
            xOffset=alt.XOffset("machine:N", sort=order),
            y=alt.Y("value:Q", title=axis, scale=scale),
            color=colour(order),
            tooltip=["workload", "machine", alt.Tooltip("value:Q", format=".3g")],
        )
        .properties(width=max(420, 58 * len(workloads)), height=280)
    )
    return drawn


def capped(rows: list[dict[str, Any]], title: str, axis: str, *, order: list[str]) -> alt.LayerChart:
    """Grouped bars of ``value`` with a line at ``high`` (a 99th percentile)."""
    bars = _bars(rows, axis, order, alt.Undefined).properties(title=title)
    workloads = list(dict.fromkeys(r["workload"] for r in rows))
    ticks = (
        alt.Chart(pl.DataFrame(rows))
        .mark_tick(color="black", thickness=2)
        .encode(
            x=alt.X("workload:N", sort=workloads),
            xOffset=alt.XOffset("machine:N", sort=order),
            y="high:Q",
        )
    )
    drawn: alt.LayerChart = bars + ticks
    return drawn


def lines(rows: list[dict[str, Any]], title: str, x: str, axis: str) -> alt.Chart | alt.FacetChart:
    """Lines over threads: rows of x, machine, value, and optionally workload for small multiples."""
    names = list(dict.fromkeys(r["machine"] for r in rows))
    chart = (
        alt.Chart(pl.DataFrame(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("x:O", title=x, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", title=axis),
            color=colour(names),
        )
        .properties(width=220, height=220)
    )
    if "workload" in rows[0]:
        apart: alt.FacetChart = chart.facet(column=alt.Column("workload:N", title=None, sort=None), title=title)
        return apart
    drawn: alt.Chart = chart.properties(title=title, width=420, height=280)
    return drawn


def curve(rows: list[dict[str, Any]], title: str, x: str, axis: str) -> alt.Chart:
    """Lines over a number, each in its own order: rows of x, machine, value."""
    names = list(dict.fromkeys(r["machine"] for r in rows))
    numbered = [{**r, "number": n} for n, r in enumerate(rows)]
    drawn: alt.Chart = (
        alt.Chart(pl.DataFrame(numbered))
        .mark_line(point=True)
        .encode(
            x=alt.X("x:Q", title=x),
            y=alt.Y("value:Q", title=axis),
            color=colour(names),
            order="number:Q",
        )
        .properties(title=title, width=480, height=300)
    )
    return drawn


def under_load(points: list[dict[str, float]], title: str) -> alt.Chart:
    """Latency over bandwidth, a curve for each share of reads."""
    rows = [{"x": p["gb_per_s"], "machine": f"{p['read_percent']:.0f} % reads", "value": p["load_to_use_ns"]} for p in points]
    return curve(rows, title, "bandwidth, GB/s", "load to use, ns")


def held_up(steps: list[dict[str, float]], title: str) -> alt.Chart:
    """Lines lost over stored energy: at the worst instant, and a mean."""
    series = {"at the worst instant": "lines_lost", "mean": "lines_lost_mean"}
    rows = [{"x": s["microjoules"], "machine": name, "value": s[key]} for name, key in series.items() for s in steps]
    return curve(rows, title, "stored energy, uJ", "lines lost")


def over_time(rows: list[dict[str, Any]], title: str, x: str, axis: str) -> alt.Chart:
    """Lines over simulated time: rows of x, machine, value."""
    names = list(dict.fromkeys(r["machine"] for r in rows))
    drawn: alt.Chart = (
        alt.Chart(pl.DataFrame(rows))
        .mark_line(interpolate="step-after")
        .encode(x=alt.X("x:Q", title=x, scale=alt.Scale(nice=False)), y=alt.Y("value:Q", title=axis), color=colour(names))
        .properties(title=title, width=620, height=280)
    )
    return drawn


def lasts(series: dict[str, list[float]]) -> bool:
    """Whether it was looked at more than once in the time: a run that ends before has nothing to draw over time."""
    return len(set(series["seconds"])) > 1


def memory_over_time(series: dict[str, list[float]], title: str) -> alt.VConcatChart:
    """A run at page fidelity: free memory with its watermarks and integrated persistent memory; swap; faults; time."""
    seconds = series["seconds"]

    def rows(columns: dict[str, str]) -> list[dict[str, Any]]:
        return [{"x": t, "machine": label, "value": v} for label, name in columns.items() for t, v in zip(seconds, series[name], strict=True)]

    def rates(columns: dict[str, str], scale: float) -> list[dict[str, Any]]:
        found = []
        for label, name in columns.items():
            sums = series[name]
            for n in range(1, len(seconds)):
                step = max(seconds[n] - seconds[n - 1], 1e-9)
                found.append({"x": seconds[n], "machine": label, "value": (sums[n] - sums[n - 1]) / step / scale})
        return found

    memory = {"free": "free_gib", "low watermark": "low_gib", "high watermark": "high_gib", "integrated PM": "pm_integrated_gib"}
    if "integrates_below_gib" in series:
        memory["kpmemd integrates below"] = "integrates_below_gib"
    drawn: alt.VConcatChart = alt.vconcat(
        over_time(rows(memory), title, "seconds", "GiB"),
        over_time(rows({"swap device": "swap_gib", "page descriptors": "descriptors_gib"}), "In use", "seconds", "GiB"),
        over_time(rates({"minor faults": "minor_faults", "major faults": "major_faults"}, 1e6), "Page faults", "seconds", "million a second"),
        over_time(rates({"user": "user_s", "system": "system_s"}, 1), "Cores at work", "seconds", "cores"),
    ).resolve_scale(color="independent")
    return drawn
