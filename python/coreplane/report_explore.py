"""The report of an exploration: what was visited, and the shortest way to a violation as a picture of who acts when."""

import json
import re
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from coreplane import page
from coreplane.page import section

#: Who acts, as steps name them.
_PARTY = re.compile(r"\b(?:core|host|controller|device|unit|path) \d+|\bthe (?:directory|controller|device|program|caches?|driver|kernel|memory|agent|link|window)\b|\bin the air\b|\bits core\b")
#: What steps call some of them in other words.
_ALSO = {"in the air": "network", "its core": "caches"}
#: Verbs of what is received: it comes from the other one whom the step names.
_RECEIVES = re.compile(r"\b(?:takes|gets|hears of|learns)\b")


def explore(folder: Path) -> Path | None:
    """Writes the report of the explore.json in ``folder``; none where nothing was explored."""
    if not (folder / "explore.json").exists():
        return None
    data = json.loads((folder / "explore.json").read_text())
    violation = data.get("violation")
    mistake = f"; with a mistake put in, {data['mutant']}: {data.get('mutant_meaning') or ''}" if data.get("mutant") else ""
    body = [page.summary(_said(data))]
    if violation and violation["trace"]:
        trace = violation["trace"]
        caption = f"The {len(trace)} steps in their order, from above. A step stands under who takes it; an arrow comes from whom it hears."
        body.append(section("The shortest way there", page.figure(folder, "trace", drawn(trace, violation["message"]), caption)))
        if violation.get("choices"):
            again = f"coreplane explore {data['protocol']}{''.join(f' --{name} {value}' for name, value in data['bounds'])}"
            again += f" --mutant {data['mutant']}" if data.get("mutant") else ""
            body.append(section("The same way again", f"<p><code>{again} --replay {','.join(map(str, violation['choices']))}</code></p>"))
    bounds = [[bound["name"], bound["value"], bound["meaning"]] for bound in data.get("within", [])]
    body += [section("Within these bounds", page.table(["bound", "value", "meaning"], bounds, text=3)), page.provenance(data)]
    return page.write(folder, f"Exploration of {data['protocol']}", f"{data['meaning']}{mistake}", body)


def _said(data: dict[str, Any]) -> list[str]:
    visited = f"{data['states']:,} states and {data['steps']:,} steps, at most {data['depth']} in a row" if "states" in data else "one way, step by step"
    if data.get("violation"):
        return [f"Violation: {data['violation']['message']}.", f"Visited until then: {visited}."]
    if "states" not in data:
        return ["No violation where the way ends.", f"Visited: {visited}."]
    if data["complete"]:
        return ["No violation: every state within these bounds was visited, with the power failing at each.", f"Visited: {visited}."]
    return ["No violation in the states that were visited; more are left (--states).", f"Visited: {visited}."]


def parties(step: str) -> list[str]:
    """Who takes part in a step, the one that takes it first."""
    found = list(dict.fromkeys(name.removeprefix("the ") for name in _PARTY.findall(step)))
    return [_ALSO.get(name, name) for name in found] or ["elsewhere"]


def drawn(trace: list[str], message: str = "") -> alt.LayerChart | alt.FacetChart:
    """Lanes of parties, steps downwards; where the message is of a power failure, that below them."""
    taking = [parties(step) for step in trace]
    lanes = sorted({name for each in taking for name in each[: 1 if len(each) == 1 else 2]}, key=lambda name: (_kind(name), name))
    place = {name: n for n, name in enumerate(lanes)}
    rows, arrows = [], []
    for number, (step, each) in enumerate(zip(trace, taking, strict=True), 1):
        here = place[each[0]]
        rows.append({"step": number, "lane": here, "text": f"{number}  {step}"})
        if len(each) > 1 and _RECEIVES.search(step):
            comes_from = place[each[1]]
            side = 1 if comes_from > here else -1
            arrows.append({"step": number, "from": comes_from, "head": here + 0.12 * side, "angle": 180 + 90 * side})
    # Lanes are numbers, so that arrows end beside them; their names are put in their place.
    names = "[" + ",".join(f"'{name}'" for name in lanes) + "]"
    axis = alt.Axis(orient="top", values=list(place.values()), labelExpr=f"{names}[datum.value]", labelAngle=0 if len(lanes) < 7 else -35, grid=True, tickCount=len(lanes))
    scale = alt.Scale(domain=[-0.5, len(lanes) - 0.5], nice=False)
    x = alt.X("lane:Q", title=None, scale=scale, axis=axis)
    y = alt.Y("step:O", title=None, axis=None)
    width = 90 * len(lanes)
    points = alt.Chart(pl.DataFrame(rows)).mark_point(filled=True, size=90, opacity=1, color="#3182bd").encode(x=x, y=y)
    texts = alt.Chart(pl.DataFrame(rows)).mark_text(align="left", fontSize=11).encode(x=alt.value(width + 12), y=y, text="text:N")
    layers: list[Any] = []
    if arrows:
        heard = alt.Chart(pl.DataFrame(arrows))
        layers.append(heard.mark_rule(strokeWidth=1.5, color="#7f7f7f").encode(x=alt.X("from:Q", scale=scale, axis=axis), x2="head:Q", y=y))
        head = heard.mark_point(shape="triangle-up", filled=True, size=60, opacity=1, color="#7f7f7f")
        layers.append(head.encode(x=alt.X("head:Q", scale=scale, axis=axis), y=y, angle=alt.Angle("angle:Q", scale=None)))
    if message.startswith("a power failure "):
        failed = alt.Chart(pl.DataFrame([{"step": len(trace) + 1, "text": f"the power fails: this {message.removeprefix('a power failure ')}"}]))
        layers.append(failed.mark_rule(strokeWidth=2, strokeDash=[6, 4], color="#cb181d").encode(x=alt.value(0), x2=alt.value(width), y=y))
        layers.append(failed.mark_text(align="left", fontSize=11, color="#cb181d").encode(x=alt.value(width + 12), y=y, text="text:N"))
    return alt.layer(*layers, points, texts).properties(width=width, height=alt.Step(22))


def _kind(name: str) -> int:
    """Programs to the left, memory to the right."""
    order = ("program", "core", "host", "caches", "cache", "directory", "driver", "kernel", "network", "link", "path", "controller", "device", "unit", "memory", "window", "elsewhere")
    return next((n for n, word in enumerate(order) if name.startswith(word)), len(order))
