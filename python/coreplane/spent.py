"""What the cores' time was spent on: all of it, from the JSON of a run."""

from typing import Any

from coreplane import sentences


def cores(run: dict[str, Any]) -> float:
    """The cores whose time is counted: those with a program, or all where the kernel moves programs."""
    if "series" in run:
        return float(run["configuration"].get("os.cores", 1))
    return float(max(1, round(sum(run["stats"].get(s, 0) for s in sentences.CAUSES) / max(run["time_ns"], 1e-9))))


def causes(run: dict[str, Any]) -> dict[str, float]:
    """Nanoseconds of all cores by cause; all of their time, or nothing where it was not counted."""
    stats = run["stats"]
    if "series" in run:
        # Threads of the kernel take no core.
        user, system = stats.get("os.user_time", 0), stats.get("os.system_time", 0) - stats.get("os.kernel_threads_time", 0)
        rest = max(0.0, run["time_ns"] * cores(run) - user - system)
        return {"programs": user, "kernel": system, "idle or I/O": rest}
    return {name: stats[s] for s, name in sentences.CAUSES.items() if stats.get(s)} if "time.compute" in stats else {}


def shares(run: dict[str, Any]) -> dict[str, float]:
    """What each cause is of the cores' time; together they are all of it."""
    own = causes(run)
    total = sum(own.values()) or 1.0
    return {c: v / total for c, v in own.items()}


def of_a_core(runs: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """By machine, nanoseconds of one of its cores by cause."""
    return {r["machine"]: {c: v / cores(r) for c, v in causes(r).items()} for r in runs}


def by_recording(runs: list[dict[str, Any]]) -> list[dict[str, dict[str, float]]]:
    """The same of each of several recordings; nothing where there is one."""
    told = [r.get("band", {}).get("recordings", {}).get("causes", {}) for r in runs]
    count = min((len(values) for t in told for values in t.values()), default=0)
    return [{r["machine"]: {name: t.get(s, [0.0] * count)[n] / cores(r) for s, name in sentences.CAUSES.items()} for r, t in zip(runs, told, strict=True)} for n in range(count)]
