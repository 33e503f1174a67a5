"""Machines of a comparison have one name each, whatever says it: tables, JSON, results, and Python."""

from pathlib import Path

import coreplane as cp
import polars as pl
import pytest
from conftest import Cli

QUICK = ("--set", "workload.operations=50")
QUEUE = cp.Workload("queue", operations=50)


@pytest.fixture
def files(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Two files of one name, and one of a machine's that comes along."""
    for folder, name, read_ns in [("a", "mine", 300), ("b", "mine", 900), ("a", "intel", 400)]:
        (cli.folder / folder).mkdir(exist_ok=True)
        (cli.folder / folder / f"{name}.toml").write_text(f'extends = "bbb"\n[memory.pm]\nread_ns = {read_ns}\n')
    monkeypatch.chdir(cli.folder)
    return cli


def named(found: dict[str, object]) -> tuple[object, list[str]]:
    return found["baseline"], [row["machine"] for row in found["machines"]]  # type: ignore[attr-defined]


def test_a_file_is_called_by_its_stem_throughout(files: Cli) -> None:
    on = ("compare", "queue", "--on", "a/mine.toml,eadr", *QUICK)
    for baseline in ((), ("--baseline", "a/mine.toml"), ("--baseline", "mine")):
        assert named(files.json(*on, *baseline)) == ("mine", ["mine", "eadr"])
    assert cp.compare(QUEUE, on=["eadr", "a/mine.toml"], baseline="a/mine.toml").baseline == "mine"
    assert cp.compare(QUEUE, on=["eadr", Path("a/mine.toml")], baseline=Path("a/mine.toml")).baseline == "mine"
    assert cp.compare(QUEUE, on=["eadr", "a/mine.toml"], baseline="mine").baseline == "mine"
    with pytest.raises(cp.ConfigError, match=r"baseline b/mine.toml: is not among eadr, mine"):
        cp.compare(QUEUE, on=["eadr", "a/mine.toml"], baseline="b/mine.toml")


def test_files_of_one_name_are_called_by_their_paths(files: Cli) -> None:
    both = ["a/mine.toml", "b/mine.toml", "a/intel.toml", "intel"]
    found = files.json("compare", "queue", "--on", ",".join(both), "--baseline", "b/mine.toml", *QUICK, "--out", "r")
    assert named(found) == ("b/mine.toml", both)
    assert set(pl.read_parquet(files.folder / "r/results.parquet")["machine"]) == set(both)
    told = cp.compare(QUEUE, on=[*both, cp.Machine("b/mine.toml", {"memory.pm.read_ns": 100})])
    assert list(told) == ["a/mine.toml", "b/mine.toml", "a/intel.toml", "intel", "b/mine.toml memory.pm.read_ns = 100"]
    assert told.spent["machine"].n_unique() == 5


def test_a_machine_beside_its_family_is_compared_once() -> None:
    found = cp.compare(QUEUE, on=["asap-rp", "family", cp.Machine("asap-rp", ordering={"persist_buffer": 4}), cp.Machine("eadr")])
    changed = "asap-rp ordering.persist_buffer = 4"
    assert len(found) == 17 and list(found)[0] == "asap-rp" and list(found)[-1] == changed
