"""The first microseconds of a run: what each core did when, drawn to scale."""

from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from coreplane import figures, page, sentences
from coreplane.page import quantity
from coreplane.spent import cores

#: Stretches of a core that a reader can tell apart.
STRETCHES = 90


def drawn(folder: Path, runs: list[dict[str, Any]]) -> str:
    """The figure with its sentence; nothing where runs kept no stretches."""
    runs = [r for r in runs if any(r.get("opening", []))]
    if not runs:
        return ""
    end = until(runs)
    begin = since(runs, end)
    if not rows(runs, end, begin):
        return ""
    size, unit = next(((s, u) for s, u in ((1e6, "ms"), (1e3, "us")) if end >= s), (1.0, "ns"))
    frame = pl.DataFrame([{**row, "from": row["from"] / size, "to": row["to"] / size} for row in rows(runs, end, begin)])
    named = [c for c in figures.CAUSES if c in set(frame["cause"])]
    bars = (
        alt.Chart(frame)
        .mark_bar(height=15)
        .encode(
            x=alt.X("from:Q", title=f"simulated time ({unit})", scale=alt.Scale(domain=[begin / size, end / size], nice=False)),
            x2="to:Q",
            y=alt.Y("core:N", title=None, axis=alt.Axis(ticks=False, domain=False)),
            color=figures.cause_colour(named),
        )
        .properties(width=680, height=alt.Step(20))
    )
    head = alt.Header(labelOrient="top", labelAnchor="start", labelPadding=2)
    apart = bars.facet(row=alt.Row("machine:N", sort=[r["machine"] for r in runs], title=None, header=head)).properties(spacing=8)
    return page.figure(folder, "opening", apart if len(runs) > 1 else bars, said(runs, end, begin))


def until(runs: list[dict[str, Any]]) -> float:
    """The end of the picture: all that is drawn was kept to here, and no core of the first run has more stretches than can be told apart."""
    # A core with fewer stretches than another was seen to its end, or all of them were.
    most = max(len(core) for r in runs for core in r["opening"])
    full = [core[-1][2] for r in runs for core in r["opening"] if len(core) == most]
    busiest = max(runs[0]["opening"], key=len)
    told_apart = [busiest[: STRETCHES + 1][-1][2]] if busiest else []
    return float(min(*full, *told_apart, max(r["time_ns"] for r in runs)))


#: What a core does that has nothing to do yet: it waits for others, or has no program.
WAITING = ("locks", "idle")


def since(runs: list[dict[str, Any]], end: float) -> float:
    """The beginning of the picture: where a second core begins to work, if the first alone would fill a good part of it."""
    begun = []
    for r in runs:
        works = sorted(next((a for c, a, _ in core if c not in WAITING), end) for core in r["opening"] if core)
        begun.append(works[1] if len(works) > 1 else 0.0)
    first = float(min(begun))
    return first if end / 4 < first < end else 0.0


def rows(runs: list[dict[str, Any]], end: float, begin: float = 0.0) -> list[dict[str, Any]]:
    """A row for each stretch between the two times."""
    found = []
    for r in runs:
        for number, core in enumerate(r["opening"]):
            of = {"machine": r["machine"], "core": f"core {number}"}
            found += [{**of, "cause": sentences.cause(c), "from": max(a, begin), "to": min(b, end)} for c, a, b in core if a < end and b > begin]
    return found


def said(runs: list[dict[str, Any]], end: float, begin: float = 0.0) -> str:
    """What is to be seen: the wait that tells the machines apart most, or that takes most of one machine's time."""
    all_rows = rows(runs, end, begin)
    cores = {r["machine"]: len({x["core"] for x in all_rows if x["machine"] == r["machine"]}) for r in runs}

    def share(machine: str, cause: str) -> float:
        own = (x["to"] - x["from"] for x in all_rows if x["machine"] == machine and x["cause"] == cause)
        return float(sum(own)) / ((end - begin) * max(1, cores[machine]))

    waits = {x["cause"] for x in all_rows} - {"compute"}
    text = f"The first {quantity(end - begin, 'ns')} of {_which(runs)}, to scale"
    if any("recordings" in r.get("band", {}) for r in runs):
        text += ", in the first recording"
    if begin:
        text += f", from {quantity(begin, 'ns')} on: until then one works alone"
    if not waits:
        return f"{text}: they wait for nothing."

    def apart(cause: str) -> float:
        shares = [share(r["machine"], cause) for r in runs]
        return max(shares) - min(shares) if len(runs) > 1 else shares[0]

    cause = max(sorted(waits), key=apart)
    parts = []
    for r in runs:
        longest = max((x["to"] - x["from"] for x in all_rows if x["machine"] == r["machine"] and x["cause"] == cause), default=0.0)
        name = f"{r['machine']} " if len(runs) > 1 else ""
        parts.append(f"{name}{100 * share(r['machine'], cause):.0f} %" + (f" (the longest stretch {quantity(longest, 'ns')})" if longest else ""))
    return f"{text}. {'Time on' if len(runs) > 1 else 'Most of what is not computing is'} {cause}: {', '.join(parts)}."


def _which(runs: list[dict[str, Any]]) -> str:
    """The cores that are drawn: all, or as many as kept stretches."""
    shown = max(len(r["opening"]) for r in runs)
    there = max(round(cores(r)) for r in runs)
    return f"the first {shown} of {there} cores" if shown < there else "the cores"
