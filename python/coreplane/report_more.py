"""Reports of campaigns and of the crash lab."""

import html
import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coreplane import campaign, figures, page, report_source, spent
from coreplane.page import quantity, section

#: The unit of what a campaign's figures show.
RATE = "throughput.operations_per_second"
#: The most figures of a campaign.
FIGURES = 4


def sweep(folder: Path, tell: Callable[[str], None] = lambda _: None) -> Path | None:
    """Writes the report of a campaign from the results in ``folder``: axes are what varies. Its summary is told too, a sentence at a time."""
    about = json.loads((folder / "campaign.json").read_text())
    runs = [json.loads(file.read_text()) for name in sorted(about["names"]) if (file := folder / f"{name}.json").exists()]
    if not runs:
        return None
    others = len({file.stem for file in folder.glob("*.parquet")} - set(about["names"]))
    # A recording without marks has none in any run: 0 would be a rate.
    counting = {r["workload"] for r in runs if r["stats"].get(RATE)}
    rows = []
    for r in runs:
        varied = {k: r["settings"].get(k) for k in about["vary"]}
        rate = r["stats"].get(RATE, 0) if r["workload"] in counting else None
        rows.append({"machine": r["machine"], "workload": r["workload"], "seed": r["seed"], "time_ns": r["time_ns"], "rate": rate, "shares": spent.shares(r), **varied})
    keys = campaign.axes(rows, about["vary"])
    looks = [of for key in keys[:FIGURES] for of in campaign.looks(rows, key, keys)]
    means = dict(sorted(campaign.means(rows, about["vary"]).items(), key=lambda g: [campaign.in_order(v) for v in g[0]]))
    drawn = [page.figure(folder, _called(f"by-{of.key.replace('.', '-')}", of.timed and of.apart), campaign.lines(of), campaign.under(of)) for of in looks]
    drawn = drawn or [page.figure(folder, _called("by-machine", n > 0), campaign.bars(part)) for n, part in enumerate(campaign.judged(rows))]
    seeds = len({r["seed"] for r in rows})
    again = shlex.join(["coreplane", "sweep", os.path.normpath(folder / about["campaign"]), "--out", f"{folder}.again"])
    told = {"provenance": {"version": about["version"], "command": again}}
    said = [f"{len(rows)} runs{f', means over {seeds} seeds' if seeds > 1 else ''}.", *(campaign.effect(of) for of in looks)]
    if others:
        said.append(f"{others} result{'s' if others > 1 else ''} in the folder {'are' if others > 1 else 'is'} of runs that the campaign had before: a query over all files has them, and this page has not.")
    for sentence in filter(None, said):
        tell(sentence)
    went = section("Where the time went", _moved_most(means, about["vary"]), _shares(means, about["vary"]))
    body = [page.summary(said), section("Figures", *drawn), section("Means", _means(means, about["vary"])), went, _failed(folder), page.provenance(told)]
    return page.write(folder, "Campaign", f"varies {', '.join(about['vary']) or 'machines and workloads'}", body)


def _called(name: str, is_second: bool) -> str:
    """The file of a figure; of times beside one of rates it is a second one."""
    return f"{name}-time" if is_second else name


def _means(means: dict[tuple[Any, ...], list[dict[str, Any]]], keys: list[str]) -> str:
    """Time and rate, a row for runs that differ in the seed alone; a dash where they count no operations, and no column where none does."""
    is_rated = not all(campaign.is_timed(own) for own in means.values())

    def cell(own: list[dict[str, Any]], measure: str, unit: str) -> Any:
        if any(r[measure] is None for r in own):
            return "-"
        value = campaign.mean(own, measure)
        return quantity(value, unit), value

    table = [[*group, len(own), cell(own, "time_ns", "ns"), *([cell(own, "rate", "1/s")] if is_rated else [])] for group, own in means.items()]
    return page.table(["machine", "workload", *keys, "runs", "time", *(["operations a second"] if is_rated else [])], table, text=2)


def curve(folder: Path) -> Path:
    """Writes the report of bandwidth-latency curves from the curve.json in ``folder``."""
    data = json.loads((folder / "curve.json").read_text())
    points = data["points"]
    said: list[str] = []
    highest: list[str] = []
    rows: list[list[Any]] = []
    for share in dict.fromkeys(p["read_percent"] for p in points):
        own = [p for p in points if p["read_percent"] == share]
        most = max(own, key=lambda p: p["gb_per_s"])
        highest.append(f"{share} % {most['gb_per_s']:.1f} GB/s")
        said.append(f"{share} % reads: {own[0]['load_to_use_ns']:.0f} ns without traffic, {most['load_to_use_ns']:.0f} ns at the highest bandwidth of {most['gb_per_s']:.1f} GB/s.")
        rows += [[f"{share} %", (f"{p['gb_per_s']:.2f} GB/s", p["gb_per_s"]), (f"{p['load_to_use_ns']:.1f} ns", p["load_to_use_ns"])] for p in own]
    title = f"Memory of {data['machine']} under load"
    caption = f"A dependent load's time by what the memory reads and writes. Highest bandwidth by share of reads: {', '.join(highest)}."
    drawn = page.figure(folder, "curve", figures.under_load(points, title), caption)
    body = [page.summary(said), section("Curves", drawn), section("Points", page.table(["reads", "bandwidth", "load to use"], rows)), page.provenance(data)]
    return page.write(folder, title, f"seed {data['seed']}; memory: {data['memory']}", body)


def holdup(folder: Path) -> Path:
    """Writes the report of what a power failure loses from the holdup.json in ``folder``."""
    data = json.loads((folder / "holdup.json").read_text())
    steps = data["steps"]
    title = f"Lines lost at a power failure of {data['machine']}"
    said = [f"Without stored energy a power failure loses {steps[0]['lines_lost']} lines at most, {steps[0]['lines_lost_mean']:.1f} on average; {steps[-1]['microjoules']:.1f} uJ save all of them."]
    half = next((s["microjoules"] for s in steps if 2 * s["lines_lost_mean"] <= steps[0]["lines_lost_mean"]), steps[-1]["microjoules"])
    caption = f"Lines that are lost, by the energy that is stored for draining them. On average {half:.1f} uJ save half of them, {steps[-1]['microjoules']:.1f} uJ the last one."
    drawn = page.figure(folder, "holdup", figures.held_up(steps, title), caption)
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
        bound = " (the bound; --points raises it)" if timed.get("bounded") else ""
        said.append(f"On the machine: {timed['points']:,} instants{bound}, recovery fails at {timed['failing_points']:,}.")
    if model.get("points"):
        left = "" if model["images"] >= (model["images_possible"] or 0) else f" of {model['images_possible']:,.4g} that are possible"
        points = f"{tried[0]:,} of {tried[1]:,}" if tried[0] < tried[1] else f"{tried[0]:,}"
        ended = f" The search ended with {len(model['failures'])} different failures: mend these first." if model.get("ended_with_failures") else ""
        said.append(f"In the model {data['model']}: {points} crash points, {model['images']:,} images{left}; recovery fails at {model['failing_points']:,} of the points.{ended}")
    sources = (data.get("recording") or {}).get("sources", [])
    found = "".join(_failure(n, f, sources, _recorded_at(data["workload"])) for n, f in enumerate(model.get("failures", []), 1))
    failed = timed.get("failures", [])
    at_times = [[(quantity(f["at_ns"], "ns"), f["at_ns"]), *([len(f["lost_pages"])] if _lost(failed) else []), f["message"]] for f in failed]
    head = ["the power fails at", *(["pages not saved"] if _lost(failed) else []), "what recovery says"]
    lint = [[entry["kind"], " ".join(filter(None, [entry["site"], entry.get("name", entry.get("file"))])), f"{entry['times']} {entry.get('counted', 'times')}"] for entry in data.get("persistence_lint", [])]
    body = [
        page.summary([*said, *(note[:1].upper() + note[1:] for note in data.get("notes", []))]),
        section("What was not ordered", found),
        section("On the machine", _not_saved(failed), page.table(head, at_times)),
        section("Without any crash", page.table(["what", "where", "how many"], lint, text=2)),
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


def _recorded_at(workload: str) -> float | None:
    """When a recording was made, seconds; none of other workloads, and where its file has gone."""
    file = Path(workload.removeprefix("trace:"))
    return file.stat().st_mtime if workload.startswith("trace:") and file.is_file() else None


def _failure(number: int, failure: dict[str, Any], sources: list[str], recorded_at: float | None) -> str:
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
    shown = report_source.excerpts([store["site"] for store in (lost, there) if store], sources, recorded_at)
    return said + drawn + fix + shown + again


#: Width of a box: a whole word of eight bytes at a whole address fits.
BOX = 360


def _order(lost: dict[str, Any], there: dict[str, Any], point: int) -> str:
    """Two stores in program order, and beside them what the power failure left."""

    def bytes_of(store: dict[str, Any]) -> str:
        # A change of a name or size has none; its place says what it is.
        return "" if not store["size"] else f"{store['size']} bytes at {store['address']:#x}: {store['value']:#x}"

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
