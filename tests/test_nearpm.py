"""NearPM, as a user calls it."""

import pytest

from conftest import Cli

FOUR = "nearpm-cpu,nearpm-sd,nearpm-md-swsync,nearpm-md"
SMALL = ("--set", "workload.operations=300")


def sets(*pairs: str) -> list[str]:
    return [word for pair in pairs for word in ("--set", pair)]


def test_the_same_program_runs_on_four_machines_and_devices_make_it_faster(cli: Cli) -> None:
    found = cli.json("compare", "btree", "--on", FOUR, "--set", "workload.mechanism=logging", *SMALL)
    speedups = {m["machine"]: m["speedup"] for m in found["machines"]}
    assert speedups["nearpm-cpu"] == 1 < speedups["nearpm-md-swsync"] < speedups["nearpm-md"]
    assert speedups["nearpm-sd"] > 1


@pytest.mark.parametrize("mechanism", ["logging", "redo", "undo-redo", "checkpoint", "shadow"])
def test_statistics_that_were_promised_are_there(cli: Cli, mechanism: str) -> None:
    stats = cli.json("run", "nearpm-md", "pmemkv", *SMALL, *sets(f"workload.mechanism={mechanism}"))["stats"]
    for name in ["neardata.parallel_share", "neardata.region_time_ns", "neardata.requests", "neardata.lines_copied"]:
        assert stats[name] > 0, name
    shown = {row["name"] for row in cli.json("show", "stats")}
    assert {name for name in stats if name.startswith("neardata")} <= shown


def test_devices_on_optane_wait_for_its_blocks(cli: Cli) -> None:
    small = ("pmemkv", *SMALL, "--set", "workload.mechanism=logging")
    own, optane = (cli.json("run", machine, *small)["stats"] for machine in ("nearpm-md", "nearpm-md@optane"))
    same = ("neardata.requests", "neardata.lines_copied", "cpu.operations")
    assert [own[name] for name in same] == [optane[name] for name in same]
    # Blocks of four lines: no more are written than lines, and media that take 108 ns for each take longer than 8 ns a line.
    assert 0 < optane["optane.block_writes"] <= optane["memory.writes"]
    assert optane["neardata.region_time_ns"] > own["neardata.region_time_ns"]
    assert "memory.pm.read_ns: does nothing on nearpm-md@optane" in cli.refuses("run", "nearpm-md@optane", *small, *sets("memory.pm.read_ns=90"))
    assert "fixed, dimm" in cli.refuses("run", "nearpm-md", *small, *sets("neardata.media=ddr4"))
    cli("crash", "nearpm-md@optane", "hashmap", "--every", 50, "--points", 30, "--images", 8, *sets("workload.operations=20"))


@pytest.mark.parametrize("mechanism", ["logging", "redo", "undo-redo", "checkpoint", "shadow"])
def test_power_failures_are_survived(cli: Cli, mechanism: str) -> None:
    args = ("crash", "nearpm-md", "hashmap", "--every", 50, "--points", 30, "--images", 8)
    cli(*args, *sets("workload.operations=20", f"workload.mechanism={mechanism}"))


@pytest.mark.parametrize("mechanism", ["logging", "undo-redo"])
def test_a_change_without_its_log_is_found(cli: Cli, mechanism: str) -> None:
    args = ("crash", "nearpm-cpu", "btree", "--every", 5, "--images", 4, "--points", 400)
    text = cli(*args, *sets("workload.operations=60", "workload.bug=change-not-added", f"workload.mechanism={mechanism}"), code=1)
    assert "recovery fails" in text


@pytest.mark.parametrize(
    "changes, says",
    [
        (["neardata.ordering=none", "workload.mechanism=shadow"], "PPO invariant 1 (read-write ordering) is broken: device"),
        (["neardata.ordering=none", "workload.mechanism=logging"], "came first, had read it"),
        (["neardata.sync=none", "workload.mechanism=checkpoint"], "PPO invariant 3 (persist before synchronisation)"),
        (["neardata.conflicts=sources", "workload.mechanism=checkpoint"], "PPO invariant 1"),
        (["neardata.gates_reads=false", "workload.mechanism=shadow"], "carried out a host read of line 0x"),
        (["workload.bug=log-not-flushed", "workload.mechanism=redo"], "PPO invariant 2 (persistence) is broken: request"),
        (["workload.bug=frame-kept", "workload.mechanism=shadow"], "which a cache still holds"),
        (["neardata.fault.stops_after=9"], "does not answer: request"),
        (["neardata.fault.stops_after=9", "neardata.sync=polling"], "does not answer"),
        (["neardata.fault.power_off_ns=30000"], "device 0 does not answer: it has no power since"),
    ],
)
def test_what_breaks_a_promise_ends_the_run_and_is_named(cli: Cli, changes: list[str], says: str) -> None:
    done = cli.run("run", "nearpm-md", "btree", "--set", "workload.operations=800", *sets(*changes))
    assert done.returncode == 1 and says in done.stderr, done.stderr


@pytest.mark.parametrize("machine", ["nearpm-md", "nearpm-cpu", "compose-asap-pm-nearpm"])
def test_cores_that_spin_do_not_wait_for_a_device_without_power_for_ever(cli: Cli, machine: str) -> None:
    done = cli.run("run", machine, "queue", *sets("workload.operations=60", "neardata.fault.power_off_ns=2"))
    assert done.returncode == 1 and "device 0 does not answer: it has no power since 2.000 ns" in done.stderr, done.stderr


def test_blocks_that_are_copied_again_are_those_of_the_last_copy(cli: Cli) -> None:
    for machine, operations, size in [("nearpm-cpu", 9, 1 << 20), ("nearpm-md", 140, 65472)]:
        cli("run", machine, "copy", *sets(f"workload.operations={operations}", f"workload.block_size={size}"))


def test_more_units_copy_no_slower_and_devices_work_side_by_side(cli: Cli) -> None:
    sizes = sets("workload.operations=400", "workload.threads=8")
    few, many = (cli.json("run", "nearpm-md", "copy", *sizes, *sets(f"neardata.units={units}")) for units in (4, 8))
    assert many["time_ns"] <= few["time_ns"] * 1.01
    assert many["stats"]["neardata.at_work.max"] == 2


def test_no_more_than_the_host_queue_has_entries_is_in_it(cli: Cli) -> None:
    changes = sets("neardata.host_queue=1", "workload.mechanism=shadow", "workload.operations=100", "workload.threads=4")
    stats = cli.json("run", "nearpm-md", "btree", *changes)["stats"]
    assert stats["neardata.host_held"] > 1 and stats["neardata.host_queue.max"] == 1


def test_a_copy_that_no_command_carries_is_refused(cli: Cli) -> None:
    done = cli.run("run", "nearpm-md", "copy", *sets("workload.block_size=131072", "workload.operations=2"))
    assert done.returncode == 1 and "a command carries up to 65535" in done.stderr


def test_descriptions_that_do_not_fit_are_refused(cli: Cli) -> None:
    refuses = lambda *pairs: cli.refuses("run", "nearpm-md", "btree", *sets(*pairs))  # noqa: E731
    assert "not what batteries save" in refuses("ordering.model=eadr")
    assert all("does not end a region" in refuses(f"ordering.model={model}") for model in ("ppa", "capri"))
    assert "give at least 158" in refuses("ordering.model=asap", "wires.core_controller_ns=20")
    assert "a power of two from 1 to 16" in refuses("neardata.devices=3")
    assert "workload.threads = 2: each takes an entry" in refuses("neardata.address_table=1", "workload.threads=2")
    for command, workload in [("run", "hashmap"), ("crash", "redis"), ("run", "copy")]:
        text = cli.refuses(command, "nearpm-md", workload, *sets("workload.threads=55"))
        assert "workload.threads = 55" in text and "54 (neardata.address_table)" in text, (command, text)
    for machine, bug, mechanism, acts in [
        ("nearpm-md", "log-not-flushed", "logging", "redo or undo-redo"),
        ("nearpm-cpu", "frame-kept", "shadow", "where near-data devices have the pool"),
        ("nearpm-md", "frame-kept", "checkpoint", "workload.mechanism = shadow"),
        ("nearpm-md", "change-not-added", "redo", "logging, undo-redo, checkpoint or shadow"),
    ]:
        for command in ("run", "crash"):
            text = cli.refuses(command, machine, "btree", *sets(f"workload.bug={bug}", f"workload.mechanism={mechanism}"))
            assert f"workload.bug = {bug}: does nothing here; it acts with" in text and acts in text, text
    assert "give own or auto" in cli.refuses("run", "intel", "hashmap", *sets("workload.bug=missing-log", "workload.mechanism=redo"))


def test_more_units_and_devices_a_cxl_link_and_asap_run_too(cli: Cli) -> None:
    for machine, *changes in [
        ("nearpm-md", "neardata.units=16"),
        ("nearpm-md", "neardata.devices=4"),
        ("nearpm-md@cxl",),
        ("nearpm-md@asap",),
        ("nearpm-md@artifact",),
    ]:
        stats = cli.json("run", machine, "tpcc", *sets("workload.operations=50", *changes))["stats"]
        assert stats["neardata.requests"] > 0


def test_the_explorer_finds_nothing_but_mutants(cli: Cli) -> None:
    found = cli.json("explore", "nearpm", "--units", 1)
    assert found["complete"] and found["violation"] is None and found["states"] > 1000
    done = cli.run("explore", "nearpm", "--mutant", "fifo-lost")
    assert done.returncode == 1 and "was committed" in done.stderr
    assert "accepted are 1, 2, 4" in cli.refuses("explore", "nearpm", "--controllers", 3)
    assert "accepted: no-ordering" in cli.refuses("explore", "nearpm", "--mutant", "none-such")


def test_what_the_artifact_runs_has_names_of_its_own(cli: Cli) -> None:
    shown = {p["key"]: p["value"] for p in cli.json("show", "redis@artifact")["parameters"]}
    assert shown["workload.value_size"] == "1000"
    assert "redis@artifact" in {w["name"] for w in cli.json("show", "workloads")}
    assert cli.json("run", "nearpm-md@artifact", "tatp@artifact", "--set", "workload.operations=50")["workload"] == "tatp@artifact"
