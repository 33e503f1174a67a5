"""Folders that a program makes, files that it, or another, takes away, and programs that are ended from outside."""

import os
import subprocess

import pytest

from conftest import COREPLANE, Cli
from test_binaries import binary, compile_c, tool  # noqa: F401
from test_recorder import PROGRAMS

GONE = "it is gone, and nothing recorded removes or renames it"


def build(cli: Cli, route: str) -> Cli:
    (cli.folder / "work").mkdir()
    if route == "hooks":
        subprocess.run([COREPLANE, "cc", "-O1", PROGRAMS / "taken_away.c", "-o", "taken_away"], cwd=cli.folder, check=True)
    else:
        compile_c(cli, "taken_away")
    return cli


@pytest.fixture(params=["hooks", "valgrind"])
def taken(request: pytest.FixtureRequest, binary: Cli) -> Cli:  # noqa: F811
    return build(binary, request.param)


@pytest.fixture
def hooked(cli: Cli) -> Cli:
    return build(cli, "hooks")


def info(cli: Cli, what: str) -> dict:
    cli("record", "--quiet", "--out", "t.cpt", "--", "./taken_away", what)
    return cli.json("trace", "info", "t.cpt")


@pytest.mark.parametrize("what", ["folders", "right"])
def test_folders_that_are_made_are_told(taken: Cli, what: str) -> None:
    (note,) = [note for note in info(taken, what)["notes"] if "it makes folders" in note]
    assert f"{taken.folder}/work/empty, {taken.folder}/work/new)" in note and "taken as durable at once" in note
    refused = taken.refuses("crash", "intel", "trace:t.cpt", "--check", "test -d {folder}/empty")
    assert "empty, which the program made, are in no image" in refused and "only read" not in refused
    found = taken.json("crash", "intel", "trace:t.cpt", "--beside", "work", "--check", "cat {image} > /dev/null", "--file", "f")
    lint = [finding["kind"] for finding in found["persistence_lint"]]
    assert lint == (["named-by-another-sync"] if what == "folders" else []), found["persistence_lint"]
    assert note in found["notes"]


def test_what_is_seen_to_go_is_no_difference(taken: Cli) -> None:
    found = info(taken, "away")
    assert found["differs"] == [] and found["unseen"] == []
    why = {note.rsplit(": ", 1)[1] for note in found["notes"] if "not compared" in note}
    assert why <= {"the program removed it", "an earlier file of this name, which the program removed or replaced", "it is gone"}, why
    assert not any("madeXXXXXX" in note for note in found["notes"]), "of a folder that is gone again nothing is told"


@pytest.mark.parametrize("what", ["unseen", "moved"])
def test_a_file_that_another_takes_away_is_not_explained(taken: Cli, what: str) -> None:
    said = taken.run("record", "--out", "t.cpt", "--", "./taken_away", what).stderr
    assert f"warning: {taken.folder}/work/wal: {GONE}" in said, said
    assert f"{taken.folder}/work/wal: {GONE}" in taken("trace", "info", "t.cpt")
    crash = ("crash", "intel", "trace:t.cpt", "--check", "cat {image} > /dev/null", "--file", "stays")
    assert GONE in taken.refuses(*crash)
    assert taken.run(*crash, "--accept-unseen").returncode != 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its root")
def test_a_program_that_changes_its_root_is_told_as_that(taken: Cli) -> None:
    texts = [unseen["text"] for unseen in info(taken, "chroot")["unseen"]]
    assert any("no /proc tells paths, as after chroot" in text for text in texts) and not any("4095" in text for text in texts), texts


@pytest.mark.parametrize(("what", "number"), [("term", 15), ("alarm", 14)])
def test_a_signal_that_ends_the_program_leaves_its_records(hooked: Cli, what: str, number: int) -> None:
    assert f"ended by signal {number};" in hooked.refuses("record", "--out", "t.cpt", "--", "./taken_away", what)
    hooked("trace", "convert", "--salvage", "t.recording", "t.cpt")
    assert hooked.json("trace", "info", "t.cpt")["calls"]["fsync"] == 1


def test_a_signal_that_is_ignored_ends_nothing(hooked: Cli) -> None:
    assert info(hooked, "ignored")["calls"]["fsync"] == 1


def test_a_killed_program_is_not_said_to_have_written_nothing(hooked: Cli) -> None:
    assert "buffers held is lost" in hooked.refuses("record", "--out", "t.cpt", "--", "./taken_away", "kill")
    hooked("trace", "convert", "--salvage", "t.recording", "t.cpt")
    refused = hooked.refuses("crash", "intel", "trace:t.cpt", "--check", "cat {image}")
    assert "what the program stored is not known" in refused and "wrote to none" not in refused
