"""A check that `coreplane cc` made says which lines it reads: only these are varied, unless what it says is not all."""

import json
import os
import subprocess

import pytest

from conftest import ROOT, Cli

TOLD = "tells which lines it reads"
DISTRUSTED = "reads more lines than it tells"


@pytest.fixture
def twenty(cli: Cli) -> Cli:
    # A call of strlen or strspn is to stay one.
    cli("cc", "-O1", "-fno-builtin", "-I", ROOT / "capture", ROOT / "tests/programs/twenty.c", "-o", "twenty")
    cli("record", "--quiet", "--out", "t.cpt", "--", "./twenty", "store", "t.pm")
    return cli


def crash(cli: Cli, check: str, *options: str) -> tuple[dict, str]:
    done = cli.run("crash", "intel", "trace:t.cpt", "--check", check, "--format", "json", *options)
    assert done.returncode in (0, 1), done.stderr
    result = json.loads(done.stdout)
    assert (done.returncode == 1) == (result["model_images"]["failing_points"] + result["timed"]["failing_points"] > 0)
    return result["model_images"], " ".join(result["notes"])


@pytest.mark.parametrize("how", ["load", "pread", "strlen", "memcmp", "flush"])
def test_lines_that_a_check_does_not_read_are_not_varied(twenty: Cli, how: str) -> None:
    found, notes = crash(twenty, f"./twenty {how} {{image}}")
    assert TOLD in notes
    assert found["images_possible"] >= 2**20 and found["images"] <= 16, "the number tried beside the number possible"
    assert found["bounded_points"] == 0, "all that recovery can tell apart were tried"
    found, _ = crash(twenty, f"./twenty {how} {{image}} rule")
    assert len(found["failures"]) == 1
    failure = found["failures"][0]
    assert len(failure["missing"]) == len(failure["present"]) == 1
    assert failure["missing"][0]["address"] + 64 * 14 == failure["present"][0]["address"]


@pytest.mark.parametrize("command", ["true; ./twenty load {image}", "./twenty child {image}"])
def test_what_another_process_may_have_read_counts_as_read(twenty: Cli, command: str) -> None:
    found, notes = crash(twenty, command)
    assert "lines it reads" not in notes and found["bounded_points"] > 0
    found, _ = crash(twenty, f"{command} rule")
    assert len(found["failures"]) == 1


def test_a_check_that_reads_more_than_it_tells_is_not_believed(twenty: Cli) -> None:
    found, notes = crash(twenty, "./twenty strspn {image} rule", "--images", "400")
    assert DISTRUSTED in notes
    assert len(found["failures"]) == 1 and found["images"] > 8


def test_a_report_is_of_a_program_that_ended_by_itself(twenty: Cli) -> None:
    folder = twenty.folder
    environment = os.environ | {"COREPLANE_READS": str(folder / "report"), "COREPLANE_READS_OF": f"{folder}/"}

    def report(how: str, file: str = "t.pm") -> list[str] | None:
        (folder / "report").unlink(missing_ok=True)
        subprocess.run([folder / "twenty", how, file], cwd=folder, env=environment, check=False)
        path = folder / "report"
        return path.read_text().splitlines() if path.exists() else None

    lines = report("load")
    assert lines and lines[1:-1] == [f"file {folder}/t.pm", "lines 3 1", "lines 17 1"]
    assert lines[-1].startswith("end ")
    assert report("child") is None and report("killed") is None
    (folder / "two\nlines").write_bytes((folder / "t.pm").read_bytes())
    assert report("load", "two\nlines") is None, "which has a line for each file"


def test_a_check_that_tells_nothing_is_not_watched(twenty: Cli) -> None:
    script = twenty.folder / "look"
    script.write_text('#!/bin/sh\necho "${COREPLANE_READS_WATCHED:-0}" >> runs\n')
    script.chmod(0o755)
    crash(twenty, "./look {image}", "--images", "200")
    runs = (twenty.folder / "runs").read_text().split()
    assert len(runs) > 100 and "1" not in runs, "the first, which nobody watches, finds out that there is nothing to see"
