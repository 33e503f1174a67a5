"""Calls that change files in other ways than by their bytes and names, by both routes."""

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


def test_pages_that_madvise_takes_away_are_zeros(beside: Cli) -> None:
    found = info(beside, "./beside", "take", "f")
    assert found["unseen"] == found["differs"] == []
    assert (beside.folder / "f").read_bytes()[4096:8192] == bytes(4096)
    same(beside, Recording(beside, "t.cpt"), "f")


def test_a_sync_over_a_hole_syncs_the_rest(beside: Cli) -> None:
    found = info(beside, "./beside", "sync", "f")
    assert found["calls"]["msync"] == 2 and file_of(found, beside.folder / "f")["syncs"] == 2
