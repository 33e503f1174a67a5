"""Calls that change files in other ways than by their bytes and names, and limits that hold for the recording too, by both routes."""

import subprocess

import pytest

from conftest import COREPLANE, Cli
from test_binaries import binary, compile_c, file_of, tool  # noqa: F401
from test_recorder import PROGRAMS, Recording, same


@pytest.fixture(params=["hooks", "valgrind"])
def beside(request: pytest.FixtureRequest, binary: Cli) -> Cli:  # noqa: F811
    if request.param == "hooks":
        subprocess.run([COREPLANE, "cc", "-O1", PROGRAMS / "beside.c", "-o", "beside"], cwd=binary.folder, check=True)
    else:
        compile_c(binary, "beside")
    return binary


def info(cli: Cli, *command: object) -> dict:
    cli("record", "--quiet", "--out", "t.cpt", "--", *command)
    return cli.json("trace", "info", "t.cpt")


def test_a_changed_mode_is_noted_once(beside: Cli) -> None:
    said = beside.run("record", "--out", "t.cpt", "--", "./beside", "mode", "f").stderr
    assert said.count("modes, owners or extended attributes") == 1, said
    refused = beside.refuses("crash", "intel", "trace:t.cpt", "--check", "test ! -e {image} || exit 1")
    assert "No image has the modes" in refused
    said = beside.run("record", "--out", "t.cpt", "--", "./beside", "usual", "g").stderr
    assert "modes, owners" not in said, "it has what files of images have"


def test_pages_that_madvise_takes_away_are_zeros(beside: Cli) -> None:
    found = info(beside, "./beside", "take", "f")
    assert found["unseen"] == found["differs"] == []
    assert (beside.folder / "f").read_bytes()[4096:8192] == bytes(4096)
    same(beside, Recording(beside, "t.cpt"), "f")


def test_a_sync_over_a_hole_syncs_the_rest(beside: Cli) -> None:
    found = info(beside, "./beside", "sync", "f")
    assert found["calls"]["msync"] == 2 and file_of(found, beside.folder / "f")["syncs"] == 2


def test_a_limit_that_ends_the_recording_is_named(beside: Cli) -> None:
    done = beside.run("record", "--out", "t.cpt", "--", "./beside", "limit", "f")
    assert done.returncode == 2 and "RLIMIT_FSIZE" in done.stderr and "a limit on the size of its files" in done.stderr, done.stderr
