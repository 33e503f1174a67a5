"""Of a tracked process's report: which of its memory was hot, and which cold."""

from collections import Counter
from typing import Any

import altair as alt
import polars as pl

from coreplane.page import quantity

PAGE = 4096
#: What a page in memory was in a window, the hottest first.
KINDS = {"changed": "#e6550d", "accessed, not changed": "#fdae6b", "cold": "#9ecae1"}
#: Mappings of a table.
SHOWN = 20


def counted(windows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The windows whose accessed pages were counted."""
    return [w for w in windows if w.get("pages_resident")]


def kinds(of: dict[str, Any]) -> list[int]:
    """Pages of a window, or of a mapping in it, by kind. What changed and went within the window was accessed, and is counted in neither."""
    accessed = min(of["pages_accessed"], of["pages_resident"])
    changed = min(of["pages"], accessed)
    return [changed, accessed - changed, of["pages_resident"] - accessed]


def said(windows: list[dict[str, Any]]) -> str:
    """The mean window in a sentence."""
    changed, touched, cold = _mean([kinds(w) for w in windows])
    whole = max(changed + touched + cold, 1e-9)
    return (
        f"Of {quantity(whole * PAGE, 'B')} in memory {quantity((changed + touched) * PAGE, 'B')} ({(changed + touched) / whole:.1%}) was accessed in the mean window, "
        f"and {quantity(changed * PAGE, 'B')} of that changed; {quantity(cold * PAGE, 'B')} ({cold / whole:.1%}) was cold."
    )


def _mean(rows: list[list[int]], count: int = 0) -> list[float]:
    return [sum(column) / (count or len(rows)) for column in zip(*rows, strict=True)]


def drawn(windows: list[dict[str, Any]]) -> alt.Chart:
    """Memory over time by what was done to it."""
    rows = [{"x": w["start_s"], "pages": name, "size": n * PAGE / 1e6, "order": order} for w in windows for order, (name, n) in enumerate(zip(KINDS, kinds(w), strict=True))]
    rows += [{**row, "x": windows[-1]["end_s"]} for row in rows[-len(KINDS) :]]
    scale = alt.Scale(domain=list(KINDS), range=list(KINDS.values()))
    chart: alt.Chart = (
        alt.Chart(pl.DataFrame(rows))
        .mark_area(interpolate="step-after")
        .encode(
            x=alt.X("x:Q", title="seconds", scale=alt.Scale(nice=False)),
            y=alt.Y("size:Q", title="memory (MB)", stack="zero"),
            color=alt.Color("pages:N", scale=scale, title=None, legend=alt.Legend(orient="top")),
            order=alt.Order("order:Q"),
        )
        .properties(width=640, height=220)
    )
    return chart


def mappings(windows: list[dict[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """The mean window by mapping, the largest first."""
    names = {m["name"] for w in windows for m in w["mappings"]}
    last = Counter(name.rsplit("/", 1)[-1] for name in names)
    rows: list[list[Any]] = []
    for name in names:
        found = [kinds(m) for w in windows for m in w["mappings"] if m["name"] == name]
        parts = _mean(found, len(windows))
        whole = sum(parts)
        sizes = [(quantity(n * PAGE, "B"), n) for n in (whole, *parts)]
        short = name.rsplit("/", 1)[-1]
        rows.append([short if last[short] == 1 else name, *sizes, (f"{parts[-1] / whole:.1%}" if whole else "-", parts[-1] / whole if whole else 0)])
    rows.sort(key=lambda row: (-row[1][1], row[0]))
    return ["mapping", "in memory", *KINDS, "share cold"], rows[:SHOWN]
