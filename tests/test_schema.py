"""The JSON Schema of machine files, as editors use it."""

import json
import tomllib
from typing import Any

import jsonschema
import pytest
from conftest import ROOT, Cli


def faults(schema: dict[str, Any], text: str) -> list[str]:
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(tomllib.loads(text))]


@pytest.fixture
def schema(cli: Cli) -> dict[str, Any]:
    return json.loads(cli("show", "schema"))


def test_it_accepts_every_machine_that_comes_with_the_project(schema: dict[str, Any]) -> None:
    files = sorted((ROOT / "machines").glob("*.toml"))
    assert len(files) > 50
    assert {file.name: found for file in files if (found := faults(schema, file.read_text()))} == {}


def test_it_refuses_what_a_list_of_memories_does_not_have(schema: dict[str, Any]) -> None:
    assert not faults(schema, '[[memory]]\nkind = "pm"\nsize = "64 MiB"\npm.read_ns = 60\n[[memory]]\nkind = "pm"\nshare = 2\n')
    for entry in ('kind = "tape"', "share = 1", 'kind = "pm"\nshare = 0', 'kind = "pm"\npm.reed_ns = 1', 'kind = "pm"\ndram.read_ns = 1', 'kind = "pm"\nsources = {}'):
        assert faults(schema, f"[[memory]]\n{entry}\n"), entry
    assert faults(schema, "memory = []\n") and faults(schema, "memory = 1\n")


def test_it_refuses_a_source_that_is_none_of_the_six(schema: dict[str, Any]) -> None:
    for source in ("", "hearsay", "paper", "open", "open 5..50", "guess: x"):
        assert faults(schema, f'[sources]\n"memory.pm.read_ns" = "{source}"\n'), source
    for source in ("artifact", "paper: Table II", "measured: here", "fitted to a.b", "fitted to a.b: x", "open 5..50: x", "open a|b: x"):
        assert not faults(schema, f'[sources]\n"memory.pm.read_ns" = "{source}"\n'), source
