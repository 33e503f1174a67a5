"""Remote memory: side by side, explored, evaluated, and what happens when the network or the input is bad."""

from pathlib import Path

import pytest

from conftest import Cli

SMALL = ["--set", "workload.keys=3000", "--set", "workload.operations=1500", "--set", "remote.local_kib=512"]


def stats(cli: Cli, machine: str, *args: object) -> dict[str, float]:
    report = cli.json("run", machine, "redis-random", *SMALL, *args)
    return {"time_ns": report["time_ns"], **report["stats"]}


def test_lines_take_no_fault_and_send_less_than_pages(cli: Cli) -> None:
    pages, lines = stats(cli, "remote-pages"), stats(cli, "pberry")
    assert pages["os.major_faults"] > 1000
    assert pages["os.write_faults"] > 0
    assert lines["os.major_faults"] == lines["os.write_faults"] == 0
    assert lines["remote.bytes_sent"] < 0.7 * pages["remote.bytes_sent"]
    assert lines["time_ns"] < pages["time_ns"]
    # Three definitions of dirty, each with its own name.
    assert lines["tracking.bytes"] >= lines["tracking.changed.bytes"] > 0
    assert lines["tracking.written_back.lines"] > 0


def test_compare_and_figures(cli: Cli) -> None:
    text = cli("compare", "redis-random", "--on", "remote-pages,pberry", *SMALL)
    assert "pberry" in text


@pytest.mark.parametrize("walks", ["whole-page", "first-line", "untracked"])
def test_a_bad_network_changes_no_byte(cli: Cli, walks: str) -> None:
    bad = ["lose_one_in=9", "late_one_in=5", "duplicate_one_in=4"]
    sets = [word for fault in bad for word in ("--set", f"remote.fault.{fault}")]
    # The program checks every value that it reads.
    got = stats(cli, "pberry", *sets, "--set", f"remote.page_table={walks}")
    assert got["remote.packets_lost"] > 0
    assert got["remote.retries"] > 0


def test_a_host_that_is_gone_ends_the_run_with_a_message(cli: Cli) -> None:
    gone = ["--set", "remote.fault.away_from_ns=2000000", "--set", "remote.fault.away_to_ns=9000000000"]
    impatient = ["--set", "remote.give_up_ns=1000000"]
    for machine in ["remote-pages", "pberry"]:
        done = cli.run("run", machine, "redis-random", *SMALL, *gone, *impatient)
        assert done.returncode == 1, done.stderr
        assert "has not answered" in done.stderr
        assert "remote.give_up_ns" in done.stderr
    late = ["--set", "remote.page_table=untracked", "--set", "remote.deadline_ns=100000"]
    done = cli.run("run", "pberry", "redis-random", *SMALL, *gone, *late)
    assert done.returncode == 1
    assert "machine check" in done.stderr
    assert "whole-page" in done.stderr


def test_a_host_that_comes_back_is_waited_for(cli: Cli) -> None:
    away = ["--set", "remote.fault.away_from_ns=2000000", "--set", "remote.fault.away_to_ns=3000000"]
    got = stats(cli, "pberry", *away)
    assert got["time_ns"] > 0


@pytest.mark.parametrize("use", ["pre-copy", "post-copy", "copy-on-write", "checkpoint", "replicate", "encrypt", "log"])
def test_uses_of_tracking_have_twins_by_page_faults(cli: Cli, use: str) -> None:
    sets = ["--set", f"remote.use={use}", "--set", "remote.local_kib=16384", "--set", "workload.keys=12000"]
    pages, lines = stats(cli, "remote-pages", *sets), stats(cli, "pberry", *sets)
    assert pages["use.events"] > 100
    assert pages["use.wait"] > lines["use.wait"]
    assert lines["use.events"] > 100
    if use == "post-copy":
        # Whole pages either way; the missing line comes first, and there is no fault.
        assert lines["use.bytes_moved"] == pytest.approx(pages["use.bytes_moved"], rel=0.1)
        assert lines["use.wait"] > 0
    else:
        assert lines["use.bytes_moved"] < 0.6 * pages["use.bytes_moved"]
        assert lines["use.wait"] == 0


def test_what_does_not_fit_together_is_refused(cli: Cli) -> None:
    def refused(machine: str, *sets: str) -> str:
        return cli.refuses("run", machine, "redis-random", *[w for s in sets for w in ("--set", s)])

    text = refused("pberry", "remote.local_kib=64", "remote.reclaim_batch=8")
    assert "remote.reclaim_batch" in text
    assert "give 1 to 4" in text
    text = refused("remote-pages", "remote.local_kib=64", "remote.page_kib=2048")
    assert "remote.local_kib = 64" in text
    assert "give 8192 or more" in text
    assert "ordering.model" in refused("pberry", "ordering.model=asap")
    assert "memory.controllers" in refused("remote-pages", "memory.controllers=2")
    assert "away_to_ns" in refused("pberry", "remote.fault.away_from_ns=5")
    assert "whole-page, first-line, untracked" in refused("pberry", "remote.page_table=all")
    assert "volatile" in cli.refuses("crash", "pberry", "hashmap")
    done = cli.run("run", "pberry", "redis-random", "--set", "remote.capacity_mib=16")
    assert done.returncode == 1
    assert "remote.capacity_mib" in done.stderr


def test_every_order_of_messages(cli: Cli) -> None:
    clean = cli.json("explore", "remote", "--accesses", 1)
    assert clean["complete"]
    assert clean["violation"] is None
    names = [line.split()[0] for line in cli("explore", "remote", "--mutant", "list").splitlines()]
    assert len(names) == 6
    small = ["--accesses", 3, "--lines", 3, "--losses", 0, "--duplicates", 0, "--host-stays", "--format", "json"]
    for name in ["reply-overwrites", "stale-reply-taken", "free-before-acknowledged", "no-recall"]:
        assert '"violation": {' in cli("explore", "remote", "--mutant", name, *small, code=1)
    assert "--pages 4" in cli.refuses("explore", "remote", "--pages", 4)
    assert "whole-page" in cli.refuses("explore", "remote", "--walks", "no")


def test_a_power_failure_of_volatile_memory_says_that_nothing_is_left(cli: Cli, tmp_path: Path) -> None:
    text = cli.run("run", "pberry", "redis-random", *SMALL, "--power-fails-at", "20us", "--out", tmp_path / "o")
    assert "leaves nothing: pberry: remote memory is volatile" in text.stderr
