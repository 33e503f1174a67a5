"""What `coreplane bench` measures: real programs, and two builds side by side. No test asserts a time."""

import os
from pathlib import Path

import pytest
from conftest import COREPLANE, Cli


PROGRAMS = ["fio", "tpch", "stream"]


def test_real_programs_are_measured_with_a_goal_and_peers(cli: Cli) -> None:
    data = cli.json("bench", "--on", "nvdimmc-poc")
    [family] = data["real_programs"]
    rates = {row["workload"]: row["million_references_per_processor_second"] for row in family["workloads"]}
    assert list(rates) == PROGRAMS
    assert min(rates.values()) <= family["million_references_per_processor_second"] <= max(rates.values())
    assert family["goal"] == 5 and any("gem5" in peer["name"] for peer in data["peers"])


def test_optanes_host_is_measured_in_requests(cli: Cli) -> None:
    rates = cli.json("bench", "--on", "optane")["requests"]
    assert [(rate["operation"], rate["threads"]) for rate in rates] == [("load", 1), ("load", 8), ("store", 4), ("store+clwb", 1), ("ntstore", 8)]
    for rate in rates:
        assert rate["goal"] == 1 and rate["million_requests_per_processor_second"] > 0
        assert rate["times_vans"] == pytest.approx(rate["million_requests_per_processor_second"] / 0.0013)


def test_memory_is_told_for_a_core_a_line_and_a_page(cli: Cli) -> None:
    memory = cli.json("bench", "--memory")["memory"]
    if None in memory.values():
        pytest.skip("the kernel does not tell what a process holds")
    # A core's caches hold data, 2 MiB of it in the second level; a line has 64 bytes, and one that is alone has room around it.
    assert 2 << 20 < memory["bytes_per_core"] < 4 << 20
    assert 32 < memory["bytes_per_written_line"] < 256
    assert memory["bytes_per_written_line"] < memory["bytes_per_line_alone_in_its_page"] < 8192
    assert 8 <= memory["bytes_per_visited_page"] < 64
    if os.environ.get("COREPLANE_NIGHTLY"):
        assert "memory: " in cli("bench", "--memory")


def test_two_builds_are_compared_in_turns(cli: Cli) -> None:
    # A build that computes something else, now and then, is told from this one.
    script = cli.folder / "coreplane"
    script.write_text(f"""#!/bin/sh\nexec {COREPLANE} "$@" $([ "$3" = fio ] && echo --seed 2)\n""")
    script.chmod(0o755)
    data = cli.json("bench", "--on", "nvdimmc-poc", "--turns", "1", "--against", cli.folder)
    assert [(pair["workload"], pair["same_results"]) for pair in data["pairs"]] == [("fio", False), ("tpch", True), ("stream", True)]
    for pair in data["pairs"]:
        assert 0 < pair["least"] == pair["processor_time_ratio"] == pair["most"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--against", "nowhere"), "--against nowhere: has no coreplane; looked for coreplane, bin/coreplane"),
        (("--on", "asap"), "--on asap: real programs are measured on asap-rp, intel"),
        (("--on", "optane", "--against", "."), "requests, without --against, on optane"),
    ],
)
def test_what_cannot_be_measured_is_said(cli: Cli, args: tuple[str, ...], said: str) -> None:
    assert said in cli.refuses("bench", *args)


@pytest.mark.parametrize(
    ("script", "mode", "said"),
    [
        ("echo broken >&2\nexit 3", 0o755, "coreplane show machines --format json: broken"),
        ("exit 3", 0o755, "coreplane show machines --format json: exit status: 3"),
        ("echo hello", 0o755, "coreplane show machines --format json: what it prints is no JSON"),
        ("exit 0", 0o644, "coreplane show machines --format json: Permission denied"),
    ],
)
def test_a_build_that_fails_is_named(cli: Cli, tmp_path: Path, script: str, mode: int, said: str) -> None:
    file = tmp_path / "coreplane"
    file.write_text(f"#!/bin/sh\n{script}\n")
    os.chmod(file, mode)
    told = cli.refuses("bench", "--on", "pberry", "--against", tmp_path)
    assert said in told and f"--against {tmp_path}: " in told
