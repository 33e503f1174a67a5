"""What a campaign's figures show of what varies: axes, panels, and the sentences under them."""

import math
from dataclasses import dataclass, replace
from typing import Any

import altair as alt
import polars as pl

from coreplane import figures

#: What differs by less is called the same.
SAME = 1.02
#: The most values of a second key that a figure has.
PANELS = 6

Row = dict[str, Any]


@dataclass
class Look:
    """A figure over a key: its runs, the key that panels or lines are of, those of its values that are shown, and at what the other keys stand.

    Its runs are judged by their rate, or where they count no operations (``timed``) by their time; ``apart`` where a campaign has both.
    """

    key: str
    rows: list[Row]
    second: str | None
    values: list[Any]
    all_values: int
    fixed: dict[str, Any]
    timed: bool = False
    apart: bool = False

    @property
    def machines(self) -> list[str]:
        return list(dict.fromkeys(r["machine"] for r in self.rows))

    @property
    def workloads(self) -> list[str]:
        return list(dict.fromkeys(r["workload"] for r in self.rows))

    def at(self, value: Any) -> "Look":
        """The same for one value of the second key."""
        return replace(self, rows=[r for r in self.rows if self.second is None or r[self.second] == value], second=None, values=[], all_values=1)

    def parts(self) -> list[tuple[str, "Look"]]:
        """A look for each value of the second key that is shown, and what it is called; one without a name where there is none."""
        return [(f"{self.second} {v}", self.at(v)) for v in self.values] if self.second else [("", self)]


def in_order(value: Any) -> tuple[int, float, str]:
    """By what values are sorted: numbers as such, and before words."""
    return (0, value, "") if isinstance(value, (int, float)) else (1, 0.0, str(value))


def axes(rows: list[Row], keys: list[str]) -> list[str]:
    """Keys that have several values, those with most first; each gets a figure."""
    counts = {k: len({r[k] for r in rows}) for k in keys}
    return [k for k in sorted(counts, key=lambda k: -counts[k]) if counts[k] > 1]


def judged(rows: list[Row]) -> list[list[Row]]:
    """Runs of workloads that count operations, and runs of those that do not, such as recordings without marks: a rate and a time are never in one figure."""
    timed = {r["workload"] for r in rows if r["rate"] is None}
    parts = [r for r in rows if r["workload"] not in timed], [r for r in rows if r["workload"] in timed]
    return [part for part in parts if part]


def is_timed(rows: list[Row]) -> bool:
    """Whether runs count no operations, so that their time is what there is."""
    return any(r["rate"] is None for r in rows)


def looks(rows: list[Row], key: str, keys: list[str]) -> list[Look]:
    """The figures over ``key``: one, and where some workloads count operations and others do not, one of each."""
    parts = judged(rows)
    return [replace(look(part, key, keys), apart=len(parts) > 1) for part in parts]


def look(rows: list[Row], key: str, keys: list[str]) -> Look:
    """The figure over ``key``: of the other keys the one with most values gets panels, and the rest stand at their first values."""
    others = [k for k in keys if k != key]
    second = others[0] if others else None
    fixed = {k: min((r[k] for r in rows), key=in_order) for k in others[1:]}
    own = [r for r in rows if all(r[k] == v for k, v in fixed.items())]
    values = sorted({r[second] for r in own}, key=in_order) if second else []
    return Look(key, own, second, _spread(values), len(values), fixed, is_timed(rows))


def _spread(values: list[Any]) -> list[Any]:
    """Some of many values, the first and the last among them."""
    if len(values) <= PANELS:
        return values
    return [values[round(n * (len(values) - 1) / (PANELS - 1))] for n in range(PANELS)]


def mean(rows: list[Row], key: str) -> float:
    return float(sum(r[key] for r in rows)) / len(rows)


def means(rows: list[Row], keys: list[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Runs that differ in nothing but the seed, together."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for r in rows:
        groups.setdefault((r["machine"], r["workload"], *(r[k] for k in keys)), []).append(r)
    return groups


def lines(of: Look) -> Any:
    """Operations a second, or time, over the key: a line a machine, a row a workload, a panel a value of the second key; of one machine a line a value."""
    if of.second and len(of.machines) > 1:
        return alt.vconcat(*(_panels(of, w) for w in of.workloads))
    by = of.second or "machine"
    own = [r for r in of.rows if not of.second or r[of.second] in of.values]
    names = [str(v) for v in of.values] or of.machines
    chart = _chart(of, [{**r, "line": str(r[by])} for r in own], names, of.second).properties(width=250, height=200)
    if len(of.workloads) == 1:
        return chart.properties(width=520, title=of.workloads[0])
    return chart.facet(alt.Facet("workload:N", title=None), columns=3).resolve_scale(y="independent")


def _panels(of: Look, workload: str) -> Any:
    """A row of panels with one vertical axis."""
    own = [{**r, "line": r["machine"], "panel": str(r[str(of.second)])} for r in of.rows if r["workload"] == workload and r[str(of.second)] in of.values]
    chart = _chart(of, own, of.machines, None).properties(width=max(110, 600 // len(of.values)), height=170)
    # One title for all panels: under each of them it would not fit.
    column = alt.Column("panel:N", title=f"{of.second}; across: {of.key}", sort=[str(v) for v in of.values])
    return chart.facet(column=column, title=workload)


def _chart(of: Look, rows: list[Row], names: list[str], legend: str | None) -> Any:
    """Points over the key with lines through them, and from the least to the greatest of the seeds."""
    every = [r[of.key] for r in of.rows]
    numeric = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in every)
    values = sorted(set(every)) if numeric else []
    measure, size, of_axis = _measure(of.rows, of.timed)
    kept = [{"x": r[of.key] if numeric else str(r[of.key]), "machine": r["line"], "workload": r["workload"], "value": r[measure] / size, **({"panel": r["panel"]} if "panel" in r else {})} for r in rows]
    # Steps of a factor are a logarithm's.
    scale = alt.Scale(type="log" if values and values[0] > 0 and values[-1] >= 8 * values[0] else "linear", nice=False, padding=12) if numeric else alt.Undefined
    axis = alt.Axis(labelAngle=0, values=values) if 0 < len(values) <= 8 else alt.Axis(labelAngle=0)
    title = None if "panel" in kept[0] else of.key
    colour = figures.colour(names, legend).legend(orient="top")
    base = alt.Chart(pl.DataFrame(kept)).encode(x=alt.X("x:Q" if numeric else "x:N", title=title, scale=scale, axis=axis), color=colour)
    through = base.mark_line(point=True).encode(y=alt.Y("mean(value):Q", title=of_axis))
    return through + base.mark_rule(opacity=0.5).encode(y="min(value):Q", y2="max(value):Q")


def _measure(rows: list[Row], timed: bool) -> tuple[str, float, str]:
    """What figures show of runs: which of their numbers, in what it is divided, and what its axis is called."""
    if not timed:
        return "rate", 1e6, "M operations/s"
    size, unit = figures.time_scale(max(r["time_ns"] for r in rows))
    return "time_ns", size, f"time, {unit}"


def bars(rows: list[Row]) -> Any:
    """A bar a machine and workload, of runs that are judged alike."""
    order = list(dict.fromkeys(r["machine"] for r in rows))
    timed = is_timed(rows)
    measure, size, of_axis = _measure(rows, timed)
    found = [{"workload": w, "machine": m, "value": mean(own, measure) / size} for (m, w), own in means(rows, []).items()]
    return figures.grouped(found, *(("time of the run", of_axis) if timed else ("operations", "million a second")), order=order)


def _geometric(values: list[float]) -> float:
    """Nothing where one of them is nothing."""
    return math.exp(sum(map(math.log, values)) / len(values)) if min(values) > 0 else 0.0


def _speed(of: Look, runs: list[Row]) -> float:
    """What runs that differ in the seed alone do a second: operations, or where they count none, themselves."""
    if not of.timed:
        return mean(runs, "rate")
    time = mean(runs, "time_ns")
    return 1e9 / time if time > 0 else 0.0


def _speeds(of: Look, machine: str) -> dict[Any, float]:
    """How fast a machine is by the key's value: the mean over seeds, and over workloads a geometric one, so that none decides alone."""
    found = {}
    for value in sorted({r[of.key] for r in of.rows}, key=in_order):
        at = [r for r in of.rows if r["machine"] == machine and r[of.key] == value]
        if not at:
            # Of a campaign that was changed a machine may have results at some values alone.
            continue
        found[value] = _geometric([_speed(of, [r for r in at if r["workload"] == w]) for w in dict.fromkeys(r["workload"] for r in at)])
    return found


def effect(of: Look) -> str:
    """A sentence on what a key does to each machine; where the second key changes that, by its values."""
    parts = []
    for machine in of.machines:
        found: dict[tuple[str, str], list[tuple[Any, float]]] = {}
        for value, part in zip(of.values or [None], of.parts(), strict=True):
            if best := _best(_speeds(part[1], machine)):
                found.setdefault(best[:2], []).append((value, best[2]))
        said = [_said(best, of, values, alone=len(found) == 1) for best, values in found.items()]
        if said:
            parts.append(f"{machine} {', '.join(said)}")
    return f"{of.key}{_over(of)}: {'; '.join(parts)}{_others(of, ', with ')}." if parts else ""


def _over(of: Look) -> str:
    """Over which workloads a sentence speaks, and by what, where that is not all of them by their rate."""
    workloads = of.workloads
    counted = f" that count {'no ' if of.timed else ''}operations" if of.apart else ""
    which = ("" if of.apart else "all ") + f"{len(workloads)} workloads"
    over = f" over {'the ' if of.apart else ''}{which}{counted} (geometric mean; each of them may go its own way)" if len(workloads) > 1 else f" in {workloads[0]}" if of.apart else ""
    return f"{over}, by the time of a run" if of.timed else over


def _said(best: tuple[str, str], of: Look, values: list[tuple[Any, float]], *, alone: bool) -> str:
    """What a key does to a machine at some values of the second key."""
    at, worst = best
    factors = sorted({f"{factor:.2f}" for _, factor in values}, key=float)
    times = f"{' to '.join(dict.fromkeys([factors[0], factors[-1]]))} times as"
    most = f"is fastest at {at}, {times} fast as at {worst}" if of.timed else f"does most at {at}, {times} much as at {worst}"
    text = most if worst else "does not depend on it (within 2 %)"
    return text if alone else f"{text} (with {str(of.second).split('.')[-1]} {' or '.join(str(v) for v, _ in values)})"


def _best(by: dict[Any, float]) -> tuple[str, str, float] | None:
    """Where a machine does most, where least, and how many times as much; empty words where it does the same, none where it does nothing."""
    if not by:
        return None
    (best, most), (worst, least) = max(by.items(), key=lambda x: x[1]), min(by.items(), key=lambda x: x[1])
    if least <= 0:
        return None
    if most / least <= SAME:
        return "", "", 1.0
    # Where more changes nothing any longer, the least of what is as good says more than the best.
    good = [v for v in by if by[v] * SAME >= most]
    at = str(best) if len(good) == 1 else f"{good[0]} to {good[-1]} (within 2 %)" if _together(list(by), good) else " and ".join(map(str, good))
    return at, str(worst), most / least


def _together(values: list[Any], some: list[Any]) -> bool:
    """Whether some of the values are neighbours."""
    first = values.index(some[0])
    return values[first : first + len(some)] == some


def _others(of: Look, before: str) -> str:
    """At what the keys stand that a figure does not vary."""
    return before + ", ".join(f"{k} at {v}" for k, v in of.fixed.items()) if of.fixed else ""


def under(of: Look) -> str:
    """Under a figure: what a point, a line and a panel are, what stands still, and what becomes of the distance between two machines."""
    seeds = len({r["seed"] for r in of.rows})
    said = [f"A point is the mean of {seeds} seeds, a line reaches from the least to the greatest." if seeds > 1 else "A point is a run."]
    if of.timed:
        said.append("Its time, the less the better: no operations are counted, as in a recording without marks.")
    if of.second:
        which = f"each of {len(of.values)} among the {of.all_values} values" if len(of.values) < of.all_values else "each value"
        said.append(f"There is a {'panel' if len(of.machines) > 1 else 'line'} for {which} of {of.second}.")
    if of.fixed:
        said.append(f"All of it{_others(of, ' with ')}; the table below has the other values.")
    said.append(_distance(of))
    return " ".join(s for s in said if s)


def _distance(of: Look) -> str:
    """Where two machines are nearest to each other and where furthest."""
    if len(of.machines) != 2:
        return ""
    one, other = of.machines
    ratios: dict[str, float] = {}
    for name, part in of.parts():
        speeds = _speeds(part, one), _speeds(part, other)
        ratios |= {f"{v} ({name})" if name else f"{v}": speeds[1][v] / speeds[0][v] for v in speeds[0] if speeds[0][v] > 0 and speeds[1].get(v, 0) > 0}
    if len(ratios) < 2:
        return ""
    low, high = min(ratios, key=lambda at: ratios[at]), max(ratios, key=lambda at: ratios[at])
    does, much = ("is", "fast") if of.timed else ("does", "much")
    return f"{other} {does} {ratios[low]:.2f} times as {much} as {one} at {low}, {ratios[high]:.2f} times at {high}."
