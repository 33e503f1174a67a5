"""Reports of campaigns and of the crash lab."""

import html
import json
import math
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from coreplane import figures, page, report
from coreplane.page import quantity, section

#: The unit of what a campaign's figures show.
RATE = "throughput.operations_per_second"
#: What differs by less is called the same.
SAME = 1.02


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
        rows.append({"machine": r["machine"], "workload": r["workload"], "seed": r["seed"], "time_ns": r["time_ns"], "rate": rate, "shares": report.shares(r), **varied})
    keys = _axes(rows, about["vary"])
    head = ["machine", "workload", *about["vary"], "runs", "time", "operations a second"]
    means = dict(sorted(_means(rows, about["vary"]).items(), key=lambda g: [_in_order(v) for v in g[0]]))
    table = [[*group, len(own), (quantity(_mean(own, "time_ns"), "ns"), _mean(own, "time_ns")), (quantity(_mean(own, "rate"), "1/s"), _mean(own, "rate"))] for group, own in means.items()]
    drawn = [page.figure(folder, f"by-{key.replace('.', '-')}", _lines(rows, key), _under(rows, key)) for key in keys] if keys else [page.figure(folder, "by-machine", _bars(rows))]
    seeds = len({r["seed"] for r in rows})
    told = {"provenance": {"version": about.get("version"), "command": f"coreplane sweep {folder / 'campaign.toml'}"}}
    said = [f"{len(rows)} runs{f', means over {seeds} seeds' if seeds > 1 else ''}.", *(_effect(rows, key) for key in keys)]
    went = section("Where the time went", _moved_most(means, about["vary"]), _shares(means, about["vary"]))
    body = [page.summary(said), section("Figures", *drawn), section("Means", page.table(head, table, text=2)), went, _failed(folder), page.provenance(told)]
    return page.write(folder, "Campaign", f"varies {', '.join(about['vary']) or 'machines and workloads'}", body)


def curve(folder: Path) -> Path:
    """Writes the report of bandwidth-latency curves from the curve.json in ``folder``."""
    data = json.loads((folder / "curve.json").read_text())
    points = data["points"]
    said: list[str] = []
    rows: list[list[Any]] = []
    for share in dict.fromkeys(p["read_percent"] for p in points):
        own = [p for p in points if p["read_percent"] == share]
        most = max(own, key=lambda p: p["gb_per_s"])
        said.append(f"{share} % reads: {own[0]['load_to_use_ns']:.0f} ns without traffic, {most['load_to_use_ns']:.0f} ns at the highest bandwidth of {most['gb_per_s']:.1f} GB/s.")
        rows += [[f"{share} %", (f"{p['gb_per_s']:.2f} GB/s", p["gb_per_s"]), (f"{p['load_to_use_ns']:.1f} ns", p["load_to_use_ns"])] for p in own]
    title = f"Memory of {data['machine']} under load"
    drawn = page.figure(folder, "curve", figures.under_load(points, title), "A dependent load's time by what the memory reads and writes.")
    body = [page.summary(said), section("Curves", drawn), section("Points", page.table(["reads", "bandwidth", "load to use"], rows)), page.provenance(data)]
    return page.write(folder, title, f"seed {data['seed']}; memory: {data['memory']}", body)


def holdup(folder: Path) -> Path:
    """Writes the report of what a power failure loses from the holdup.json in ``folder``."""
    data = json.loads((folder / "holdup.json").read_text())
    steps = data["steps"]
    title = f"Lines lost at a power failure of {data['machine']}"
    said = [f"Without stored energy a power failure loses {steps[0]['lines_lost']} lines at most, {steps[0]['lines_lost_mean']:.1f} on average; {steps[-1]['microjoules']:.1f} uJ save all of them."]
    drawn = page.figure(folder, "holdup", figures.held_up(steps, title), "Lines that are lost, by the energy that is stored for draining them.")
    rows = [[(f"{s['microjoules']:.2f} uJ", s["microjoules"]), s["lines_lost"], (f"{s['lines_lost_mean']:.1f}", s["lines_lost_mean"])] for s in steps]
    body = [page.summary(said), section("By stored energy", drawn, page.table(["stored energy", "lost at most", "mean"], rows)), page.provenance(data)]
    return page.write(folder, title, f"{data['workload']}, seed {data['seed']}", body)


def _mean_share(own: list[dict[str, Any]], cause: str) -> float:
    return float(sum(r["shares"].get(cause, 0.0) for r in own)) / len(own)


def _causes(means: dict[tuple[Any, ...], list[dict[str, Any]]]) -> list[str]:
    return [c for c in figures.CAUSES if any(_mean_share(own, c) > 0 for own in means.values())]


def _shares(means: dict[tuple[Any, ...], list[dict[str, Any]]], keys: list[str]) -> str:
    """All of the cores' time by cause, a row for runs that differ in the seed alone."""
    causes = _causes(means)
    rows: list[list[Any]] = []
    for group, own in means.items():
        found = [_mean_share(own, c) for c in causes]
        rows.append([*group, *((f"{s:.1%}", s) for s in [*found, sum(found)])])
    return page.table(["machine", "workload", *keys, *causes, "all"], rows, text=2) if causes else ""


def _moved_most(means: dict[tuple[Any, ...], list[dict[str, Any]]], keys: list[str]) -> str:
    """For each machine, the share of the cores' time that what varies moves most, within one workload."""
    said = []
    for machine in dict.fromkeys(group[0] for group in means):
        found = []
        for workload in dict.fromkeys(group[1] for group in means):
            own = {group: runs for group, runs in means.items() if group[:2] == (machine, workload)}
            for cause in _causes(own):
                by = sorted(own, key=lambda group: _mean_share(own[group], cause))  # noqa: B023
                low, high = _mean_share(own[by[0]], cause), _mean_share(own[by[-1]], cause)
                found.append((high - low, cause, workload, low, by[0], high, by[-1]))
        if found and max(found)[0] > 0.01:
            _, cause, workload, low, least, high, most = max(found)
            at = [", ".join(f"{k} {v}" for k, v in zip(keys, group[2:], strict=True)) for group in (least, most)]
            said.append(f"On {machine} time on {cause} varies most: in {workload} from {low:.0%} of a core's time ({at[0]}) to {high:.0%} ({at[1]}).")
    return f"<p>{html.escape(' '.join(said))}</p>" if said else ""


def _in_order(value: Any) -> tuple[int, float, str]:
    """By what values are sorted: numbers as such, and before words."""
    return (0, value, "") if isinstance(value, (int, float)) else (1, 0.0, str(value))


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
    values = sorted({r[key] for r in rows}) if numeric else []
    # Steps of a factor are a logarithm's.
    scale = alt.Scale(type="log" if values and values[0] > 0 and values[-1] >= 8 * values[0] else "linear", nice=False, padding=12) if numeric else alt.Undefined
    axis = alt.Axis(labelAngle=0, values=values) if 0 < len(values) <= 8 else alt.Axis(labelAngle=0)
    base = alt.Chart(frame).encode(x=alt.X("x:Q" if numeric else "x:N", title=key, scale=scale, axis=axis), color=figures.colour(names).legend(orient="top"))
    mean = base.mark_line(point=True).encode(y=alt.Y("mean(value):Q", title="M operations/s"))
    spread = base.mark_rule(opacity=0.5).encode(y="min(value):Q", y2="max(value):Q")
    chart = (mean + spread).properties(width=250, height=200)
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


def _rates(rows: list[dict[str, Any]], machine: str, key: str) -> dict[Any, float]:
    """A machine's mean of operations a second over its workloads, by a key's value."""
    own = [r for r in rows if r["machine"] == machine]
    return {v: _geometric([_mean(list(g), "rate") for g in _by_workload(own, key, v)]) for v in sorted({r[key] for r in own}, key=_in_order)}


def _effect(rows: list[dict[str, Any]], key: str) -> str:
    """A sentence on what a key does to each machine's mean."""
    parts = []
    for machine in dict.fromkeys(r["machine"] for r in rows):
        by = _rates(rows, machine, key)
        (best, most), (worst, least) = max(by.items(), key=lambda x: x[1]), min(by.items(), key=lambda x: x[1])
        if least > 0 and most / least > SAME:
            # Where more changes nothing any longer, the least of what is as good says more than the best.
            as_good = [v for v in by if by[v] * SAME >= most]
            at = best if len(as_good) == 1 else f"{as_good[0]} to {as_good[-1]} (within 2 %)" if _together(list(by), as_good) else " and ".join(map(str, as_good))
            parts.append(f"{machine} does most at {at}, {most / least:.2f} times as much as at {worst}")
        elif least > 0:
            parts.append(f"{machine} does not depend on it (within 2 %)")
    return f"{key}: {'; '.join(parts)}." if parts else ""


def _together(values: list[Any], some: list[Any]) -> bool:
    """Whether some of the values are neighbours."""
    first = values.index(some[0])
    return values[first : first + len(some)] == some


def _under(rows: list[dict[str, Any]], key: str) -> str:
    """Under a figure: what a point and a line are, and what becomes of the distance between two machines."""
    several = "A point is the mean of all runs with that value, a line reaches from the least to the greatest."
    machines = list(dict.fromkeys(r["machine"] for r in rows))
    if len(machines) != 2:
        return several
    one, other = (_rates(rows, m, key) for m in machines)
    ratios = {v: other[v] / one[v] for v in one if one[v] > 0 and other.get(v, 0) > 0}
    if len(ratios) < 2:
        return several
    low, high = min(ratios, key=lambda v: ratios[v]), max(ratios, key=lambda v: ratios[v])
    return f"{several} {machines[1]} does {ratios[low]:.2f} times as much as {machines[0]} at {low}, {ratios[high]:.2f} times at {high}."


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
    tried, bounded = (model.get("points", 0), model.get("points_in_log", 0)), model.get("bounded_points", 0)
    if data["clean"] and (tried[0] < tried[1] or bounded):
        said[0] = f"Recovery copes with every power failure that was tried: {tried[0]:,} of {tried[1]:,} points of the model, {bounded:,} with images left out (--points, --images)."
    if timed.get("points"):
        said.append(f"On the machine: {timed['points']:,} instants, recovery fails at {timed['failing_points']:,}.")
    if model.get("points"):
        left = "" if model["images"] >= model["images_possible"] else f" of {model['images_possible']:,.4g} that are possible"
        said.append(f"In the model {data['model']}: {model['points']:,} crash points, {model['images']:,} images{left}; recovery fails at {model['failing_points']:,} points.")
    found = "".join(_failure(n, f) for n, f in enumerate(model.get("failures", []), 1))
    failed = timed.get("failures", [])
    at_times = [[(quantity(f["at_ns"], "ns"), f["at_ns"]), *([len(f["lost_pages"])] if _lost(failed) else []), f["message"]] for f in failed]
    head = ["the power fails at", *(["pages not saved"] if _lost(failed) else []), "what recovery says"]
    lint = [[entry["kind"], entry["site"], entry["times"]] for entry in data.get("persistence_lint", [])]
    body = [
        page.summary([*said, *(note[:1].upper() + note[1:] for note in data.get("notes", []))]),
        section("What was not ordered", found),
        section("On the machine", _not_saved(failed), page.table(head, at_times)),
        section("Without any crash", page.table(["what", "where", "times"], lint, text=2)),
        page.provenance(data),
    ]
    return page.write(folder, title, f"model {data['model']}, seed {data['seed']}", body)


def _lost(failed: list[dict[str, Any]]) -> list[int]:
    """How many pages each failure lost, since stored energy did not last; nothing where it always did."""
    lost = [len(f.get("lost_pages", [])) for f in failed]
    return lost if any(lost) else []


def _not_saved(failed: list[dict[str, Any]]) -> str:
    """A sentence on what was in flight."""
    lost = _lost(failed)
    most = f"between {min(lost)} and {max(lost)} pages" if lost and min(lost) != max(lost) else f"{lost[0]} pages" if lost else ""
    return f"<p>The stored energy did not last: {most} were not saved. To mend it: more of it, or less that is dirty.</p>" if lost else ""


def _failure(number: int, failure: dict[str, Any]) -> str:
    """A failure: the order that was possible, the order that was needed, and what gives it."""
    lost = failure["missing"][0] if failure.get("missing") else None
    there = failure["present"][0] if failure.get("present") else None
    drawn = _order(lost, there, failure["point"]) if lost and there else ""
    fix = ""
    if lost and there:
        fix = f"<p>To mend it: make the line of <code>{html.escape(lost['site'])}</code> durable (flush and fence, or a sync) before <code>{html.escape(there['site'])}</code> is stored.</p>"
    elif lost:
        fix = f"<p>To mend it: make the line of <code>{html.escape(lost['site'])}</code> durable before the operation counts as done.</p>"
    said = f"<h3>{number}. {html.escape(failure['why'])}</h3><p>Recovery: {html.escape(failure['message'])}</p>"
    again = f"<details><summary>try this image again</summary><pre>--replay '{html.escape(failure['replay'])}'</pre></details>" if failure.get("replay") else ""
    return said + drawn + fix + again


#: Width of a box: a whole word of eight bytes at a whole address fits.
BOX = 360


def _order(lost: dict[str, Any], there: dict[str, Any], point: int) -> str:
    """Two stores in program order, and beside them what the power failure left."""

    def bytes_of(store: dict[str, Any]) -> str:
        return f"{store['size']} bytes at {store['address']:#x}: {store['value']:#x}"

    def box(y: int, text: str, note: str, kept: bool) -> str:
        line = "var(--good)" if kept else "var(--error)"
        dash = "" if kept else ' stroke-dasharray="6 4"'
        return (
            f'<rect x="2" y="{y}" width="{BOX}" height="46" rx="6" fill="none" stroke="{line}" stroke-width="2"{dash}/>'
            f'<text x="14" y="{y + 20}" fill="currentColor" font-size="13">{html.escape(text[-40:])}</text>'
            f'<text x="14" y="{y + 37}" fill="var(--soft)" font-size="12">{html.escape(note)}</text>'
        )

    # In the program's order; what was lost is older than what is there, or the two would need no order.
    first, second = (lost, there) if lost["event"] <= there["event"] else (there, lost)
    left = box(36, first["site"], bytes_of(first), True) + box(136, second["site"], bytes_of(second), True)
    states = [("lost: the bytes of before are there", False), ("there", True)]
    right = "".join(box(y, s["site"], *states[s is there]) for y, s in ((36, first), (136, second)))
    arrow = '<path d="M160 84 V132" stroke="currentColor" stroke-width="1.5" marker-end="url(#tip)"/><text x="170" y="112" fill="currentColor" font-size="12">needed: durable before</text>'
    gap = '<text x="14" y="112" fill="var(--error)" font-size="12">nothing in between makes the first durable</text>'
    head = '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="6" refY="4" orient="auto"><path d="M0 0 L8 4 L0 8 Z" fill="currentColor"/></marker></defs>'

    def half(title: str, drawn: str) -> str:
        # Two pictures: side by side where there is room, one below the other on a phone.
        above = f'<text x="2" y="20" fill="var(--soft)" font-size="13">{title}</text>'
        return f'<svg class="fits" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {BOX + 24} 196" width="{BOX + 24}" font-family="system-ui, sans-serif">{above}{drawn}</svg>'

    later = second["event"] - first["event"]
    said = f"The power fails after event {point:,}; the second store comes {later:,} event{'' if later == 1 else 's'} after the first."
    return page.drawn(half("in the program", head + left + arrow) + half("after the power failure", right + gap), said)
