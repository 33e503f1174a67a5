"""Litmus tests and exploration, as a user calls them."""

import json
import subprocess
from pathlib import Path

import pytest

BAD = "X86_64 bad\n{ x=0; }\n P0 ;\n mov [x],$1 ;\nexists (x=1 /\\ )\n"
GOOD = "X86_64 good\n{ x=0; y=0; }\n P0 ;\n mov [x],$1 ;\n clwb [x] ;\n sfence ;\n mov [y],$1 ;\n~exists (x=0 /\\ y=1)\n"


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["coreplane", *args], capture_output=True, text=True, check=False)


def test_every_specification_agrees() -> None:
    done = run("litmus", "--format", "json")
    rows = json.loads(done.stdout)
    assert done.returncode == 0 and len(rows) == 33 * 2 + 9
    assert all(row["ok"] and row["expected"] for row in rows)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "good.litmus"
    file.write_text(GOOD)
    (row,) = json.loads(run("litmus", str(file), "--model", "px86", "--format", "json").stdout)
    assert row["image_count"] == 3 and row["holds"] and not row["reachable"]
    file.write_text(GOOD.replace(" clwb [x] ;\n", ""))
    assert run("litmus", str(file)).returncode == 1


@pytest.mark.parametrize(
    ("text", "arguments", "wanted"),
    [
        (BAD, [], ":5:16: "),
        ("", [], ":1:1: empty"),
        (GOOD, ["--model", "px87"], "accepted: px86, px86-line, armv8, strict"),
        (GOOD, ["--model", "armv8"], "other instruction set"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, text: str, arguments: list[str], wanted: str) -> None:
    file = tmp_path / "t.litmus"
    file.write_text(text)
    done = run("litmus", str(file), *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert wanted in done.stderr


def test_exploration_finds_nothing_wrong_and_every_mutant() -> None:
    done = run("explore", "asap", "--epochs", "2", "--format", "json")
    outcome = json.loads(done.stdout)
    assert done.returncode == 0 and outcome["complete"] and outcome["violation"] is None
    assert outcome["states"] > 10_000 and outcome["depth"] > 20
    for mutant in ("no-nack-fallback", "undo-on-complete", "skip-delay", "ignore-dependence"):
        done = run("explore", "asap", "--mutant", mutant, "--format", "json")
        assert done.returncode == 1, mutant
        assert json.loads(done.stdout)["violation"]["trace"], mutant


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["explore", "mesi"], "accepted: asap"),
        (["explore", "asap", "--mutant", "none"], "accepted: no-nack-fallback"),
        (["explore", "asap", "--cores", "0"], "--cores 0: accepted are 1 to 4"),
        (["explore", "asap", "--states", "0"], "at least 1"),
    ],
)
def test_bad_bounds_are_told(arguments: list[str], wanted: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert wanted in done.stderr


def test_a_reader_that_leaves_is_no_mistake() -> None:
    done = subprocess.run("coreplane show stats | head -1", shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""
