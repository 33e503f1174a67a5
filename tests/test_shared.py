"""`coreplane shared`: programs of several hosts, from the command line."""

import json

import pytest
from conftest import Cli


def test_a_mistake_is_told_with_both_lines_and_exit_code_1(cli: Cli) -> None:
    done = cli.run("shared", "shared", "shared-log", "--set", "workload.bug=record-not-flushed", "--schedules", "5")
    assert done.returncode == 1
    assert "shared/log.rs:96 on host 1 returned bytes that host 0 replaced" in done.stdout
    assert "host 0 never flushed the line" in done.stdout and "smallest schedule" in done.stdout


def test_a_program_without_one_is_clean(cli: Cli) -> None:
    done = cli.run("shared", "shared", "shared-ring", "--schedules", "20", "--format", "json")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["findings"] == [] and found["schedules"] == 20
    assert found["time_ns"] > 0 and found["fence_ns"] > 0


def test_json_has_both_sides_and_the_steps_between(cli: Cli) -> None:
    done = cli.run("shared", "shared", "shared-lock", "--set", "workload.bug=release-not-flushed", "--schedules", "3", "--format", "json")
    (finding,) = json.loads(done.stdout)["findings"]
    assert done.returncode == 1 and finding["kind"] == "lock-release-not-flushed"
    for side in (finding["here"], finding["there"]):
        assert side["file"].endswith("shared/lock.rs") and side["line"] > 0
        assert f"shared/lock.rs:{side['line']}" in finding["message"]
    assert finding["apart_ns"] == finding["here"]["time_ns"] - finding["there"]["time_ns"]
    assert {s["host"] for s in finding["steps"]} == {finding["here"]["host"], finding["there"]["host"]}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["intel", "shared-log"], "intel: is one host; give a machine of several"),
        (["shared", "cceh"], "workload cceh: runs on one host; a machine of several hosts (machine.fidelity = hosts) takes shared-log"),
        (["shared", "trace:kv.cpt"], "kv.cpt: No such file"),
        (["shared", "visits:kv.bin"], "visits:kv.bin: is of one host; give a recording of several (trace:FILE, from coreplane record --host-per-process) or one of shared-log"),
        (["shared", "shared-log", "--set", "workload.hosts=6"], "workload.hosts = 6: shared-log takes more hosts than the machine has; give at most shared.hosts = 4"),
        (["shared", "shared-log", "--set", "workload.bug=none-such"], "workload.bug"),
        (["shared", "shared-log", "--schedules", "0"], "--schedules 0: give at least 1"),
        (["shared", "shared-log", "--set", "l1.ways=4"], "l1.ways: does nothing on shared"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(cli: Cli, arguments: list[str], says: str) -> None:
    done = cli.run("shared", *arguments)
    assert done.returncode == 2 and says in done.stderr, done.stderr
    assert done.stdout == "" and len(done.stderr.strip().splitlines()) == 1


def test_explore_takes_two_hosts_through_every_order(cli: Cli) -> None:
    found = json.loads(cli.run("explore", "shared", "--operations", "2", "--format", "json").stdout)
    assert found["complete"] and found["violation"] is None and found["states"] == 31_266
    done = cli.run("explore", "shared", "--mutant", "fence-forgets")
    assert done.returncode == 1 and "the device never had it" in done.stderr


def test_other_commands_know_machines_of_several_hosts(cli: Cli) -> None:
    ran = json.loads(cli.run("run", "shared", "shared-superblock", "--format", "json").stdout)
    # A count, although "share" begins its name.
    counts = [line for line in cli.run("run", "shared", "shared-superblock").stdout.splitlines() if line.startswith("shared.")]
    assert counts and not any("%" in line for line in counts)
    assert sum(v for k, v in ran["stats"].items() if k.startswith("time.")) == pytest.approx(ran["configuration"]["workload.hosts"] * ran["time_ns"])
    assert ran["stats"]["shared.fences"] > 0 and ran["stats"]["throughput.operations_per_second"] > 0
    for arguments in (["run", "intel", "shared-log"], ["crash", "shared", "shared-log"], ["run", "amf", "shared-log"]):
        done = cli.run(*arguments)
        assert done.returncode == 2 and "host" in done.stderr, done.stderr
