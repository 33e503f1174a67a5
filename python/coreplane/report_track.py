"""The report of a tracked process: how much was dirty, when, how densely and where."""

import json
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from coreplane import figures, page, report_accessed
from coreplane.page import quantity, section

#: Bytes of the units that dirty data may be moved in.
LINE, PAGE = 64, 4096
#: Processes that a table names.
PROCESSES = 20
#: Stretches of memory that a reader can tell apart.
STRETCHES = 100


def track(file: Path) -> Path | None:
    """Writes the report beside the Parquet file of a tracked process."""
    pages = pl.read_parquet(file)
    about = file.with_suffix(".json")
    told = json.loads(about.read_text()) if about.exists() else {}
    accessed = report_accessed.counted(told.get("windows") or [])
    if not len(pages) and not accessed:
        return None
    if "process" not in pages.columns:  # as kept before there were several
        pages = pages.with_columns(pl.lit(0).alias("process"))
    pages = pages.with_columns(pl.col("lines").bitwise_count_ones().cast(pl.Int64).alias("dirty"))
    windows = _windows(pages, told)
    folder, name = file.parent, file.stem
    body = [
        page.summary([*(_said(windows) if len(pages) else ["Nothing changed."]), *([report_accessed.said(accessed)] if accessed else [])]),
        *([_accessed(folder, name, accessed)] if accessed else []),
        *(_changed(folder, name, windows, pages) if len(pages) else []),
        *([section("Processes", page.table(*_processes(windows), text=2), _others(windows))] if len(_named(windows)) > 1 else []),
        section("Windows", page.table(*_table(windows))),
        page.provenance(told, live=True),
    ]
    return page.write(folder, f"Tracked: {_whom(told, name)}", "A byte is dirty in a window when its value at the end differs from its value at the start.", body, f"{name}.html")


def _accessed(folder: Path, name: str, windows: list[dict[str, Any]]) -> str:
    caption = "Pages that were accessed by the processor's bits, and those of them that changed; what is in memory and was not accessed in a window is cold in it. The table has the mean window."
    picture = page.figure(folder, f"{name}-accessed", report_accessed.drawn(windows), caption)
    return section("Hot and cold", picture, page.table(*report_accessed.mappings(windows)))


def _changed(folder: Path, name: str, windows: list[dict[str, Any]], pages: pl.DataFrame) -> list[str]:
    return [
        section("Over time", page.figure(folder, f"{name}-rate", _rates(windows), _busiest(windows))),
        section("How full dirty pages are", page.figure(folder, f"{name}-lines", _fullness(pages), _full(pages))),
        section("Where", page.figure(folder, f"{name}-where", _heat(pages), _where(pages))),
    ]


def _whom(told: dict[str, Any], name: str) -> str:
    """The program that was tracked, as it was started, or the process; else the file's name."""
    words = (told.get("provenance") or {}).get("command") or ""
    command = words.split(" -- ", 1)[1] if " -- " in words else ""
    named = _named(told.get("windows") or [])
    first = next((f"{called}, process {number}" for number, called in named), name)
    whom = command or (first if len(named) < 2 else f"{named[0][1]} and {len(named) - 1} more process{'es' if len(named) > 2 else ''}")
    return whom if len(whom) <= 60 else f"{whom[:57]}..."


def _named(windows: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """The processes that were tracked, by number and name."""
    return sorted({(p["process"], p["name"]) for w in windows for p in w.get("processes", [])})


def _processes(windows: list[dict[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """What each process changed over all windows, the busiest first."""
    rows: list[list[Any]] = []
    for number, name in _named(windows):
        there = [p for w in windows for p in w["processes"] if (p["process"], p["name"]) == (number, name)]
        size, lines, pages = (sum(p[key] for p in there) for key in ("bytes", "lines", "pages"))
        rows.append([number, name, len(there), (quantity(size, "B"), size), (f"{lines:,}", lines), (f"{pages:,}", pages)])
    rows.sort(key=lambda row: -row[3][1])
    return ["process", "name", "windows", "changed", "dirty lines", "dirty pages"], rows[:PROCESSES]


def _others(windows: list[dict[str, Any]]) -> str:
    others = len(_named(windows)) - PROCESSES
    return f"<p class='note'>And {others} more processes, which changed less.</p>" if others > 0 else ""


def _windows(pages: pl.DataFrame, told: dict[str, Any]) -> list[dict[str, Any]]:
    """Each window's sums, with what only the tracker knows: windows in which nothing was dirty, pages written, pauses."""
    sums = pages.group_by("window").agg(pl.col("end_s").first(), pl.col("start_s").first(), pl.col("bytes").sum(), pl.col("dirty").sum().alias("lines"), pl.len().alias("pages")).sort("window")
    found = {w["window"]: w for w in sums.to_dicts()}
    if "windows" not in told:
        return list(found.values())
    return [{"window": n, **w} for n, w in enumerate(told["windows"])]


def _totals(windows: list[dict[str, Any]]) -> tuple[int, int, int, float]:
    """Bytes, bytes of lines, bytes of pages, seconds."""
    total, lines, pages = (sum(int(w[k]) for w in windows) for k in ("bytes", "lines", "pages"))
    return total, lines * LINE, pages * PAGE, max(windows[-1]["end_s"] - windows[0]["start_s"], 1e-9)


def _said(windows: list[dict[str, Any]]) -> list[str]:
    total, lines, whole, seconds = _totals(windows)
    said = [
        f"{quantity(total, 'B')} changed in {seconds:.1f} s: {quantity(total / seconds, 'B/s')}.",
        f"Moved in lines of {LINE} B, that is {quantity(lines, 'B')}, {lines / total:.1f} times as much; in pages of 4 KiB {quantity(whole, 'B')}, {whole / total:.1f} times. "
        f"Lines save {1 - lines / whole:.0%} of what pages move.",
    ]
    if "pages_compared" in windows[0]:
        compared, dirty = sum(w["pages_compared"] for w in windows), sum(w["pages"] for w in windows)
        how = windows[0]["mechanism"]
        seen = f"The kernel saw {compared:,} pages written; {dirty:,} of them had other contents at a window's end." if how == "scan" else f"{compared:,} pages were compared, {dirty:,} had changed."
        pause = sum(w["pause_ms"] for w in windows)
        who = "The program" if len(_named(windows)) < 2 else "All together, or those that ended alone,"
        said += [seen, f"{who} stood still for {quantity(pause * 1e6, 'ns')} of it ({pause / seconds / 10:.1f} %), at most {quantity(1e6 * max(w['pause_ms'] for w in windows), 'ns')} at once."]
    return said


def _rates(windows: list[dict[str, Any]]) -> alt.Chart:
    sizes = {"bytes": ("bytes", 1), f"lines of {LINE} B": ("lines", LINE), "pages of 4 KiB": ("pages", PAGE)}
    rows = []
    for name, (key, size) in sizes.items():
        for w in windows:
            rate = w[key] * size / max(w["end_s"] - w["start_s"], 1e-9) / 1e6
            rows.append({"x": w["start_s"], "machine": name, "value": rate})
        rows.append({**rows[-1], "x": windows[-1]["end_s"]})
    names = list(sizes)
    drawn: alt.Chart = (
        alt.Chart(pl.DataFrame(rows))
        .mark_line(interpolate="step-after")
        .encode(x=alt.X("x:Q", title="seconds", scale=alt.Scale(nice=False)), y=alt.Y("value:Q", title="dirty data (MB/s)"), color=figures.colour(names).legend(orient="top"))
        .properties(width=640, height=260)
    )
    return drawn


def _busiest(windows: list[dict[str, Any]]) -> str:
    most = max(windows, key=lambda w: w["bytes"] / max(w["end_s"] - w["start_s"], 1e-9))
    rate = most["bytes"] / max(most["end_s"] - most["start_s"], 1e-9)
    idle = sum(not w["bytes"] for w in windows)
    return (
        f"Most changed from {most['start_s']:.1f} to {most['end_s']:.1f} s, {quantity(rate, 'B/s')}"
        + (f"; in {idle} of {len(windows)} windows nothing did." if idle else ".")
        + " What lies between two curves is clean, and moves with the coarser unit."
    )


def _fullness(pages: pl.DataFrame) -> alt.Chart:
    counts = pages.group_by("dirty").agg(pl.len().alias("pages"))
    drawn: alt.Chart = (
        alt.Chart(counts)
        .mark_bar(color="#15aabf")
        .encode(x=alt.X("dirty:Q", title="dirty lines of a dirty page", scale=alt.Scale(domain=[0, 64], padding=6, nice=False)), y=alt.Y("pages:Q", title="dirty pages, all windows"))
        .properties(width=640, height=220)
    )
    return drawn


def _full(pages: pl.DataFrame) -> str:
    few, full = (len(pages.filter(c)) / len(pages) for c in (pl.col("dirty") <= 4, pl.col("dirty") == 64))
    return f"A dirty page has {pages['dirty'].sum() / len(pages):.1f} dirty lines of 64; {few:.0%} of them have at most four, {full:.0%} have all."


def _stretches(pages: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Dirty lines by window and stretch of memory, and the pages of a stretch: only memory that changed, in order of processes and addresses."""
    places = pages.select("process", "address").unique().sort("process", "address")
    size = max(1, -(-len(places) // STRETCHES))
    rank = places.with_columns(pl.Series("stretch", [n // size for n in range(len(places))], dtype=pl.Int64))
    return pages.join(rank, on=["process", "address"]).group_by("window", "stretch").agg(pl.col("dirty").sum()), size


def _heat(pages: pl.DataFrame) -> alt.Chart:
    cells, _ = _stretches(pages)
    # Strength instead of colours: it reads the same on light and on dark paper.
    drawn: alt.Chart = (
        alt.Chart(cells)
        .mark_rect(color="#15aabf")
        .encode(
            x=alt.X("window:O", title="window", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
            y=alt.Y("stretch:O", title="memory, low addresses first", axis=alt.Axis(labels=False, ticks=False)),
            opacity=alt.Opacity("dirty:Q", title="dirty lines", scale=alt.Scale(range=[0.12, 1]), legend=alt.Legend(orient="top")),
        )
        .properties(width=640, height=300)
    )
    return drawn


def _where(pages: pl.DataFrame) -> str:
    cells, size = _stretches(pages)
    stretches = cells.group_by("stretch").agg(pl.col("dirty").sum()).sort("dirty", descending=True)["dirty"]
    tenth = max(1, len(stretches) // 10)
    share = float(stretches.head(tenth).sum()) / float(stretches.sum())
    every = pages.group_by("process", "address").agg(pl.col("window").n_unique())["window"]
    windows = pages["window"].n_unique()
    always = len(every.filter(every == windows)) / len(every)
    row = "a page" if size == 1 else f"{size} pages"
    addresses = pages.sort("process", "address")["address"]
    low, high = int(addresses[0]), int(addresses[-1])
    several = ", one process after the other" if pages["process"].n_unique() > 1 else ""
    ever = f"{always:.0%} of the pages are" if always else "no page is"
    return (
        f"A row is {row} of memory that changed, from {low:#x} at the top to {high:#x}{several}; the stronger, the more of it changed. "
        f"The busiest tenth of rows has {share:.0%} of all dirty lines; {ever} dirty in each of the {windows} windows."
    )


def _table(windows: list[dict[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    more = "pages_compared" in windows[0]
    head = ["window", "end (s)", "changed", "dirty lines", "dirty pages", *(["pages looked at", "pause (ms)"] if more else [])]
    rows = []
    for w in windows:
        row = [w["window"], (f"{w['end_s']:.1f}", w["end_s"]), (quantity(w["bytes"], "B"), w["bytes"]), *((f"{w[k]:,}", w[k]) for k in ("lines", "pages"))]
        rows.append([*row, *([(f"{w['pages_compared']:,}", w["pages_compared"]), (f"{w['pause_ms']:.1f}", w["pause_ms"])] if more else [])])
    return head, rows
