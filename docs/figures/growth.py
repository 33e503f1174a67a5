"""How the simulator's memory grows: ``python docs/figures/growth.py`` measures it and draws growth.svg, with the numbers in growth.json.

What is measured is the peak of the resident set of ``coreplane run``, Python included.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import vl_convert as vlc
from coreplane import page
from validation import COREPLANE, HERE, ask, standalone

MIB = 1 << 20
Points = list[tuple[float, float]]


#: A process is charged with what the one that made it held: a small one makes it.
SMALL = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(usage.ru_maxrss)
sys.exit(status != 0)
"""


def peak(*args: object) -> float:
    """MiB that a run holds at most."""
    command = [sys.executable, "-S", "-c", SMALL, COREPLANE, "run", *map(str, args), "--quiet"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024


def settings(**values: object) -> list[str]:
    return [word for key, value in values.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]


def cores() -> Points:
    own = lambda n: settings(cpu__cores=n, workload__threads=n, workload__operations=2000)  # noqa: E731
    return [(n, peak("asap-rp", "mix", *own(n))) for n in (1, 2, 4, 8, 16, 32, 64)]


def written() -> Points:
    sizes = [MIB << n for n in range(0, 7)]
    return [(3 * size / MIB, peak("intel", "stream", *settings(workload__array_bytes=size, workload__operations=1))) for size in sizes]


def sparse() -> Points:
    """Lines that lie evenly in 64 GiB, read and written in turns."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for lines in (1000, 10_000, 100_000, 1_000_000):
            apart = (64 << 30) // lines // 64 * 64
            Path(f"{folder}/a").write_text("".join(f"{n * apart:#x} {'RW'[n % 2]}\n" for n in range(lines)))
            subprocess.run([COREPLANE, "trace", "convert", f"{folder}/a", f"{folder}/a.cpt", "--from", "ramulator", "--quiet"], check=True, stderr=subprocess.DEVNULL)
            found.append((lines / 1000, peak("intel", f"trace:{folder}/a.cpt", "--no-bands", *settings(workload__pm="all"))))
    return found


def length() -> Points:
    return [(n / 1e6, peak("asap-rp", "mix", *settings(workload__operations=n))) for n in (1000, 250_000, 500_000, 1_000_000)]


def visited() -> Points:
    """Each page that a program visits faults once."""
    found = []
    for n in (1000, 1_000_000, 4_000_000, 10_000_000):
        own = settings(workload__operations=n)
        found.append((ask("run", "amf", "redis-mem", *own)["stats"]["os.minor_faults"] / 1e6, peak("amf", "redis-mem", *own)))
    return found


#: Each panel's name, what is across, and how it is measured.
PANELS = {
    "cores": ("cores", cores),
    "bytes that a program writes": ("MiB", written),
    "lines of 64 GiB that it touches": ("thousand lines", sparse),
    "length of a run": ("million operations", length),
    "pages, at page fidelity": ("million pages", visited),
}


def slope(points: Points) -> float:
    """MiB for each step to the right, by least squares."""
    x0, y0 = (sum(column) / len(points) for column in zip(*points, strict=True))
    return sum((x - x0) * (y - y0) for x, y in points) / sum((x - x0) ** 2 for x, _ in points)


def panel(name: str, across: str, points: Points) -> Any:
    rows = pl.DataFrame([{"x": x, "y": y} for x, y in points])
    x, y = alt.X("x:Q", title=across), alt.Y("y:Q", title="MiB", scale=alt.Scale(zero=True))
    return alt.Chart(rows, title=name).mark_line(point=True).encode(x=x, y=y).properties(width=210, height=150)


def main() -> None:
    found = {name: measure() for name, (_, measure) in PANELS.items()}
    rows = {name: {"across": PANELS[name][0], "mib": points, "mib_per_step": round(slope(points), 4)} for name, points in found.items()}
    (HERE / "growth.json").write_text(json.dumps(rows, indent=1) + "\n")
    chart = alt.concat(*(panel(name, PANELS[name][0], points) for name, points in found.items()), columns=3)
    (HERE / "growth.svg").write_text(standalone(vlc.vegalite_to_svg(page.configured(chart, left=40).to_json())))
    for name, row in rows.items():
        print(f"{name}: {row['mib_per_step']} MiB a step; {[f'{x:g}: {y:.0f}' for x, y in row['mib']]}")


if __name__ == "__main__":
    main()
