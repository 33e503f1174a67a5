"""`coreplane shared`: programs of several hosts, from the command line."""

import html
import json
import re

import pytest
from conftest import Cli


def test_a_mistake_is_told_with_both_lines_and_exit_code_1(cli: Cli) -> None:
    done = cli.run("shared", "shared", "shared-log", "--set", "workload.bug=record-not-flushed", "--schedules", "5")
    assert done.returncode == 1
    assert "shared/log.rs:103 on host 1 returned bytes that host 0 replaced" in done.stdout
    assert "host 0 never flushed the line" in done.stdout and "smallest schedule" in done.stdout


def test_a_program_without_one_is_clean(cli: Cli) -> None:
    done = cli.run("shared", "shared", "shared-ring", "--schedules", "20", "--format", "json")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["findings"] == [] and found["schedules"] == 20
    assert found["time_ns"] > 0 and found["fence_ns"] > 0


def test_cores_of_a_host_share_its_caches(cli: Cli) -> None:
    two = ("shared", "shared", "shared-log", "--set", "workload.hosts=2", "--set", "workload.cores=2", "--schedules", "60", "--format", "json")
    assert json.loads(cli(*two))["findings"] == []
    found = json.loads(cli.run(*two, "--set", "workload.bug=record-not-fenced").stdout)["findings"]
    assert {(f["here"]["host"], f["there"]["host"]) for f in found} == {(1, 0)}, found
    assert any("(core " in step for f in found for step in f["schedule"]), found
    crash = cli.json("crash", "shared", "shared-pages", "--set", "workload.hosts=2", "--set", "workload.cores=2")
    assert crash["clean"] and crash["timed"]["points"] > 30, crash


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
        (["shared", "shared-log", "--set", "workload.cores=3", "--set", "shared.cores=2"], "workload.cores = 3: shared-log takes more cores than a host has; give at most shared.cores = 2"),
        (["shared", "shared-ring", "--set", "workload.cores=2"], "workload.cores = 2: shared-ring on 2 hosts of 2 cores is 4 programs, and it has at most 2"),
        (["shared", "shared-log", "--schedules", "0"], "--schedules 0: give at least 1"),
        (["shared", "shared-log", "--set", "workload.hosts=9"], "workload.hosts"),
        (["shared", "shared-log", "--set", "shared.coherent_ranges=0-7,4-9"], "shared.coherent_ranges: 0-7 and 4-9 overlap"),
        (["shared", "shared-log", "--set", "shared.memory_bytes=4096", "--set", "shared.coherent_ranges=0-64"], "shared.coherent_ranges: 0-64 goes past the memory, which has 64 lines"),
        (["shared", "shared-log", "--set", "shared.coherent_ranges=64"], 'shared.coherent_ranges: "64" is not accepted; give none, or ranges of lines, such as 0-7,16-23'),
        (["shared", "shared-log", "--set", "shared.coherent_lines=64"], 'key "shared.coherent_lines" has a new name: give shared.coherent_ranges'),
        (["shared", "shared-log", "--set", "shared.host_flush_timeout_ns=1"], "shared.host_flush_timeout_ns: does nothing on shared"),
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
    for arguments in (["run", "intel", "shared-log"], ["crash", "intel", "shared-log"], ["run", "amf", "shared-log"]):
        done = cli.run(*arguments)
        assert done.returncode == 2 and "host" in done.stderr, done.stderr


def test_the_power_is_cut_at_every_write_and_recovery_says_who_stored_what(cli: Cli) -> None:
    clean = cli.json("crash", "shared", "shared-log")
    assert clean["clean"] and clean["timed"]["points"] > 30 and clean["persistent_flush"]["dirty_shutdowns"] == 0
    assert clean["persistent_flush"]["microjoules"] == pytest.approx(clean["persistent_flush"]["most_lines"] * 0.757)
    done = cli.run("crash", "shared", "shared-log", "--all", "--set", "workload.bug=recovery-trusts-device", "--set", "shared.persistent_flush=none", "--format", "json")
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["timed"]["failing_points"] > 0 and found["persistent_flush"]["dirty_shutdowns"] > 0
    for failure in found["timed"]["failures"]:
        assert "shared/log.rs:" in failure["message"] and "was in the device's buffer, which nothing drains" in failure["message"]
    again = json.loads(cli.run("crash", "shared", "shared-log", "--at", f"{found['timed']['failures'][0]['at_ns']}ns", "--set", "workload.bug=recovery-trusts-device", "--set", "shared.persistent_flush=none", "--format", "json").stdout)
    assert again["timed"]["points"] == 1 and again["timed"]["failing_points"] == 1


def test_a_global_flush_needs_more_energy_than_the_devices_buffer(cli: Cli) -> None:
    def worst(flush: str) -> int:
        steps = cli.json("holdup", "shared", "shared-superblock", "--set", f"shared.persistent_flush={flush}")
        assert steps[-1]["lines_lost"] == 0
        return int(steps[0]["lines_lost"])

    assert worst("global") > worst("device") > 0
    assert cli.json("holdup", "shared") == cli.json("holdup", "shared", "shared-log"), "what runs unless it is said fits the machine"


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (["--model", "px86"], "--model: does nothing on shared"),
        (["--replay", "px86@1:2=3"], "--replay: does nothing on shared"),
        (["--check", "true"], "--check: does nothing on shared"),
        (["--file", "x"], "--file: does nothing on shared"),
        (["--every", "0"], "--every 0: give at least 1"),
        (["--points", "0"], "--points 0: give at least 1"),
        (["--set", "workload.hosts=6"], "at most shared.hosts = 4"),
    ],
)
def test_options_that_say_nothing_of_hosts_are_refused(cli: Cli, option: list[str], says: str) -> None:
    done = cli.run("crash", "shared", "shared-log", *option)
    assert done.returncode == 2 and says in done.stderr and len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_mistakes_that_show_only_when_the_power_fails_are_told_with_a_smallest_schedule(cli: Cli) -> None:
    done = cli.run("shared", "shared", "shared-superblock", "--set", "workload.bug=relies-on-persistent-flush")
    assert done.returncode == 1 and "1. power-failure" in done.stdout and "the power fails before access" in done.stdout
    done = cli.run("shared", "shared", "shared-superblock", "--set", "workload.bug=relies-on-persistent-flush", "--set", "shared.persistent_flush=global")
    assert done.returncode == 0, done.stdout


def test_explore_loses_links_and_power(cli: Cli) -> None:
    for bounds in (["--links", "1"], ["--buffer", "1"], ["--global-flush"]):
        found = cli.json("explore", "shared", "--lines", "1", "--operations", "2", *bounds)
        assert found["complete"] and found["violation"] is None
    for mutant in ("link-forgets", "snoop-skips-lost-links", "drain-forgets", "caches-forgotten", "count-stays"):
        assert cli.run("explore", "shared", "--mutant", mutant).returncode == 1


def test_a_page_tells_what_was_found_with_its_smallest_schedule_and_what_flushes_cost(cli: Cli) -> None:
    done = cli.run("shared", "shared", "shared-log", "--set", "workload.bug=record-not-fenced", "--schedules", "60", "--out", "o")
    assert done.returncode == 1 and "report: o/report.html" in done.stdout
    kept = json.loads((cli.folder / "o/shared.json").read_text())
    written = (cli.folder / "o/report.html").read_text()
    assert not re.search(r"(src|href)=.?https?:", written)
    page = html.unescape(written)
    for number, finding in enumerate(kept["findings"], 1):
        assert finding["message"] in page and finding["schedule"][0] in page
        picture = html.unescape((cli.folder / f"o/schedule-{number}.svg").read_text())
        steps = [step for step in finding["steps"] if f"{step['what']} {step['address']:#x}" in picture and f"log.rs:{step['line']}" in picture]
        assert steps == finding["steps"] and "where it shows" in picture and "the other side" in picture and (cli.folder / f"o/schedule-{number}.png").exists()
        assert all(f"host {step['host']}" in picture for step in steps)
    each = kept["fence_ns"] / kept["fences"]
    assert kept["hosts"] == 3 and f'data-value="{each!r}"' in written


def test_a_page_of_nothing_found_says_so(cli: Cli) -> None:
    cli("shared", "shared", "shared-ring", "--schedules", "20", "--out", "o", "--quiet")
    assert "Nothing found in 20 schedules" in (cli.folder / "o/report.html").read_text()
    (cli.folder / "file").touch()
    assert "--out file: is a file; give a folder" in cli.refuses("shared", "shared", "shared-ring", "--schedules", "2", "--out", "file")
