"""FOUND.md names tests that exist, and each of its rows has one; what is not there is said on a page of the manual."""

import re
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT

PAGE = ROOT / "tests/FOUND.md"
HELD, _, NOT_THERE = PAGE.read_text().partition("## Not there")
NAME = re.compile(r"`((?:tests|python|crates)/[\w/.-]+)::(\w+)(?:\[([^\]`]*)\])?`")


def rows(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [line for line in lines if not line.startswith(("| met |", "| wanted |"))]


@pytest.mark.parametrize(("file", "name", "case"), sorted({n.groups() for n in NAME.finditer(HELD)}, key=str))
def test_a_test_that_is_named_exists(file: str, name: str, case: str | None) -> None:
    text = (ROOT / file).read_text()
    if file.endswith(".py"):
        assert re.search(rf"^def {name}\(", text, re.M)
    else:
        assert re.search(rf"#\[test\]\s(?:\s*#\[[^\n]*\n)*\s*fn {name}\(", text)
    if case and name == "test_verdicts_are_the_truth":
        assert case in tomllib.loads((ROOT / "tests/truth/TRUTH.toml").read_text())
    elif case:
        assert f'"{case}"' in text


def test_each_row_has_a_test() -> None:
    held = rows(HELD)
    assert len(held) > 70
    for row in held:
        assert NAME.search(row.split(" | ")[-1]), row


def test_what_is_not_there_is_said_in_the_manual() -> None:
    missing = rows(NOT_THERE)
    assert missing
    for row in missing:
        (page,) = re.findall(r"\]\(([\w/.-]+\.md)(?:#[\w-]+)?\)", row)
        assert (Path(PAGE.parent) / page).resolve().exists(), row
