"""Reports of campaigns, of the crash lab and of tracking."""

import html
import json
import math
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from coreplane import figures, page
from coreplane.page import quantity, section

#: The unit of what a campaign's figures show.
RATE = "throughput.operations_per_second"


def sweep(folder: Path) -> Path | None:
    """Writes the report of a campaign from the results in ``folder``: axes are what varies."""
    about = json.loads((folder / "campaign.json").read_text())
    runs = []
    for file in sorted(folder.glob("*.json")):
        data = json.loads(file.read_text())
        if "time_ns" in data:
            runs.append(data)
    if not runs:
        return None
    rows = []
    for r in runs:
        varied = {k: r["settings"].get(k) for k in about["vary"]}
        rate = r["stats"].get(RATE, 0)
        rows.append({"machine": r["machine"], "workload": r["workload"], "seed": r["seed"], "time_ns": r["time_ns"], "rate": rate, **varied})
    keys = _axes(rows, about["vary"])
    head = ["machine", "workload", *about["vary"], "runs", "time", "operations a second"]
    means = dict(sorted(_means(rows, about["vary"]).items(), key=lambda g: [(0, v, "") if isinstance(v, (int, float)) else (1, 0, str(v)) for v in g[0]]))
    table = [[*group, len(own), (quantity(_mean(own, "time_ns"), "ns"), _mean(own, "time_ns")), (quantity(_mean(own, "rate"), "1/s"), _mean(own, "rate"))] for group, own in means.items()]
    drawn = [page.figure(folder, f"by-{key.replace('.', '-')}", _lines(rows, key)) for key in keys] if keys else [page.figure(folder, "by-machine", _bars(rows))]
    seeds = len({r["seed"] for r in rows})
    told = {"provenance": {"version": about.get("version"), "command": f"coreplane sweep {folder / 'campaign.toml'}"}}
    said = [f"{len(rows)} runs{f', means over {seeds} seeds' if seeds > 1 else ''}.", *(_effect(rows, key) for key in keys)]
    body = [page.summary(said), section("Figures", *drawn), section("Means", page.table(head, table, text=2)), _failed(folder), page.provenance(told)]
    return page.write(folder, "Campaign", f"varies {', '.join(about['vary']) or 'machines and workloads'}", body)


def _axes(rows: list[dict[str, Any]], keys: list[str]) -> list[str]:
    """Keys that have several values, those with most first; each gets a figure."""
    counts = {k: len({r[k] for r in rows}) for k in keys}
    return [k for k in sorted(counts, key=lambda k: -counts[k]) if counts[k] > 1][:4]


def _mean(rows: list[dict[str, Any]], key: str) -> float:
    return float(sum(r[key] for r in rows)) / len(rows)


def _means(rows: list[dict[str, Any]], keys: list[str]) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Runs that differ in nothing but the seed, together."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for r in rows:
        groups.setdefault((r["machine"], r["workload"], *(r[k] for k in keys)), []).append(r)
    return groups


def _lines(rows: list[dict[str, Any]], key: str) -> Any:
    """Operations a second over what varies: mean and range of everything else, a line a machine, a picture a workload."""
    frame = pl.DataFrame([{"x": r[key], "machine": r["machine"], "workload": r["workload"], "value": r["rate"] / 1e6} for r in rows])
    numeric = all(isinstance(r[key], (int, float)) and not isinstance(r[key], bool) for r in rows)
    names = list(dict.fromkeys(r["machine"] for r in rows))
    base = alt.Chart(frame).encode(x=alt.X("x:Q" if numeric else "x:N", title=key, axis=alt.Axis(labelAngle=0)), color=figures.colour(names, "machine"))
    mean = base.mark_line(point=True).encode(y=alt.Y("mean(value):Q", title="million operations a second"))
    spread = base.mark_rule(opacity=0.5).encode(y="min(value):Q", y2="max(value):Q")
    chart = (mean + spread).properties(width=300, height=220)
    if len({r["workload"] for r in rows}) == 1:
        return chart.properties(width=520, title=rows[0]["workload"])
    return chart.facet(alt.Facet("workload:N", title=None), columns=3).resolve_scale(y="independent")


def _by_workload(rows: list[dict[str, Any]], key: str, value: Any) -> list[list[dict[str, Any]]]:
    """Runs with a value, by workload: so that one with many operations does not decide a mean."""
    at = [r for r in rows if r[key] == value]
    return [[r for r in at if r["workload"] == w] for w in dict.fromkeys(r["workload"] for r in at)]


def _geometric(values: list[float]) -> float:
    return math.exp(sum(math.log(max(v, 1e-9)) for v in values) / len(values))


def _bars(rows: list[dict[str, Any]]) -> Any:
    order = list(dict.fromkeys(r["machine"] for r in rows))
    means = [{"workload": w, "machine": m, "value": _mean(own, "rate") / 1e6} for (m, w), own in _means(rows, []).items()]
    return figures.grouped(means, "operations", "million a second", order=order)


def _effect(rows: list[dict[str, Any]], key: str) -> str:
    """A sentence on what a key does to each machine's mean."""
    parts = []
    for machine in dict.fromkeys(r["machine"] for r in rows):
        own = [r for r in rows if r["machine"] == machine]
        by = {v: _geometric([_mean(list(g), "rate") for g in _by_workload(own, key, v)]) for v in dict.fromkeys(r[key] for r in own)}
        (best, most), (worst, least) = max(by.items(), key=lambda x: x[1]), min(by.items(), key=lambda x: x[1])
        if least > 0 and most / least > 1.02:
            parts.append(f"{machine} does most at {best}, {most / least:.2f} times as much as at {worst}")
        elif least > 0:
            parts.append(f"{machine} does not depend on it (within 2 %)")
    return f"{key}: {'; '.join(parts)}." if parts else ""


def _failed(folder: Path) -> str:
    texts = [f.read_text().strip() for f in sorted(folder.glob("*.failed"))]
    return section("Runs that broke a promise", "".join(f"<pre>{html.escape(t)}</pre>" for t in texts))


def crash(folder: Path) -> Path:
    """Writes the report of the crash lab from the crash.json in ``folder``."""
    data = json.loads((folder / "crash.json").read_text())
    title = f"Power failures: {data['workload']} on {data['machine']}"
    if "refused" in data:
        body = [page.summary(["No verdict."]), section("Why", f"<p>{html.escape(data['refused'])}</p>")]
        return page.write(folder, title, "refused", body)
    timed, model = data.get("timed") or {}, data.get("model_images") or {}
    said = ["Recovery copes with every power failure that was tried." if data["clean"] else "Recovery does not cope with every power failure."]
    if timed.get("points"):
        said.append(f"On the machine: {timed['points']:,} instants, recovery fails at {timed['failing_points']:,}.")
    if model.get("points"):
        left = "" if model["images"] >= model["images_possible"] else f" of {model['images_possible']:,.4g} that are possible"
        said.append(f"In the model {data['model']}: {model['points']:,} crash points, {model['images']:,} images{left}; recovery fails at {model['failing_points']:,} points.")
    found = "".join(_failure(n, f) for n, f in enumerate(model.get("failures", []), 1))
    at_times = [[(quantity(f["at_ns"], "ns"), f["at_ns"]), f["message"]] for f in timed.get("failures", [])]
    lint = [[entry["kind"], entry["site"], entry["times"]] for entry in data.get("persistence_lint", [])]
    body = [
        page.summary([*said, *data.get("notes", [])]),
        section("What was not ordered", found),
        section("On the machine", page.table(["the power fails at", "what recovery says"], at_times)),
        section("Without any crash", page.table(["what", "where", "times"], lint, text=2)),
        page.provenance(data),
    ]
    return page.write(folder, title, f"model {data['model']}, seed {data['seed']}", body)


def _failure(number: int, failure: dict[str, Any]) -> str:
    """A failure: the order that was possible, the order that was needed, and what gives it."""
    lost = failure["missing"][0] if failure.get("missing") else None
    there = failure["present"][0] if failure.get("present") else None
    drawn = _order(lost, there) if lost and there else ""
    fix = ""
    if lost and there:
        fix = f"<p>To mend it: make the line of <code>{html.escape(lost['site'])}</code> durable (flush and fence, or a sync) before <code>{html.escape(there['site'])}</code> is stored.</p>"
    elif lost:
        fix = f"<p>To mend it: make the line of <code>{html.escape(lost['site'])}</code> durable before the operation counts as done.</p>"
    said = f"<h3>{number}. {html.escape(failure['why'])}</h3><p>Recovery: {html.escape(failure['message'])}</p>"
    again = f"<details><summary>try this image again</summary><pre>--replay '{html.escape(failure['replay'])}'</pre></details>" if failure.get("replay") else ""
    return said + drawn + fix + again


def _order(lost: dict[str, Any], there: dict[str, Any]) -> str:
    """Two stores in program order, and beside them what the power failure left."""

    def box(x: int, y: int, text: str, note: str, kept: bool) -> str:
        line = "var(--good)" if kept else "var(--error)"
        dash = "" if kept else ' stroke-dasharray="6 4"'
        return (
            f'<rect x="{x}" y="{y}" width="300" height="46" rx="6" fill="none" stroke="{line}" stroke-width="2"{dash}/>'
            f'<text x="{x + 12}" y="{y + 20}" fill="currentColor" font-size="13">{html.escape(text[-40:])}</text>'
            f'<text x="{x + 12}" y="{y + 37}" fill="var(--soft)" font-size="12">{html.escape(note)}</text>'
        )

    # In the program's order; what was lost is older than what is there, or the two would need no order.
    first, second = (lost, there) if lost["event"] <= there["event"] else (there, lost)
    left = box(10, 36, first["site"], "stored first", True) + box(10, 136, second["site"], "stored later", True)
    right = box(390, 36, lost["site"], "lost", False) + box(390, 136, there["site"], "there", True)
    arrow = '<path d="M160 84 V132" stroke="currentColor" stroke-width="1.5" marker-end="url(#tip)"/><text x="170" y="112" fill="currentColor" font-size="12">needed: durable before</text>'
    gap = '<text x="400" y="112" fill="var(--error)" font-size="12">possible: nothing between them makes the first durable</text>'
    head = '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="6" refY="4" orient="auto"><path d="M0 0 L8 4 L0 8 Z" fill="currentColor"/></marker></defs>'
    titles = '<text x="10" y="20" fill="var(--soft)" font-size="13">in the program</text><text x="390" y="20" fill="var(--soft)" font-size="13">after the power failure</text>'
    return page.drawn(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 196" width="740" font-family="system-ui, sans-serif">{head}{titles}{left}{right}{arrow}{gap}</svg>')


def track(file: Path) -> Path | None:
    """Writes the report of a tracked process beside its Parquet file: how much was dirty, where, and how densely."""
    pages = pl.read_parquet(file)
    if not len(pages):
        return None
    pages = pages.with_columns(pl.col("lines").map_elements(lambda bits: (bits & (1 << 64) - 1).bit_count(), return_dtype=pl.Int64).alias("dirty"))
    windows = pages.group_by("window").agg(pl.col("end_s").first(), pl.col("start_s").first(), pl.col("bytes").sum(), pl.col("dirty").sum(), pl.len().alias("pages")).sort("window")
    size = {"bytes": pl.col("bytes"), "lines of 64 B": pl.col("dirty") * 64, "pages of 4 KiB": pl.col("pages") * 4096}
    rate = [{"x": w["end_s"], "machine": name, "value": v / max(w["end_s"] - w["start_s"], 1e-9) / 1e6} for name, expr in size.items() for w, v in zip(windows.to_dicts(), windows.select(expr.alias("v"))["v"], strict=True)]
    total, lines, whole = int(windows["bytes"].sum()), int(windows["dirty"].sum()) * 64, int(windows["pages"].sum()) * 4096
    seconds = max(windows["end_s"].to_list()) - min(windows["start_s"].to_list())
    said = [
        f"{quantity(total, 'B')} changed in {seconds:.1f} s: {quantity(total / seconds, 'B/s')}.",
        f"Moved by lines that is {quantity(lines, 'B')} ({lines / total:.1f} times), by pages {quantity(whole, 'B')} ({whole / total:.1f} times).",
        f"A dirty page has {sum(pages['dirty'].to_list()) / len(pages):.1f} dirty lines of 64.",
    ]
    folder = file.parent
    spread = alt.Chart(pages.group_by("dirty").agg(pl.len().alias("pages"))).mark_bar().encode(x=alt.X("dirty:Q", title="dirty lines of a dirty page", scale=alt.Scale(domain=[0, 64])), y=alt.Y("pages:Q", title="pages, over all windows")).properties(width=620, height=220)
    rows = [[w["window"], (f"{w['end_s']:.1f}", w["end_s"]), (quantity(w["bytes"], "B"), w["bytes"]), w["dirty"], w["pages"]] for w in windows.to_dicts()]
    body = [
        page.summary(said),
        section("Over time", page.figure(folder, f"{file.stem}-rate", figures.over_time(rate, "Dirty data", "seconds", "MB/s"), "The distance between the curves is clean data that a coarser unit would move.")),
        section("How full dirty pages are", page.figure(folder, f"{file.stem}-lines", spread)),
        section("Where", page.figure(folder, f"{file.stem}-where", _heat(pages), "Dark: many dirty lines. Only memory that changed is shown, its stretches one after the other.")),
        section("Windows", page.table(["window", "end (s)", "changed", "lines", "pages"], rows)),
    ]
    return page.write(folder, f"Tracked: {file.stem}", "bytes whose value differs between a window's ends", body, f"{file.stem}.html")


def _heat(pages: pl.DataFrame) -> Any:
    """Windows by stretches of memory: dirty lines. At most a hundred stretches, in order of addresses."""
    places = pages["address"].unique().sort()
    size = max(1, -(-len(places) // 100))
    rank = pl.DataFrame({"address": places, "stretch": [n // size for n in range(len(places))]})
    cells = pages.join(rank, on="address").group_by("window", "stretch").agg(pl.col("dirty").sum())
    return alt.Chart(cells).mark_rect().encode(
        x=alt.X("window:O", title="window", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("stretch:O", title="memory, by address", axis=alt.Axis(labels=False, ticks=False)),
        color=alt.Color("dirty:Q", title="dirty lines", scale=alt.Scale(scheme="teals")),
    ).properties(width=620, height=300)  # fmt: skip
