"""The report of a search in a program of several hosts: what was found, the smallest schedules as pictures, what flushes cost."""

import html
import json
import re
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from coreplane import page, report_source
from coreplane.page import quantity, section

#: Colours of a step: the two sides of a finding, and what both did besides.
SIDES = {"where it shows": "#b35900", "the other side": "#0b7285", "between": "#9aa0a6"}


def shared(folder: Path) -> Path | None:
    """Writes the report of the shared.json in ``folder``; none where nothing was searched."""
    if not (folder / "shared.json").exists():
        return None
    data = json.loads((folder / "shared.json").read_text())
    found = [_finding(folder, n, finding, data) for n, finding in enumerate(data["findings"], 1)]
    remarks = "".join(f"<p>{html.escape(remark)}</p>" for remark in data["remarks"])
    body = [page.summary(_said(data)), section("Findings", *found), section("What flushes cost", _costs(data)), section("Remarks", remarks), page.provenance(data)]
    seed = "" if data["is_recorded"] else f", seed {data['seed']}"
    return page.write(folder, f"{data['workload']} on hosts that share memory", f"{data['machine']}, {data['hosts']} hosts{seed}", body)


def _said(data: dict[str, Any]) -> list[str]:
    count = len(data["findings"])
    where = f"a recording of {data['references']:,} accesses" if data["is_recorded"] else f"{data['schedules']:,} schedules ({data['references']:,} accesses)"
    said = [f"{'Nothing' if not count else '1 mistake' if count == 1 else f'{count} mistakes'} found in {where}."]
    for number, finding in enumerate(data["findings"], 1):
        sides = [side for side in (finding["here"], finding["there"]) if side]
        said.append(f"{number}. {finding['kind']}: {' and '.join(_at(side) for side in sides)}.")
    return said


def _finding(folder: Path, number: int, finding: dict[str, Any], data: dict[str, Any]) -> str:
    head = f"<h3>{number}. {html.escape(finding['kind'])}</h3><p>{html.escape(finding['message'])}.</p>"
    runs = "once" if finding["runs"] == 1 else f"{finding['runs']:,} times"
    if data["is_recorded"]:
        how = f"Seen {runs}. The smallest schedule is {finding['operations']} steps of the recording, in its order; addresses are offsets in the file."
    else:
        happens = "; ".join(finding["schedule"]) or "nothing happens besides"
        how = f"Seen {runs}. The smallest schedule has workload.operations={finding['operations']}, and {happens}."
    steps = finding["steps"]
    drawn = page.figure(folder, f"schedule-{number}", picture(finding), f"{how} Time runs downwards; a step stands under its host.") if steps else f"<p>{html.escape(how)}</p>"
    sites = [f"{Path(side['file']).name}:{side['line']}" for side in (finding["here"], finding["there"]) if side and side["line"]]
    return head + drawn + report_source.excerpts(list(dict.fromkeys(sites)), data.get("sources") or [])


def picture(finding: dict[str, Any]) -> alt.LayerChart | alt.FacetChart:
    """A lane for each of the hosts, a step of theirs below the other."""
    hosts = sorted({step["host"] for step in finding["steps"]})
    steps = finding["steps"]
    here, there, between = SIDES
    sides = {_which(finding["there"], steps): there, _which(finding["here"], steps): here}
    rows = [{"row": n, "host": f"host {step['host']}", "text": _step(step), "side": sides.get(n, between)} for n, step in enumerate(steps)]
    table = pl.DataFrame(rows)
    width = 80 * len(hosts)
    axis = alt.Axis(orient="top", labelAngle=0, grid=True, domain=False, ticks=False)
    x = alt.X("host:N", title=None, sort=[f"host {host}" for host in hosts], axis=axis)
    y = alt.Y("row:O", title=None, axis=None)
    shown = [side for side in SIDES if side in {row["side"] for row in rows}]
    colour = alt.Color("side:N", title=None, scale=alt.Scale(domain=shown, range=[SIDES[side] for side in shown]), legend=alt.Legend(orient="top"))
    points = alt.Chart(table).mark_point(filled=True, size=90, opacity=1).encode(x=x, y=y, color=colour)
    texts = alt.Chart(table).mark_text(align="left", fontSize=11).encode(x=alt.value(width + 12), y=y, text="text:N")
    return alt.layer(points, texts).properties(width=width, height=alt.Step(22))


def _step(step: dict[str, Any]) -> str:
    address = "" if step["address"] is None else f" {step['address']:#x}"
    value = "" if step["value"] is None else f" = {step['value']:#x}"
    return f"{quantity(step['time_ns'], 'ns')}, {_place(step)}: {step['what']}{address}{value}"


def _place(side: dict[str, Any]) -> str:
    path = re.split("/", side["file"])
    return f"{'/'.join(path[-2:])}:{side['line']}" if side["line"] else path[-1]


def _at(side: dict[str, Any]) -> str:
    return f"{_place(side)} on host {side['host']}"


def _which(side: dict[str, Any] | None, steps: list[dict[str, Any]]) -> int | None:
    """The step that a side of a finding is: of several at one place of a program the one at its time, where that is told."""
    own = [n for n, step in enumerate(steps) if side and all(side[key] == step[key] for key in ("host", "file", "line"))]
    at_its_time = [n for n in own if side and steps[n]["time_ns"] == side["time_ns"]]
    found = at_its_time or own
    return found[-1] if found else None


def _costs(data: dict[str, Any]) -> str:
    """What flushes, fences and fetches took in the run: what there is more of these in a program that was mended is the price of that."""
    run = "the recording" if data["is_recorded"] else "the run in which nothing happens"
    each = [(name, data[name], data[f"{one}_ns"]) for name, one in (("flushes", "flush"), ("fences", "fence"), ("fetches", "fetch"))]
    rows: list[list[Any]] = [[name, count, (quantity(time, "ns"), time), (quantity(time / count, "ns"), time / count)] for name, count, time in each if count]
    said = f"{run.capitalize()} took {quantity(data['time_ns'], 'ns')}; times below are summed over hosts. A fence that has nothing to wait for takes next to no time, and counts. What mending costs is the difference to the same table of the mended program."
    return f"<p>{html.escape(said)}</p>" + page.table(["what", "how many", "time", "time of one"], rows)
