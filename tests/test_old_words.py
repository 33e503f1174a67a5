"""Words of values, and names of what is reported, that have a new name are refused with it, as keys are."""

from pathlib import Path

import pytest
from conftest import Cli

OLD = [
    ("nvdimm.kind", "none", "memory.kind = pm"),
    ("remote.kind", "none", "memory.kind = pm"),
    ("ordering.sfence_blocks", "hart", "ordering.sfence_blocks = core"),
]


@pytest.mark.parametrize(("key", "word", "new"), OLD)
def test_an_old_word_of_a_value_is_refused_with_its_new_name(cli: Cli, tmp_path: Path, key: str, word: str, new: str) -> None:
    says = f'{key}: "{word}" has a new name: give {new}'
    assert says in cli.refuses("run", "intel", "queue", "--set", f"{key}={word}")
    section, name = key.split(".")
    (tmp_path / "old.toml").write_text(f'extends = "intel"\n[{section}]\n{name} = "{word}"\n')
    assert f"old.toml:3: {says}" in cli.refuses("run", "old.toml", "queue")


def test_another_word_that_is_not_accepted_is_refused_with_those_that_are(cli: Cli) -> None:
    said = cli.refuses("run", "intel", "queue", "--set", "ordering.sfence_blocks=heart")
    assert "give one of" in said and "new name" not in said


def test_what_is_shown_by_an_old_name_is_answered_with_the_new_one(cli: Cli) -> None:
    assert "hygiene has a new name: persistence_lint" in cli.refuses("show", "hygiene")
    assert "cpu.harts has a new name: cpu.cores" in cli.refuses("show", "cpu.harts")


def test_an_empty_list_of_memories_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "none.toml").write_text('extends = "bbb"\nmemory = []\n')
    assert "none.toml:2: memory: the list is empty; give [[memory]] tables, or leave it away" in cli.refuses("run", "none.toml", "queue")
