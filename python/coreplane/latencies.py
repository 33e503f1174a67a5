"""How long operations take: not the mean alone, which hides the slow ones."""

from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from coreplane import figures, page, sentences
from coreplane.page import quantity

#: Shares of operations with their statistic, and how many operations it takes for one to be slower.
SHARES = (("10 %", "p10", 1), ("50 %", "p50", 2), ("90 %", "p90", 10), ("99 %", "p99", 100), ("99.9 %", "p999", 1000))
_NAME = "operation.time"


def told(run: dict[str, Any]) -> list[tuple[str, str, float]]:
    """Of a run: each share that its operations are enough for, its statistic, and the time in ns that so many do not exceed."""
    stats = run["stats"]
    count = stats.get("cpu.operations", 0)
    return [(words, name, stats[f"{_NAME}.{name}"]) for words, name, least in SHARES if f"{_NAME}.{name}" in stats and count >= least]


def drawn(folder: Path, runs: list[dict[str, Any]], of: str = "") -> str:
    """The section of a report, its heading with ``of`` behind; nothing where no machine has operations that are timed."""
    rows = [{"machine": r["machine"], "share": words, "value": time} for r in runs for words, _, time in told(r) if time > 0]
    if len({row["share"] for row in rows}) < 2:
        return ""
    size, unit = figures.time_scale(max(row["value"] for row in rows))
    names = [r["machine"] for r in runs if told(r)]
    chart = (
        alt.Chart(pl.DataFrame([row | {"value": row["value"] / size} for row in rows]))
        .mark_line(point=True)
        .encode(
            x=alt.X("share:N", sort=[words for words, _, _ in SHARES], title="share of operations that take no longer", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", title=f"time of an operation ({unit})", scale=alt.Scale(type="log", nice=False, padding=12)),
            color=figures.colour(names),
        )
        .properties(width=560, height=280)
    )
    return page.section(f"How long operations take{of}", page.figure(folder, "operations", chart, said(runs)))


def said(runs: list[dict[str, Any]]) -> str:
    """A sentence a machine on its middle operation and its slow ones; which machine's slow ones are slowest."""
    parts, slow = [], {}
    for r in runs:
        times = {name: time for _, name, time in told(r)}
        last = next((name for name in ("p999", "p99", "p90") if name in times), None)
        if last is None or not times["p50"]:
            continue
        many = {"p999": "1,000", "p99": "100", "p90": "ten"}[last]
        parts.append(f"{r['machine']}: half take at most {quantity(times['p50'], 'ns')}, one in {many} more than {quantity(times[last], 'ns')}, {times[last] / times['p50']:.1f} times as long.")
        slow[r["machine"]] = (last, times[last] / times["p50"])
    even = {last for last, _ in slow.values()}
    if len(slow) > 1 and len(even) == 1:
        most = max(slow, key=lambda name: slow[name][1])
        alike = [name for name in slow if slow[name][1] * sentences.SAME >= slow[most][1]]
        if len(alike) == 1:
            parts.append(f"Slow operations stand out most on {most}.")
    return " ".join(parts)
