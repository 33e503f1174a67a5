"""NVDIMM-C, as a user calls it."""

from pathlib import Path

import coreplane as cp
import pytest
from coreplane import tpch

from conftest import Cli

SMALL = ("--set", "nvdimm.slots_mib=1", "--set", "workload.operations=60")


def test_promised_statistics_are_there_and_uncached_is_slower(cli: Cli) -> None:
    cached = cli.json("run", "nvdimmc-poc", "fio", *SMALL, "--set", "workload.file_bytes=65536", "--set", "workload.block_size=4096")["stats"]
    uncached = cli.json("run", "nvdimmc-poc", "fio", *SMALL, "--set", "workload.file_bytes=8388608")["stats"]
    promised = """throughput.bytes_per_second nvdimm.hit_share.page nvdimm.hit_share.line nvdimm.cachefills
        nvdimm.writebacks nand.write_amplification""".split()
    assert [name for name in promised if name not in uncached] == []
    assert cached["nvdimm.hit_share.page"] == 1 and uncached["nvdimm.hit_share.page"] < 0.3
    assert uncached["throughput.bytes_per_second"] < cached["throughput.bytes_per_second"] / 10
    assert set(uncached) <= {s["name"] for s in cli.json("show", "stats")}


def test_every_access_hits_or_none_does(cli: Cli) -> None:
    shares = [cp.run("nvdimmc-poc", cp.Workload("fio", resident=resident, operations=60))["nvdimm.hit_share.page"] for resident in (True, False)]
    assert shares == [1, 0]
    stats = cli.json("run", "nvdimmc-poc", "fio", *SMALL, "--set", "workload.resident=false")["stats"]
    assert (stats["nvdimm.hit_share.page"], stats["nvdimm.cachefills"]) == (0, 60)
    # A crash test's file is small unless something is said of it.
    text = cli("crash", "nvdimmc-poc", "fio", "--every", 50, "--points", 5, "--set", "workload.operations=20", "--set", "workload.resident=true")
    assert "recovery fails              0" in text and "file_bytes" not in text


def test_the_size_of_the_file_is_said_once(cli: Cli) -> None:
    twice = "workload.file_bytes: does nothing beside workload.resident=false; give one of the two"
    sets = ["workload.resident=false", "workload.file_bytes=65536"]
    for given in (sets, sets[::-1]):
        assert cli.refuses("run", "nvdimmc-poc", "fio", *(f"--set={one}" for one in given)) == f"coreplane: --set {twice}"
    with pytest.raises(cp.ConfigError, match=twice):
        cp.Workload("fio", resident=False, file_bytes=65536)
    assert "give one of unset, true, false" in cli.refuses("run", "nvdimmc-poc", "fio", "--set", "workload.resident=maybe")


def test_the_same_work_on_every_kind_of_memory(cli: Cli) -> None:
    machines = "intel,nvdimmc-baseline,nvdimmc-poc,nvdimmc-poc@pram,nvdimmc-hypothetical"
    rows = cli.json("compare", "cceh", "--on", machines, "--set", "workload.operations=300")["machines"]
    assert [r["machine"] for r in rows] == machines.split(",") and all(r["time_ns"] > 0 for r in rows)


@pytest.mark.parametrize(
    ("sets", "wanted"),
    [
        (["nvdimm.device.ignore_window=true"], "device command outside its window: Device's Activate"),
        (["nvdimm.device.misses_one_in=2"], "its detector missed a refresh"),
        (["nvdimm.slots_mib=1", "nvdimm.driver.flush=false"], "while a line of it waits"),
    ],
)
def test_what_must_not_be_ends_a_run_with_one(cli: Cli, sets: list[str], wanted: str) -> None:
    done = cli.run("run", "nvdimmc-poc", "stream", *(word for s in sets for word in ("--set", s)))
    assert (done.returncode, done.stdout) == (1, "") and wanted in done.stderr, done.stderr


def test_a_dead_battery_loses_pages_and_says_which(cli: Cli) -> None:
    args = ("crash", "nvdimmc-poc", "fio", "--every", 50, "--points", 30, "--set", "workload.operations=20")
    assert "recovery fails              0" in cli(*args)
    text = cli(*args, "--set", "nvdimm.battery_uj=0", code=1)
    assert "not saved, the battery being empty: 16 pages, at 0x0, 0x1000," in text


def test_a_recorded_page_stream_runs_and_a_broken_one_is_refused(cli: Cli, tmp_path: Path) -> None:
    body = tpch._encode([3, 900, 3, 2])
    good = tpch.MAGIC + b"1000\nQ1 4 250\n\n" + body
    (tmp_path / "good").write_bytes(good)
    stats = cli.json("run", "nvdimmc-poc", "tpch:good")["stats"]
    assert stats["cpu.operations"] == 4
    (tmp_path / "bad").write_bytes(good[:-1])
    assert "bad: query Q1: reference 3 of 4" in cli.refuses("run", "nvdimmc-poc", "tpch:bad")
    assert "give one of Q1, all" in cli.refuses("run", "nvdimmc-poc", "tpch:good", "--set", "workload.query=Q2")


def test_bad_input_names_the_key_and_its_bound(cli: Cli) -> None:
    refuses = lambda *sets: cli.refuses("run", "nvdimmc-poc", "fio", *(word for s in sets for word in ("--set", s)))  # noqa: E731
    assert "leaves up to 7700" in refuses("memory.refresh.trfc_ns=8000")
    assert "has room for 1 to 15" in refuses("nvdimm.slots_mib=99")
    assert "workload.file_bytes" in refuses("workload.file_bytes=256 MiB", "nvdimm.capacity_mib=64")
    assert "needs at least 802.5" in refuses("memory.refresh.trfc_ns=400")
