"""What stands under figures: sentences that are made of the numbers that the figure shows."""

from pathlib import PurePath
from typing import Any

from coreplane.page import plain, quantity

#: Where the cores' time goes: statistic, name. Together they are all of it.
CAUSES = {
    "time.compute": "compute",
    "time.memory": "memory",
    "time.fences": "fences",
    "time.buffer_full": "buffer full",
    "time.locks": "locks",
    "time.devices": "devices",
    "time.kernel": "kernel",
    "time.idle": "idle",
}


def cause(word: str) -> str:
    """A cause's name by its statistic's last word."""
    return CAUSES[f"time.{word}"]


def titled(workload: str) -> str:
    """A workload as a heading: of several recordings the first one's name, and how many there are besides."""
    names = workload.removeprefix("trace:").split(",")
    if not workload.startswith("trace:") or len(names) == 1:
        return workload
    return f"{PurePath(names[0]).name} and {len(names) - 1} more recording{'s' if len(names) > 2 else ''}"


def listed(words: list[str]) -> str:
    """Several words as a person says them."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


#: Speeds that differ by less are called the same.
SAME = 1.005


def ratios(one: dict[str, Any], other: dict[str, Any]) -> tuple[float, float]:
    """How many times as fast as the other a machine is, at least and at most: over what was run of both."""
    found = [one["speedup"] / other["speedup"]]
    both = [r.get("band", {}) for r in (one, other)]
    for run in ("recordings", "cpu.ipc"):
        times = [band.get(run, {}).get("time_ns", []) for band in both]
        found += [theirs / own for own, theirs in zip(*times, strict=True)]
    if len(found) == 1:
        # Of open parameters only each one's own ends are known.
        ends = [band.get("speedup", [r["speedup"]] * 2) for band, r in zip(both, (one, other), strict=True)]
        found = [ends[0][0] / ends[1][1], ends[0][1] / ends[1][0]]
    return min(found), max(found)


def is_faster(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether it is faster in everything that was run."""
    return ratios(one, other)[0] > SAME


def speeds(data: dict[str, Any]) -> str:
    """Under the speedups. What lies within the bands is not said to be so; where one schedule of many is known, that is said."""
    one = any(remark.startswith("one schedule of") for remark in data.get("remarks", []))
    return _ranked(data) + (" That is of the one schedule that was recorded; another may have it otherwise." if one else "")


def _ranked(data: dict[str, Any]) -> str:
    """Which machine is fastest and which slowest, where that is sure."""
    machines, base = [r for r in data["machines"] if r["speedup"] is not None], data["baseline"]
    ranked = sorted(machines, key=lambda r: -r["speedup"])
    best, worst = ranked[0], ranked[-1]
    if not is_faster(best, worst):
        return "No machine is surely faster than another." if "band" in best else "No machine is faster than another by half a percent."
    at_top = [r["machine"] for r in ranked if not is_faster(best, r)]
    at_bottom = [r["machine"] for r in ranked if not is_faster(r, worst)]
    if len(at_top) > 1:
        first = f"{listed(at_top)} are fastest, up to {best['speedup']:.2f} times as fast as {base}, and none of them surely faster than the others"
    else:
        first = f"None is faster than {base}" if best["machine"] == base else f"{best['machine']} is fastest, {best['speedup']:.2f}{_span(best)} times as fast as {base}"
    if len(at_bottom) > 1:
        return f"{first}; {listed(at_bottom)} are slowest, and none of them surely slower than the others."
    if worst["machine"] == base:
        return f"{first}; {base} is slowest of the {len(ranked)}." if len(at_top) > 1 else f"{first}, which is slowest of the {len(ranked)}."
    whose = "its" if best["machine"] == base else f"{base}'s"
    return f"{first}; {worst['machine']} is slowest, at {worst['speedup']:.2f}{_span(worst)} of {whose} speed."


def _span(machine: dict[str, Any]) -> str:
    """The ends of its speedup."""
    ends = machine.get("band", {}).get("speedup")
    return f" ({ends[0]:.2f} to {ends[1]:.2f})" if ends else ""


def split(times: dict[str, dict[str, float]], runs: list[dict[str, dict[str, float]]] | None = None) -> str:
    """Under where a core's time went: for each machine nanoseconds of a core by cause; of several recordings the means, and ``runs`` the same of each."""
    if len(times) == 1:
        (own,) = times.values()
        total = sum(own.values()) or 1.0
        parts = ", ".join(f"{v / total:.1%} {c}" for c, v in sorted(own.items(), key=lambda x: -x[1]) if v)
        return f"A core's {quantity(total, 'ns')}: {parts}; together 100 %."
    causes = {c for own in times.values() for c in own}
    apart = {c: max(own.get(c, 0.0) for own in times.values()) - min(own.get(c, 0.0) for own in times.values()) for c in causes}
    most = max(sorted(apart), key=lambda c: apart[c])
    if apart[most] <= 0.01 * max(sum(own.values()) for own in times.values()):
        return "A bar is all of a core's time. Bars are alike: no cause differs by more than 1 % of the longest run."
    by = sorted(times, key=lambda m: times[m].get(most, 0.0))
    if any(run[by[0]].get(most, 0.0) >= run[by[-1]].get(most, 0.0) for run in runs or []):
        return f"A bar is all of a core's time, the mean of {len(runs or [])} recordings. No cause differs between machines in all of them."
    means = f", the mean of {len(runs)} recordings" if runs else ""
    least, highest = (f"{quantity(times[m].get(most, 0.0), 'ns')} on {m}" for m in (by[0], by[-1]))
    same = [c for c in sorted(causes) if apart[c] <= 0.01 * max(sum(own.values()) for own in times.values())]
    rest = f" {listed(same).capitalize()} {'is' if len(same) == 1 else 'are'} within 1 % of the longest run on all." if same and len(same) < len(causes) else ""
    return f"A bar is all of a core's time{means}. Bars differ most in {most}: {least}, {highest}.{rest}"


def over_time(series: dict[str, list[float]]) -> str:
    """Under a machine's memory over time, at page fidelity."""
    seconds, free = series["seconds"], series["free_gib"]
    lowest = min(range(len(free)), key=free.__getitem__)
    below = sum(f < low for f, low in zip(free, series["low_gib"], strict=True))
    parts = [f"Free memory is least at {plain(seconds[lowest])} s, {plain(free[lowest])} GiB"]
    parts.append(f"below the low watermark in {below} of {len(free)} samples" if below else "never below the low watermark")
    for name, text in (("pm_integrated_gib", "of persistent memory are integrated at most"), ("swap_gib", "lie on the swap device at most")):
        if max(series[name]) > 0:
            parts.append(f"{plain(max(series[name]))} GiB {text}")
    return "; ".join(parts) + "." + returned([series])


def returned(series: list[dict[str, list[float]]]) -> str:
    """What rises in free memory at the last look, if it does: programs that end give back theirs."""
    back = [s["free_gib"][-1] - s["free_gib"][-2] for s in series if len(s["free_gib"]) > 1]
    if not back or min(back) < 0.01 * max(max(s["free_gib"]) for s in series):
        return ""
    return f" It rises at the end, when programs end and give back theirs: {listed([f'{plain(round(b, 2))} GiB' for b in back])}."


def most_of_each(runs: list[dict[str, Any]], name: str, least: bool = False) -> str:
    """Under a curve of each machine over time: its highest, or lowest, point."""
    pick = min if least else max
    parts = (f"{r['machine']} {plain(pick(r['series'][name]))} GiB" for r in runs)
    said = f"{'Least' if least else 'Most'}: {', '.join(parts)}."
    return said + (returned([r["series"] for r in runs]) if name == "free_gib" else "")


def _peaks(rows: list[dict[str, Any]]) -> str:
    """Each series' highest point over time."""
    highest: dict[str, tuple[float, float]] = {}
    for r in rows:
        name, point = str(r["machine"]), (float(r["value"]), float(r["x"]))
        if name not in highest or point[0] > highest[name][0]:
            highest[name] = point
    parts = [f"{name} {plain(round(value, 4))} at {plain(round(at, 1))} s" if value else f"{name} 0 throughout" for name, (value, at) in highest.items()]
    return f"Highest: {', '.join(parts)}." if parts else ""


#: So many times as high as all others a group of bars has to be, that the axis ends below it: it would flatten them.
FLATTENS = 3.0


def axis_end(rows: list[dict[str, Any]]) -> float | None:
    """Where the axis of grouped bars ends, if one group would flatten the others."""
    highest: dict[str, float] = {}
    for r in rows:
        highest[r["workload"]] = max(highest.get(r["workload"], 0.0), r["value"] or 0.0)
    ranked = sorted(highest.values(), reverse=True)
    return 1.25 * ranked[1] if len(ranked) > 3 and ranked[0] > FLATTENS * ranked[1] > 0 else None


#: The bar of an evaluation's figure that is the mean of the others.
AVERAGE = "average"


def of_bars(figure: dict[str, Any]) -> str:
    """Under an evaluation's figure: the mean of each series, and where the first and the best are widest apart; over time, the peaks."""
    rows = [r for r in figure["rows"] if r.get("value") is not None]
    if figure["kind"] == "time":
        return _peaks(rows)
    by: dict[str, dict[str, float]] = {}
    for r in rows:
        at = r.get("workload", r.get("x"))
        by.setdefault(str(r["machine"]), {})[plain(at) if isinstance(at, (int, float)) else str(at)] = float(r["value"])
    if not 1 < len(by) < 8:
        return ""
    # The bar of the mean is no workload.
    shared = [w for w in next(iter(by.values())) if w != AVERAGE and all(w in own for own in by.values())]
    if not shared:
        return ""
    means = {m: sum(own[w] for w in shared) / len(shared) for m, own in by.items()}
    text = "Here" if len(shared) == 1 else f"Means of {len(shared)} here"
    text += ": " + ", ".join(f"{m} {plain(round(v, 4))}" for m, v in means.items()) + "."
    if figure["kind"] == "grouped" and (end := axis_end(rows)):
        over = [r for r in rows if float(r["value"]) > end]
        text += f" The axis ends below {listed(list(dict.fromkeys(str(r['workload']) for r in over)))}: {', '.join(plain(round(float(r['value']), 2)) for r in over)}."
    ends = {w: (min(own[w] for own in by.values()), max(own[w] for own in by.values())) for w in shared}
    # Nothing beside something is further apart than any number of times.
    nothing = [w for w, (low, high) in ends.items() if low == 0 < high]
    spread = {w: high / low for w, (low, high) in ends.items() if low > 0}
    if nothing:
        where = next(iter(nothing)) if len(nothing) == 1 else f"{len(nothing)} of them"
        none = listed([m for m, own in by.items() if any(own[w] == 0 for w in nothing)])
        text += f" {none} {'have' if ' and ' in none else 'has'} none at {where}, where others have some."
    if len(spread) > 1:
        widest = max(spread, key=lambda w: spread[w])
        text += f" They are widest apart, {spread[widest]:.2f} times, at {widest}."
    return text
