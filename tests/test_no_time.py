"""Runs of no simulated time, and of too little to be looked at twice: no rate, no share, no speedup; a report all the same."""

import json
import math
from pathlib import Path

import pytest

import coreplane as cp
from conftest import Cli
from coreplane.results import Comparison

#: Its region of interest is empty.
EMPTY = """
#include <coreplane.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    int fd = open("file", O_RDWR | O_CREAT, 0644);
    if (ftruncate(fd, 4096)) return 1;
    volatile char *file = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    file[0] = 1;
    coreplane_roi_begin();
    coreplane_roi_end();
    file[64] = 2;
    return 0;
}
"""


@pytest.fixture
def empty(cli: Cli) -> Cli:
    (cli.folder / "empty.c").write_text(EMPTY)
    cli("cc", "-O1", "empty.c", "-o", "empty")
    cli("record", "--quiet", "--region", "--out", "empty.cpt", "--", "./empty")
    return cli


def numbers(run: dict) -> list[float]:
    return [run["time_ns"], *run["stats"].values()]


def test_of_no_time_there_is_no_rate_and_no_speedup(empty: Cli) -> None:
    run = empty.json("run", "amf", "trace:empty.cpt", "--out", "r")
    assert run["time_ns"] == 0 and run["stats"]["throughput.operations_per_second"] == 0
    assert all(math.isfinite(value) and value < 1e15 for value in numbers(run))
    both = empty.json("compare", "trace:empty.cpt", "--on", "amf,tiering", "--explain", "--out", "c")
    assert [m["speedup"] for m in both["machines"]] == [None, None]
    shown = empty("compare", "trace:empty.cpt", "--on", "amf,tiering", "--explain", "--quiet")
    assert [line.split()[3] for line in shown.splitlines()[4:6]] == ["-", "-"]
    assert "NaN" not in shown and "inf" not in shown
    assert "tiering is neither faster nor slower than amf: the work took no time on tiering." in shown
    for folder in "rc":
        assert (empty.folder / folder / "report.html").exists()
    compared = Comparison(json.loads((empty.folder / "c/compare.json").read_text()))
    assert all(math.isnan(speedup) for speedup in compared.speedup.values())
    assert compared.table["speedup"].to_list() == [None, None]
    assert repr(compared) == "<trace:empty.cpt: amf -, tiering ->"
    assert compared._repr_html_()


@pytest.mark.parametrize("machine", ["intel", "nvdimmc-poc"])
def test_a_power_failure_at_once_has_a_report(cli: Cli, machine: str) -> None:
    run = cli.json("run", machine, {"intel": "append"}.get(machine, "fio"), "--power-fails-at", "0ns", "--out", "r")
    assert run["stats"]["ordering.stall_share"] == 0 and max(numbers(run)) < 1e15
    assert (cli.folder / "r/report.html").exists()


@pytest.mark.parametrize("machine", ["amf", "tiering", "pm-block"])
def test_a_run_that_is_looked_at_once_has_a_report(cli: Cli, machine: str) -> None:
    few = ("--set", "workload.array_bytes=65536", "--no-bands", "--quiet")
    cli("run", machine, "stream", *few, "--out", "r")
    assert len(json.loads((cli.folder / "r/run.json").read_text())["series"]["seconds"]) == 1
    page = (cli.folder / "r/report.html").read_text()
    assert "Where the time went" in page and "Memory over time" not in page
    assert not (cli.folder / "r/timeline.svg").exists()
    assert cp.run(machine, cp.Workload("stream", array_bytes=65536)).plot().to_dict()


def test_machines_that_are_looked_at_once_are_compared(cli: Cli) -> None:
    cli("compare", "stream", "--on", "amf,tiering", "--set", "workload.array_bytes=65536", "--quiet", "--out", "c")
    assert "Memory over time" not in (cli.folder / "c/report.html").read_text()
    assert {p.stem for p in Path(cli.folder / "c").glob("*.png")} == {"speedup", "time"}
