"""What a recorded program's simulated time is made of: computation, pointers, syncs, and what is not known."""

import shutil
from pathlib import Path

import pytest

from conftest import ROOT, Cli

COMPUTE = """
#include <fcntl.h>
#include <emmintrin.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int fd = open("compute.pm", O_RDWR | O_CREAT, 0644);
    if (ftruncate(fd, 1 << 20)) return 1;
    volatile long *pm = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    double x = argc;
    for (int i = 0; i < 300; i++) {
        for (int n = atoi(argv[1]); n > 0; n--) x = x * 1.000001 + 0.5;
        pm[i % 64 * 8] = i;
        _mm_clflush((void *)&pm[i % 64 * 8]);
        _mm_sfence();
    }
    return x < 0;
}
"""

COMMITS = """
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    int fd = open("commits.db", O_RDWR | O_CREAT, 0644);
    if (ftruncate(fd, 1 << 20)) return 1;
    volatile long *db = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (int i = 0; i < 50; i++) {
        for (int n = 0; n < 64; n++) db[(i * 64 + n) % 2048 * 8] = i;
        if (msync((void *)db, 1 << 20, MS_SYNC)) return 1;
    }
    return 0;
}
"""


def record(cli: Cli, name: str, source: str, *args: object) -> str:
    (cli.folder / f"{name}.c").write_text(source)
    cli("cc", "-O2", f"{name}.c", "-o", name)
    cli("record", "--quiet", "--out", f"{name}.cpt", "--", f"./{name}", *args)
    return f"trace:{name}.cpt"


def test_computation_between_persists_takes_time_and_makes_machines_more_alike(cli: Cli) -> None:
    rows = {}
    for work in (0, 10_000):
        found = cli.json("compare", record(cli, "compute", COMPUTE, work), "--on", "intel,eadr")
        rows[work] = {m["machine"]: m for m in found["machines"]}
    assert rows[10_000]["intel"]["time_ns"] > 10 * rows[0]["intel"]["time_ns"]
    assert rows[0]["eadr"]["speedup"] > 1.3 and rows[10_000]["eadr"]["speedup"] < 1.1
    low, high = rows[10_000]["intel"]["band"]["time_ns"]
    assert low < rows[10_000]["intel"]["time_ns"] < high and high / low > 5, "cpu.ipc from 3 to 0.5"
    band = rows[0]["eadr"]["band"]["speedup"]
    assert band[0] <= rows[0]["eadr"]["speedup"] <= band[1]


def test_a_band_is_left_out_where_the_rate_is_set(cli: Cli) -> None:
    trace = record(cli, "compute", COMPUTE, 10)
    assert "band" in cli.json("run", "intel", trace)
    assert "band" not in cli.json("run", "intel", trace, "--no-bands")
    assert "band" not in cli.json("run", "intel", trace, "--set", "cpu.ipc=2")
    assert "0.5 to 3" in cli.refuses("run", "intel", trace, "--set", "cpu.ipc=4")


def test_commits_by_msync_cost_what_the_machine_asks_for(cli: Cli) -> None:
    trace = record(cli, "commits", COMMITS)
    intel, eadr = (cli.json("run", m, trace, "--no-bands") for m in ("intel", "eadr"))
    assert intel["time_ns"] > eadr["time_ns"] + 50 * 90, "each waits until its last line is acknowledged"
    assert intel["stats"]["cpu.flushes"] == 50 * 64
    device = cli.json("run", "intel", trace, "--no-bands", "--set", "workload.sync=page-cache")
    assert device["time_ns"] > 50 * 20_000


def test_a_recording_of_threads_says_that_it_is_one_schedule(cli: Cli) -> None:
    cli("cc", "-O2", "-pthread", ROOT / "examples/kv/kv.c", "-o", "kv")
    for n in (1, 2):
        cli("record", "--quiet", "--out", f"kv.{n}.cpt", "--", "./kv", "kv.pm", 4, 300)
        Path(cli.folder / "kv.pm").unlink()
    one = cli.run("run", "intel", "trace:kv.1.cpt")
    assert one.returncode == 0 and "one schedule of 5 threads" in one.stderr
    assert "one schedule" not in cli.run("run", "intel", "trace:kv.1.cpt", "--quiet").stderr
    twice = "coreplane: trace:kv.1.cpt,kv.1.cpt: kv.1.cpt is given twice; give each recording once"
    assert cli.refuses("run", "intel", "trace:kv.1.cpt,kv.1.cpt") == twice
    assert "a name of its list is empty" in cli.refuses("run", "intel", "trace:kv.1.cpt,")
    shutil.copy(cli.folder / "kv", cli.folder / "other")
    cli("record", "--quiet", "--out", "other.cpt", "--", "./other", "kv.pm", 4, 300)
    says = cli.refuses("run", "intel", "trace:kv.1.cpt,other.cpt")
    assert "kv.1.cpt was recorded from `./kv kv.pm 4 300`, other.cpt from `./other kv.pm 4 300`: recordings of one program" in says
    both = cli.json("compare", "trace:kv.1.cpt,kv.2.cpt", "--on", "intel,asap-rp", "--no-bands")
    intel, asap = both["machines"]
    times = [cli.json("run", "intel", f"trace:kv.{n}.cpt", "--no-bands")["time_ns"] for n in (1, 2)]
    causes = intel["band"]["recordings"].pop("causes")
    assert [sum(causes[c][n] for c in causes) for n in (0, 1)] == pytest.approx([5 * t for t in times]), "all of the five cores' time"
    assert intel["band"]["recordings"] == {"time_ns": times, "mean_ns": pytest.approx(sum(times) / 2)}
    assert asap["band"]["speedup"][0] <= asap["speedup"] <= asap["band"]["speedup"][1]
    engines = [cli.json("run", "asap-rp", "trace:kv.1.cpt", "--no-bands", "--engine", e)["time_ns"] for e in ("fast", "reference")]
    assert engines[0] == engines[1]


def test_line_and_page_fidelity_are_not_compared(cli: Cli) -> None:
    trace = record(cli, "compute", COMPUTE, 10)
    assert "cannot be compared" in cli.refuses("compare", trace, "--on", "intel,amf")
    pages = cli("run", "amf", trace, "--set", "fusion.dram_gib=1", "--set", "fusion.pm_gib=3", "--set", "fusion.device_gib=1", "--no-bands")
    assert max(len(word) for word in pages.split() if word[0] != "-") < 60, "no number of hundreds of digits"
