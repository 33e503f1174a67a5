"""The figures that say how far the models can be trusted: ``python docs/figures/validation.py [--reproduced FOLDER] [NAME ...]``.

Each is measured with the command line and written beside this file as NAME-validation.svg, with the numbers in validation.json.
Figures of papers are drawn of what ``coreplane reproduce PAPER --out FOLDER/PAPER`` has left.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import vl_convert as vlc

from coreplane import bands, figures, page

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
COREPLANE = str(Path(sys.executable).parent / "coreplane")
STYLE = "<style>svg{color:#333} @media (prefers-color-scheme: dark){svg{color:#dee2e6}}</style>"
Rows = list[dict[str, Any]]


def ask(*args: object) -> Any:
    """What a command says, in JSON."""
    done = subprocess.run([COREPLANE, *map(str, args), "--quiet", "--format", "json"], capture_output=True, text=True, cwd=ROOT)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{args}: {done.stderr}")
    return json.loads(done.stdout)


def run(machine: str, workload: str, **settings: object) -> dict[str, Any]:
    """A run; of keys the dot is written as two underscores."""
    sets = [word for key, value in settings.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]
    return ask("run", machine, workload, *sets)


def pair(label: str, expected: float, ours: float, names: tuple[str, str]) -> Rows:
    return [{"workload": label, "machine": name, "value": value} for name, value in zip(names, (expected, ours), strict=True)]


def two_bars(rows: Rows, axis: str, title: str) -> Any:
    """What should come out beside what does."""
    return figures.grouped(rows, title, axis, order=list(dict.fromkeys(r["machine"] for r in rows)))


def over_errors(above: Any, errors: Any, rows: Rows) -> Any:
    """Curves, and below them how far each is off, in the colour that it has above: ``rows`` are those drawn above."""
    named = figures.colour(list(dict.fromkeys(r["machine"] for r in rows)))
    return alt.vconcat(above, errors.encode(color=named).properties(title="", height=120))


def core() -> tuple[Any, Rows]:
    """A recorded program follows pointers through ever more lines: each level answers in the time that the machine says."""
    names, rows, hops = ("as the parameters say", "measured"), [], 40_000
    sizes = {"first level, 4 KiB": 64, "second level, 512 KiB": 8192, "shared, 4 MiB": 65_536, "memory, 32 MiB": 524_288}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([COREPLANE, "cc", "-O1", HERE / "chase.c", "-o", f"{folder}/chase"], check=True)
        for label, lines in sizes.items():
            # The chain is made first; so much longer does the longer chase take.
            times = []
            for length in (1000, 1000 + hops):
                chase = [f"{folder}/chase", f"{folder}/file", str(lines), str(length)]
                subprocess.run([COREPLANE, "record", "--quiet", "--out", f"{folder}/chase.cpt", "--", *chase], check=True, capture_output=True)
                found = ask("run", "intel", f"trace:{folder}/chase.cpt", "--no-bands")
                times.append(found["time_ns"])
            c = found["configuration"]
            levels = [c["l1.latency_ns"], c["l2.latency_ns"], c["llc.latency_ns"] + 2 * c["wires.core_directory_ns"], c["memory.pm.read_ns"] + 2 * c["wires.directory_controller_ns"]]
            rows += pair(label, sum(levels[: len(rows) // 2 + 1]), (times[1] - times[0]) / hops, names)
    return two_bars(rows, "ns a pointer", "A pointer, by how much memory is in use"), rows


def memory() -> tuple[Any, Rows]:
    """Threads read from two controllers: bandwidth grows until the media are busy all the time."""
    rows = []
    for threads in (1, 2, 4, 8, 16, 32):
        found = run("intel", "loaded-latency", workload__pages=65_536, workload__lines=64, workload__threads=threads, workload__operations=40 * threads, workload__warm=1, cpu__cores=32)
        limit = found["configuration"]["memory.controllers"] * 64 / found["configuration"]["memory.pm.read_service_ns"]
        rows += [{"x": threads, "machine": "measured", "value": found["stats"]["memory.bytes_read"] / found["time_ns"]}, {"x": threads, "machine": "what the media can", "value": limit}]
    return figures.lines(rows, "Reads from two controllers", "threads", "GB/s"), rows


def optane() -> tuple[Any, Rows]:
    """One DIMM under more and more threads, as it was measured and as it is simulated; what is between them below."""
    published = pl.read_csv(ROOT / "validation/hardware/optane-figures.csv").filter(pl.col("figure") == "threads-1dimm")
    rows, apart = [], []
    for series, operation in (("read", "load"), ("ntstore", "ntstore"), ("store+clwb", "store+clwb")):
        for threads in (1, 2, 3, 4, 6, 8, 12, 16, 20, 24):
            measured = published.filter((pl.col("series") == series) & (pl.col("x") == str(threads)))["value"][0]
            found = run("optane", "lattester", memory__dimms=1, workload__operation=operation, workload__access_size=4096, workload__stride=4096, workload__threads=threads)
            # The figure's unit is GiB/s, by which it agrees with the tables of the same runs.
            ours = found["stats"]["throughput.bytes_per_second"] / 2**30
            rows += [{"x": threads, "machine": f"{series}, measured", "value": measured}, {"x": threads, "machine": f"{series}, simulated", "value": ours}]
            apart.append({"x": threads, "machine": f"{series}, simulated", "value": 100 * (ours / measured - 1)})
    above = figures.lines(rows, "One Optane DIMM", "threads", "GiB/s")
    return over_errors(above, figures.lines(apart, "", "threads", "error in %"), rows), rows


def curve() -> tuple[Any, Rows]:
    """A socket's memory under load, as it was measured and as it is simulated; what is between them below."""
    published = pl.read_csv(ROOT / "validation/hardware/ddr4-under-load.csv")
    rows, drawn, apart = [], [], []
    found = ask("curve", "cascade-lake")
    for share in (100, 75, 50):
        measured = published.filter(pl.col("read_percent") == share).sort("gb_per_s")
        ours = pl.DataFrame([p for p in found if p["read_percent"] == share]).sort("gb_per_s")
        for name, points in (("measured", measured), ("simulated", ours)):
            drawn += [{"x": x, "machine": f"{share} % reads, {name}", "value": y} for x, y in points.select("gb_per_s", "load_to_use_ns").iter_rows()]
        for load in (0, 25, 50, 75, 90):
            at = measured["gb_per_s"].max() * load / 100
            values = [between(points["gb_per_s"].to_list(), points["load_to_use_ns"].to_list(), at) for points in (measured, ours)]
            rows += pair(f"{share} % reads, {load} % of the bandwidth", *values, ("measured", "simulated"))
            apart.append({"x": at, "machine": f"{share} % reads, simulated", "value": 100 * (values[1] / values[0] - 1)})
    above = figures.curve(drawn, "Six channels of DDR4-2933", "GB/s", "load to use, ns")
    return over_errors(above, figures.curve(apart, "", "GB/s", "error in %"), drawn), rows


def cxl() -> tuple[Any, Rows]:
    """An expander of eight lanes: time of a load, and bandwidths, published and simulated."""
    found = ask("curve", "cxl-expander", "--reads", "100,75,67,50")
    names, rows = ("published", "simulated"), []
    for share, label, published in ((100, "reads alone", 17.8), (75, "3 reads to a write", 23.6), (67, "2 to 1", 25.1), (50, "1 to 1", 27.2)):
        rows += pair(label, published, max(p["gb_per_s"] for p in found if p["read_percent"] == share), names)
    return two_bars(rows, "GB/s", "Eight lanes of PCI Express 5.0"), rows


def cmmh() -> tuple[Any, Rows]:
    """A device whose DRAM caches NAND: times of loads and of Redis's requests, measured and simulated; what is between them below."""
    published = pl.read_csv(ROOT / "validation/hardware/cmm-h.csv")
    measured = {(e, p): v for e, p, v in published.select("experiment", "point", "value").iter_rows()}
    rows = []
    chase = run("cmmh", "loaded-latency", workload__pages=4096, workload__warm=20_000, workload__operations=60_000, workload__threads=4)["stats"]
    for point in ("p10", "p50", "p90", "p99", "p99.9"):
        rows += pair(f"load, {point}", measured["chase-16-gib-4-threads", point] / 1e3, chase[f"operation.time.{point.replace('.', '')}"] / 1e3, ("measured", "simulated"))
    local = {"memory__kind": "ddr4", "memory__link": "direct", "memory__controllers": 4}
    for store, keys in (("redis-10m", 9_766), ("redis-30m", 29_297)):
        there, here = (run("cmmh", "redis-ycsb", workload__keys=keys, workload__warm=0, workload__operations=keys, **more)["stats"] for more in ({}, local))
        for point in ("p50", "p90", "p99"):
            added = (there[f"operation.time.{point}"] - here[f"operation.time.{point}"]) / 1e3
            rows += pair(f"{store}, {point}", measured[store, point], measured[store, f"local-{point}"] + added, ("measured", "simulated"))
    apart = pl.DataFrame([{"workload": a["workload"], "error": 100 * (b["value"] / a["value"] - 1)} for a, b in zip(rows[::2], rows[1::2], strict=True)])
    tall = alt.Y("value:Q", title="us", scale=alt.Scale(type="log", domain=[0.1, 1000]))
    above = two_bars(rows, "us", "Loads, and requests of Redis, behind CXL").encode(y=tall, y2=alt.datum(0.1))
    x = alt.X("workload:N", sort=None, title=None, axis=alt.Axis(labelAngle=-35))
    below = alt.Chart(apart).mark_bar(size=24, color="#756bb1").encode(x=x, y=alt.Y("error:Q", title="error in %")).properties(width=640, height=120)
    return alt.vconcat(above, below), rows


def holdup() -> tuple[Any, Rows]:
    """The same program on machines that save more and more of what is on its way: energy that saves all of it."""
    names, rows = ("at the worst instant", "mean"), []
    for machine in ("intel", "asap-rp", "bbb", "eadr"):
        steps = ask("holdup", machine)
        rows += pair(machine, steps[0]["lines_lost"], steps[0]["lines_lost_mean"], names)
    # From a few lines to tens of thousands.
    tall = alt.Y("value:Q", title="lines", scale=alt.Scale(type="log", domainMin=0.1))
    return two_bars(rows, "lines", "Lines to be drained when the power fails").encode(y=tall, y2=alt.datum(0.1)), rows


def between(xs: list[float], ys: list[float], x: float) -> float:
    """The value at ``x``, on a line between the points beside it; at the last point's beyond."""
    for n in range(1, len(xs)):
        if xs[n] >= x and xs[n] > xs[n - 1]:
            return float(ys[n - 1] + (ys[n] - ys[n - 1]) * (x - xs[n - 1]) / (xs[n] - xs[n - 1]))
    return ys[-1]


def ddr4() -> tuple[Any, Rows]:
    """Threads read pages: what they get of the pins, by where an address has its bank group; refreshes of 1.25 us take a sixth."""
    rows = []
    for threads in (1, 2, 4, 8, 16):
        for mapping in ("groups-above", "groups-below"):
            found = run("nvdimmc-baseline", "loaded-latency", workload__pages=3000, workload__lines=64, workload__threads=threads, workload__operations=60 * threads, workload__warm=3000, cpu__cores=16, memory__ddr__mapping=mapping)
            rows.append({"x": threads, "machine": mapping, "value": found["stats"]["memory.bytes_read"] / found["time_ns"]})
    return figures.lines(rows, "One channel at 12.8 GB/s", "threads", "GB/s"), rows


def ddr5() -> tuple[Any, Rows]:
    """The highest bandwidth of one channel by the share of reads: of a Graviton3 with eight, and of two before sixteen cores."""
    measured = {int(reads): value for reads, value in pl.read_csv(ROOT / "validation/hardware/ddr5-highest.csv").iter_rows()}
    found = ask("curve", "ddr5", "--reads", ",".join(map(str, measured)))
    rows: Rows = []
    for share, value in measured.items():
        rows += pair(f"{share} % reads", value / 8, max(p["gb_per_s"] for p in found if p["read_percent"] == share) / 2, ("measured", "simulated"))
    return two_bars(rows, "GB/s", "One channel at 38.4 GB/s"), rows


def lambert(x: float) -> float:
    """W(x) on its main branch, by Newton's method."""
    w = 0.0 if x > -0.3 else -0.7
    for _ in range(200):
        e = 2.718281828459045**w
        w -= (w * e - x) / (e * (w + 1) or 1e-12)
    return w


def nand() -> tuple[Any, Rows]:
    """Uniform random writes in a steady state: the formula beside the translation layer that `bench` measures."""
    spare = 1.3
    formula = spare / (spare + lambert(-spare * 2.718281828459045**-spare))
    found = {f["pattern"]: f["write_amplification"] for f in ask("bench")["ftl"]}
    names = ("formula", "simulated")
    rows = pair("random", formula, found["random"], names) + pair("sequential", 1.0, found["sequential"], names)
    return two_bars(rows, "pages programmed a page written", "Write amplification, 30 % over-provisioned"), rows


def family(machines: str, workloads: tuple[str, ...], operations: int) -> tuple[Any, Rows]:
    rows = []
    for w in workloads:
        for m in ask("compare", w, "--on", machines, "--set", f"workload.operations={operations}")["machines"]:
            rows.append({"workload": w, "machine": m["machine"], "value": m["speedup"]})
    return two_bars(rows, "speedup over intel", "Persists ordered in different ways"), rows


def strandweaver() -> tuple[Any, Rows]:
    """Without a strand of its own a program gains what fences that hold no store back give, and no more than without order."""
    return family("intel,strandweaver,eadr", ("cceh", "fast-fair", "queue", "p-art", "nstore"), 300)


def dpo() -> tuple[Any, Rows]:
    """One write after the other stands between waiting for each epoch and ordering nothing."""
    return family("intel,dpo,hops-rp,asap-rp,eadr", ("cceh", "fast-fair", "queue", "p-art", "nstore"), 300)


def pmem_spec() -> tuple[Any, Rows]:
    """Stores in strict order: against waiting, the order given away, undoing, and ordering nothing."""
    return family("intel,pmem-spec,dpo,asap-rp,eadr", ("cceh", "fast-fair", "queue", "p-art", "nstore"), 300)


def lazy_barriers() -> tuple[Any, Rows]:
    """Epochs that go when they are complete, and epochs that wait until somebody asks, against a buffer that sends them in order."""
    return family("intel,lb++,lrp,hops-rp,eadr", ("cceh", "fast-fair", "queue", "p-art", "nstore"), 300)


def regions() -> tuple[Any, Rows]:
    """Regions that are waited for, saved, or undone, against ordering nothing."""
    return family("intel,ppa,capri,cwsp,eadr", ("cceh", "fast-fair", "queue", "p-art", "nstore"), 300)


def vorpal() -> tuple[Any, Rows]:
    """Writes that wait at their controllers, against writes that are undone and writes that wait beside their cores."""
    return family("intel,vorpal,asap-ep,hops-ep,eadr", ("cceh", "fast-fair", "queue", "p-art", "nstore"), 300)


def composition() -> tuple[Any, Rows]:
    """One DIMM, and two interleaved by page, under more and more threads."""
    rows = []
    for threads in (1, 2, 4, 8, 16):
        for name, machine in (("one DIMM", "nvdimmc-poc"), ("two DIMMs", "compose-nvdimmc-x2")):
            found = run(machine, "fio", workload__file_bytes=256 << 20, workload__threads=threads, workload__operations=40 * threads, cpu__cores=16)
            rows.append({"x": threads, "machine": name, "value": found["stats"]["throughput.bytes_per_second"] / 1e6})
    return figures.lines(rows, "Reads of pages that the DRAM does not hold", "threads", "MB/s"), rows


#: Of an operation of the original: flushes, fences (docs/models/workloads.md says how they were counted).
ORIGINALS = {"fast-fair": (4.3, 7.7), "cceh": (1.0, 3.0), "p-art": (2.5, 2.9), "p-clht": (9.5, 2.0), "p-masstree": (3.0, 2.5)}


def workloads() -> tuple[Any, Rows]:
    """Flushes of an insertion: of the original, and of the structure here."""
    rows: Rows = []
    for name, (flushes, _) in ORIGINALS.items():
        # CCEH's searches are operations too.
        insertions_alone = {"workload__search_percent": 0} if name == "cceh" else {}
        found = run("intel", name, workload__operations=1000, **insertions_alone)["stats"]
        rows += pair(name, flushes, found["cpu.flushes"] / found["cpu.operations"], ("original", "ours"))
    return two_bars(rows, "flushes an operation", "Flushes of one operation"), rows


def recorder() -> tuple[Any, Rows]:
    """A program whose events are known, and what its recording holds."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "known"
        subprocess.run([COREPLANE, "cc", "-O1", "-mclwb", "-mclflushopt", HERE / "known.c", "-o", program], check=True)
        subprocess.run([COREPLANE, "record", "--quiet", "--out", f"{folder}/known.cpt", "--", program, f"{folder}/file"], check=True, capture_output=True)
        found = ask("trace", "info", f"{folder}/known.cpt")
    kinds = found["kinds"] | found["calls"]
    done = {"stores to the file": 3000, "clwb": 1000, "sfence": 500, "clflushopt": 250, "msync": 20}
    ours = {"stores to the file": found["files"][0]["stores"], "clwb": kinds["clwb"], "sfence": kinds["sfence"], "clflushopt": kinds["clflushopt"], "msync": kinds["msync"]}
    rows = [r for label in done for r in pair(label, done[label], ours[label], ("done", "recorded"))]
    return two_bars(rows, "events", "A program that is known"), rows


BUGS = ("token-before-data", "flush-predicate", "flush-address", "unfenced-flush", "two-word-commit", "allocator-unflushed", "constructor-unflushed", "nontemporal-unfenced", "missing-log", "none")


def crash() -> tuple[Any, Rows]:
    """Seeded mistakes of a hash table: the crash points that show each, cut on the machine and in the model."""
    rows = []
    for bug in BUGS:
        found = ask("crash", "intel", "hashmap", "--set", f"workload.bug={bug}", "--set", "workload.operations=200", "--points", 200)
        for name, part in (("on the machine", found["timed"]), ("in the model", found["model_images"])):
            rows.append({"workload": bug, "machine": name, "value": 100 * part["failing_points"] / max(1, part["points"])})
    return two_bars(rows, "% of crash points", "What shows a mistake"), rows


def litmus() -> tuple[Any, Rows]:
    """The specifications: what was asked of each model, and how many answers are as specified."""
    found = ask("litmus")
    rows = []
    for model in dict.fromkeys(t["model"] for t in found):
        own = [t for t in found if t["model"] == model]
        rows += pair(model, len(own), sum(t["ok"] for t in own), ("specified", "as specified"))
    return two_bars(rows, "tests", "Litmus tests"), rows


#: Mistakes that show on machines other than the default ones alone.
SHOWS_ON = {
    ("strandweaver", "pass-old-store"): "--cores 1 --operations 5",
    ("remote", "old-writes-taken"): "--lines 1 --accesses 5 --losses 0 --host-stays",
    ("remote", "reply-overwrites"): "--lines 3 --duplicates 0 --losses 0 --host-stays",
    ("remote", "stale-reply-taken"): "--lines 3 --accesses 3 --duplicates 0 --losses 0 --host-stays",
    ("shared", "snoop-leaves-copies"): "--coherent",
    ("shared", "link-forgets"): "--lines 1 --links 1",
    ("shared", "snoop-skips-lost-links"): "--lines 1 --coherent --links 1",
    ("shared", "drain-forgets"): "--lines 1 --buffer 1",
    ("shared", "caches-forgotten"): "--lines 1 --global-flush",
    ("shared", "count-stays"): "--lines 1 --buffer 1",
    ("hops", "flushes-past-epochs"): "--persist-buffer 2",
    ("pmem-spec", "forgets-reads"): "--cores 1 --evictions 2",
    ("capri", "sends-open-region"): "--cores 1 --epochs 1 --stores 3 --persist-buffer 3 --region-stores 3",
}  # fmt: skip


def explore() -> tuple[Any, Rows]:
    """Seeded mistakes of protocols, and how many of them the search finds."""
    rows = []
    for protocol in ask("explore", "list"):
        name = protocol["name"]
        of = [(m["name"], SHOWS_ON.get((name, m["name"]), "").split()) for m in protocol["mutants"]]
        caught = [ask("explore", name, "--mutant", mutant, *size)["violation"] is not None for mutant, size in of]
        rows += pair(name, len(caught), sum(caught), ("seeded", "caught"))
    return two_bars(rows, "mistakes", "Mistakes in state machines"), rows


def track() -> tuple[Any, Rows]:
    """A program that changes three bytes in two lines of each of a thousand pages, under the tracker."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "dirty"
        subprocess.run(["cc", "-O1", ROOT / "tests/programs/dirty.c", "-o", program], check=True)
        running = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert running.stdin and running.stdout and running.stdout.readline() == b"ready\n"
        tracker = subprocess.Popen([COREPLANE, "track", str(running.pid), "--interval", "8", "--windows", "1", "--quiet", "--format", "json"], stdout=subprocess.PIPE)
        # The window is open once the program has been let go again.
        subprocess.run(["sleep", "4"], check=True)
        running.stdin.write(b"s")
        running.stdin.flush()
        running.stdout.readline()
        (window,) = json.loads(tracker.communicate()[0])
        running.stdin.close()
        running.wait()
    known = {"bytes": 3000, "lines": 2000, "pages": 1000}
    rows = [r for unit, n in known.items() for r in pair(unit, n, window[unit], ("changed", "counted"))]
    return two_bars(rows, "in a window", "A program that is known"), rows


#: Pages and the papers whose claims stand on them.
PAPERS = {"asap": "asap", "nvdimm": "nvdimmc", "nearpm": "nearpm", "remote": "pberry", "pagesim": "amf"}


def paper(folder: Path, name: str) -> tuple[Any, Rows]:
    """A paper's claims: ours over published."""
    data = json.loads((folder / name / "reproduce.json").read_text())
    return bands.published(data), [{"claim": r["claim"], "ratio": r["ratio"]} for r in bands.compared(data["claims"])]


def shared() -> tuple[Any, Rows]:
    """Mistakes seeded in programs of several hosts, and those that are found."""
    rows = []
    for program in ("log", "ring", "allocator", "pages", "superblock", "lock"):
        (bug,) = (p for p in ask("show", f"shared-{program}")["parameters"] if p["key"] == "workload.bug")
        words = [w for w in re.findall(r"[a-z]+(?:-[a-z]+)+", bug["accepts"])]
        found = [bool(ask("shared", "shared", f"shared-{program}", "--set", f"workload.bug={word}")["findings"]) for word in (*words, "none")]
        if found.pop():
            raise SystemExit(f"shared-{program}: something is found where nothing was seeded")
        rows += pair(program, len(words), sum(found), ("seeded", "found"))
    return two_bars(rows, "mistakes", "Mistakes in programs of several hosts"), rows


MEASURED: dict[str, Callable[[], tuple[Any, Rows]]] = {
    f.__name__.replace("_", "-"): f for f in (core, memory, optane, curve, cxl, cmmh, holdup, ddr4, ddr5, nand, strandweaver, dpo, pmem_spec, lazy_barriers, regions, vorpal, composition, workloads, recorder, crash, litmus, explore, track, shared)
}  # fmt: skip


def said(name: str, rows: Rows) -> str:
    """What a figure's numbers say, for the page."""
    if "claim" in rows[0]:
        ratios = sorted(rows, key=lambda r: abs(r["ratio"] - 1))
        near, far = [r for r in ratios if abs(r["ratio"] - 1) <= 0.15], ratios[-1]
        return f"Ours over published: {len(near)} of {len(rows)} numbers within 15 %; farthest is {far['claim'].split(' (')[0]} at {far['ratio']:.2f}."
    series = list(dict.fromkeys(r["machine"] for r in rows))
    labels = list(dict.fromkeys(r.get("workload", r.get("x")) for r in rows))
    of = {(r["machine"], r.get("workload", r.get("x"))): r["value"] for r in rows}
    if name == "crash":
        wrong = [b for b in labels if b != "none"]
        counts = [sum(of[s, b] > 0 for b in wrong) for s in series]
        return f"Of {len(wrong)} mistakes {counts[1]} show in the model and {counts[0]} at instants of the machine; the program without one shows {'nothing' if not any(of[s, 'none'] for s in series) else 'something'}."
    if "x" in rows[0]:
        last = labels[-1]
        values = ", ".join(f"{s} {page.plain(round(of[s, last], 2))}" for s in series)
        return f"At {last} threads: {values}; {max(of[s, last] for s in series) / min(of[s, last] for s in series):.2f} times between them."
    if len(series) > 2:
        means = [sum(of[s, w] for w in labels) / len(labels) for s in series]
        return "Means over the five: " + ", ".join(f"{s} {m:.2f}" for s, m in zip(series, means, strict=True)) + "."
    first, second = series
    apart = {w: of[second, w] / of[first, w] - 1 for w in labels if of[first, w]}
    most = max(apart, key=lambda w: abs(apart[w]))
    if apart[most] == 0:
        return f"All {len(labels)} agree."
    return f"Farthest apart at {most}: {page.plain(round(of[second, most], 2))} ({second}) against {page.plain(round(of[first, most], 2))} ({first})."


def tell(models: Path, name: str, text: str) -> None:
    """Puts the sentence below the figure on its page."""
    file = models / f"{name}.md"
    page_text = file.read_text()
    made = re.sub(rf"(!\[[^\]]*\]\(\.\./figures/{name}-validation\.svg\)\n\n)\*[^\n]*\*\n", lambda m: f"{m[1]}*{text}*\n", page_text)
    if f"*{text}*" not in made:
        raise SystemExit(f"{file}: has no figure {name}-validation.svg with a sentence below")
    file.write_text(made)


def standalone(svg: str) -> str:
    """A figure by itself, in colours for light and dark."""
    drawn = re.search(r"<svg.*</svg>", page.drawn(svg), re.S)
    assert drawn
    text = drawn[0].replace("var(--line)", "#adb5bd66")
    return re.sub(r"(<svg[^>]*>)", r"\1" + STYLE, text, count=1) + "\n"


def main() -> None:
    """Measures and draws."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="figures; all that can be measured unless given")
    parser.add_argument("--reproduced", type=Path, help="a folder with a folder of results for each paper")
    parser.add_argument("--out", type=Path, default=HERE)
    args = parser.parse_args()
    kept = args.out / "validation.json"
    numbers: dict[str, Rows] = json.loads(kept.read_text()) if kept.exists() else {}
    names = args.names or [*MEASURED, *(PAPERS if args.reproduced else [])]
    for name in names:
        chart, rows = MEASURED[name]() if name in MEASURED else paper(args.reproduced, PAPERS[name])
        (args.out / f"{name}-validation.svg").write_text(standalone(vlc.vegalite_to_svg(page.configured(chart, left=32).to_json())))
        numbers[name] = rows
        if args.out == HERE:
            tell(HERE.parent / "models", name, said(name, rows))
        kept.write_text(json.dumps(numbers, indent=1, sort_keys=True) + "\n")
        print(name, file=sys.stderr)


if __name__ == "__main__":
    main()
