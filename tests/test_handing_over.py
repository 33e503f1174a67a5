"""Threads that hand over to one another by plain moves: what one did before comes before what the other does after, in a replay too."""

import json

import pytest

from conftest import ROOT, Cli
from test_binaries import binary, compile_c, tool  # noqa: F401
from test_recorder import PROGRAMS


def failures(cli: Cli, how: str, machine: str, memory: str) -> tuple[int, int]:
    """Instants of the machine and points of the model at which recovery fails. Which releases there are that are plain moves is not known."""
    (cli.folder / "f").unlink(missing_ok=True)
    cli("record", "--quiet", "--route", "valgrind", "--memory", memory, "--out", "t.cpt", "--", "./handing_over", "run", "f", how)
    check = f"{cli.folder}/handing_over check {{image}} {{acknowledged}}"
    done = cli.run("crash", machine, "trace:t.cpt", "--quiet", "--points", 60, "--format", "json", "--check", check)
    said = json.loads(done.stdout)
    assert done.returncode == (not said["clean"]), done.stderr
    assert any("plain moves" in note for note in said["notes"]) == (machine == "asap-rp")
    return said["timed"]["failing_points"], said["model_images"]["failing_points"]


@pytest.fixture
def handing(binary: Cli) -> Cli:  # noqa: F811
    compile_c(binary, "handing_over", "-g", "-I", ROOT / "capture", source=PROGRAMS / "handing_over.c")
    return binary


@pytest.mark.parametrize("memory", ["all", "pm"])
def test_a_right_program_is_right_whoever_stores_and_whoever_flushes(handing: Cli, memory: str) -> None:
    for how in ("flushed", "synced", "consumed"):
        assert failures(handing, how, "intel", memory) == (0, 0), how


def test_what_is_flushed_before_it_is_stored_is_lost(handing: Cli) -> None:
    for how in ("too-early", "synced-early"):
        assert min(failures(handing, how, "intel", "all")) > 0, how
        assert failures(handing, how, "asap-rp", "all")[1] > 0, how


def test_turns_are_told_apart_from_what_the_program_does(handing: Cli) -> None:
    handing("record", "--quiet", "--route", "valgrind", "--out", "t.cpt", "--", "./handing_over", "run", "f", "flushed")
    kinds = handing.json("trace", "info", "t.cpt")["kinds"]
    assert kinds["turn"] > 20
    assert kinds.get("load-acquire", 0) + kinds.get("store-release", 0) == 1, "the first record of all"
    handing("record", "--quiet", "--route", "valgrind", "--out", "one.cpt", "--", "./handing_over", "check", "f", 0)
    assert "turn" not in handing.json("trace", "info", "one.cpt")["kinds"]
