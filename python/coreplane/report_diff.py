"""The report of what differs between two results."""

import json
from pathlib import Path
from typing import Any

from coreplane import figures, latencies, page, report, sentences
from coreplane.page import quantity, section
from coreplane.spent import causes, cores, of_a_core


def diff(folder: Path) -> Path:
    """Writes the report of the diff.json in ``folder``."""
    data = json.loads((folder / "diff.json").read_text())
    several = len(data["pairs"]) > 1
    body = [page.summary([*(said(pair) for pair in data["pairs"]), *data["alone"]])]
    for pair in data["pairs"]:
        body += _of_pair(folder, pair, several=several)
    body += [_sides(data["pairs"]), page.provenance(data)]
    return page.write(folder, "Before and after", "; ".join(_title(pair[side]) for pair in data["pairs"][:1] for side in ("before", "after")), body)


def said(pair: dict[str, Any]) -> str:
    """A sentence on how much faster or slower the second is, and what most of that is."""
    before, after = pair["before"], pair["after"]
    times = f"{quantity(before['time_ns'], 'ns')} before, {quantity(after['time_ns'], 'ns')} after"
    speedup = pair["speedup"]
    if speedup is None:
        return f"{_title(after)}: no speedup, since no simulated time passed on one side or both ({times})."
    if 1 / sentences.SAME < speedup < sentences.SAME:
        return f"{_title(after)}: as fast as before ({times})."
    how = f"{speedup:.2f} times as fast as before" if speedup > 1 else f"{1 / speedup:.2f} times slower than before"
    first = f"{_title(after)}: {how} ({times})."
    moved = _moved(before, after)
    if not moved:
        return first
    cause, more = max(moved.items(), key=lambda c: abs(c[1]))
    return f"{first} What changed most: each core spends {quantity(abs(more), 'ns')} {'more' if more > 0 else 'less'} on {cause}."


def _moved(before: dict[str, Any], after: dict[str, Any]) -> dict[str, float]:
    """Of each cause, how much more of it a core has afterwards, ns."""
    old, new = causes(before), causes(after)
    if not old or not new:
        return {}
    return {cause: new.get(cause, 0.0) / cores(after) - old.get(cause, 0.0) / cores(before) for cause in {**old, **new}}


def _title(run: dict[str, Any]) -> str:
    return f"{run['workload']} on {run['machine']}, seed {run['seed']}"


def _of_pair(folder: Path, pair: dict[str, Any], *, several: bool) -> list[str]:
    """Where the time went on both sides, and what differs. Of several pairs each has a folder of its figures."""
    place = folder / pair["figures"] if several else folder
    place.mkdir(exist_ok=True)
    runs = [pair[side] | {"machine": side} for side in ("before", "after")]
    drawn = ""
    if all(causes(run) for run in runs):
        drawn = page.figure(place, "time", figures.causes_of(runs, causes, cores), sentences.split(of_a_core(runs)))
    parameters = [[entry["key"], _value(entry["before"]), _value(entry["after"])] for entry in pair["parameters"]]
    statistics = [_row(entry) for entry in pair["statistics"]]
    name = f": {pair['after']['machine']}" if several else ""
    return [
        section(f"Where the time went{name}", drawn, report.account(runs)),
        latencies.drawn(place, runs, name),
        section(f"Parameters that differ{name}", page.table(["parameter", "before", "after"], parameters, text=3)) if parameters else "",
        section(f"Statistics that differ{name}", page.table(["statistic", "before", "after", "change", "meaning"], statistics)),
    ]


def _sides(pairs: list[dict[str, Any]]) -> str:
    """Which version made each of the two results, and by which command; the same for all machines of a result."""
    told = [[side, (of := pairs[0][side].get("provenance") or {}).get("version", "-"), of.get("command", "-")] for side in ("before", "after")]
    return section("The two results", page.table(["side", "version", "command"], told, text=3))


def _value(value: Any) -> str:
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _row(entry: dict[str, Any]) -> list[Any]:
    sides = [report.shown(entry["name"], entry[side]) if entry[side] is not None else "-" for side in ("before", "after")]
    change = entry["change_percent"]
    return [entry["name"], *sides, (f"{change:+.1f} %", change) if change is not None else "-", report.meanings().get(entry["name"], ("", ""))[1]]
