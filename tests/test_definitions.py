"""One key, several definitions: `show` tells each and whose it is, and a refusal says who has a key."""

import coreplane as cp
import pytest
from conftest import Cli


def of_workload(rows: list[dict], workload: str) -> dict:
    (row,) = [row for row in rows if workload in row["workloads"]]
    return row


def test_a_key_is_told_as_each_workload_has_it(cli: Cli) -> None:
    rows = cli.json("show", "workload.block_size")["parameters"]
    own = {name: {p["key"]: p for p in cli.json("show", name)["parameters"]}["workload.block_size"] for name in ("fio", "bandwidth")}
    for name, shown in own.items():
        row = of_workload(rows, name)
        assert all(row[field] == shown[field] for field in ("default", "accepts", "source", "meaning", "unit")), (row, shown)
    assert own["fio"]["default"] != own["bandwidth"]["default"]
    text = " ".join(cli("show", "workload.pattern").split())
    assert "zipfian" in text and "stride" in text and "of lattester" in text and "of fio" in text
    operations = cli.json("show", "workload.operations")["parameters"]
    assert len(operations) > 3 and any(len(row["workloads"]) > 2 for row in operations)
    every = [row for row in cli.json("show", "parameters")["parameters"] if row["key"] == "workload.block_size"]
    assert every == rows and "of fio" in " ".join(cli("show", "parameters").split())


def test_the_parameters_of_recordings_are_found(cli: Cli) -> None:
    (row,) = cli.json("show", "workload.syscall_ns")["parameters"]
    assert row["workloads"] == ["trace:FILE"] and row["machines"] == []
    keys = [row["key"] for row in cli.json("show", "trace")["parameters"]]
    assert {"workload.pm", "workload.schedule", "workload.syscall_ns"} <= set(keys) == {row["key"] for row in cli.json("show", "trace:FILE")["parameters"]}
    assert {"workload.pm"} <= {row["key"] for row in cli.json("show", "parameters")["parameters"]}
    assert "workload.pm " in cli("show", "pm").replace("\n", " ") and "trace:FILE" in cli("show", "workload.pm")
    assert "visits:FILE" in of_workload(cli.json("show", "workload.operations")["parameters"], "redis-mem")["workloads"]
    assert "gone.cpt" in cli.refuses("show", "trace:gone.cpt")
    assert "did you mean workload.syscall_ns" in cli.refuses("show", "workload.syscal_ns")


def test_python_is_told_the_same() -> None:
    shown = cp.show("workload.block_size")
    assert len(shown) > 1 and any("fio" in names for names in shown["workloads"].to_list())
    assert "workload.pm" in cp.show("trace")["key"].to_list()
    every = cp.parameters()
    assert {"workload.pm", "workload.syscall_ns"} <= set(every["key"].to_list()) and every.equals(cp.show("parameters"))


def test_a_key_that_a_workload_has_not_is_told_with_those_that_it_has(cli: Cli) -> None:
    said = cli.refuses("run", "intel", "cceh", "--set", "workload.value_size=64")
    assert 'workload cceh: unknown key "workload.value_size"; it has workload.threads, ' in said
    assert said.endswith(" have that key") and "redis" in said
    said = cli.refuses("run", "intel", "cceh", "--set", "workload.operatoins=64")
    assert said.endswith("did you mean workload.operations?")
    with pytest.raises(cp.ConfigError, match="it has workload.threads, .* have that key"):
        cp.Workload("cceh", value_size=64)
