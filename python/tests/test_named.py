"""What a name means, as the command line says it, and machines that tell all that makes them."""

import re

import polars as pl
import pytest

import coreplane as cp

TWO = [{"kind": "pm", "share": 3}, {"kind": "pm", "pm": {"read_ns": 900}}]


@pytest.mark.parametrize(
    ("name", "keys"),
    [("cpu.cores", {"cpu.cores"}), ("persist_buffer", {"ordering.persist_buffer"}), ("persist-buffer", {"ordering.persist_buffer"})],
)
def test_a_key_is_shown_whole_or_by_its_last_word(name: str, keys: set[str]) -> None:
    found = cp.show(name)
    assert set(found["key"]) == keys
    assert found.row(0, named=True) == cp.parameters().filter(pl.col("key") == found["key"][0]).row(0, named=True)


def test_a_system_is_shown_with_all_of_its_keys() -> None:
    found = cp.show("os")["key"]
    assert len(found) > 1
    assert set(found) == {key for key in cp.parameters()["key"] if key.startswith("os.")}


def test_what_the_head_of_a_column_means_is_shown() -> None:
    assert cp.show("major faults")["unit"].item()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("cpu.harts", "cpu.harts has a new name: cpu.cores"),
        ("hygiene", "hygiene has a new name: persistence_lint"),
        ("cpu.coers", "did you mean .*cpu.cores"),
    ],
)
def test_what_is_called_otherwise_is_refused_with_its_name(name: str, says: str) -> None:
    with pytest.raises(cp.ConfigError, match=says):
        cp.show(name)


def test_an_unknown_bound_is_called_so_and_the_nearest_is_named() -> None:
    with pytest.raises(cp.ConfigError) as error:
        cp.explore("asap", mutan="x")
    said = str(error.value)
    assert said.startswith("mutan: unknown bound of asap; did you mean mutant? accepted: ")
    assert {"cores", "epochs"} <= set(re.split(r"\W+", said))
    assert "--" not in said
    with pytest.raises(cp.ConfigError, match=r"^no_such_thing: unknown bound of bbb; accepted: \w"):
        cp.explore("bbb", no_such_thing=1)


def test_a_bound_without_a_value_and_a_command_that_is_not_there_are_told() -> None:
    with pytest.raises(cp.ConfigError, match="^cores: no value was given; accepted are 1 to 4$"):
        cp.explore("asap", cores=True)
    with pytest.raises(cp.ConfigError, match="^nosuchproc: no command is called that; a process is given by its number, or with name=$"):
        cp.track("nosuchproc")


@pytest.mark.parametrize("name", ["bbb", "compose-bbb-two-media"])
def test_an_empty_list_of_memories_is_refused(name: str) -> None:
    with pytest.raises(cp.ConfigError, match="memory: the list is empty"):
        cp.Machine(name, memory=[])


def test_a_machine_tells_its_memories() -> None:
    two = cp.Machine("bbb", {"cpu.cores": 2}, memory=TWO)
    assert eval(repr(two), {"Machine": cp.Machine}) == two
    assert eval(repr(cp.Machine("bbb", memory=TWO)), {"Machine": cp.Machine}) == cp.Machine("bbb", memory=TWO)
    for part in ("cpu.cores = 2", "memory.0.share = 3", "memory.1.pm.read_ns = 900"):
        assert part in two.changes
        assert part in two._repr_html_()
    assert repr(cp.Machine("bbb")) == "Machine('bbb')"


def test_machines_that_differ_in_their_memories_alone_are_told_apart() -> None:
    both = cp.compare(cp.Workload("queue", operations=20), on=["bbb", cp.Machine("bbb", memory=TWO)])
    assert list(both) == ["bbb", "bbb memory.0.kind = pm, memory.0.share = 3, memory.1.kind = pm, memory.1.pm.read_ns = 900"]
